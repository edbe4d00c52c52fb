#include "cli/run_moves.h"

#include <algorithm>

#include "base/strings.h"

namespace lathe::cli {

bool is_terminal_status(std::string_view status) {
  return status == "Completed" || status == "Failed" || status == "Canceled";
}

RunMove move_from(const json::value& event) {
  return {.id = static_cast<std::int64_t>(base::parse_u64(text_at(event, "/id")).value_or(0)),
          .from = text_at(event, "/from"),
          .to = text_at(event, "/to"),
          .reason = text_at(event, "/reason")};
}

base::Result<std::vector<RunMove>> past_moves(ApiClient& api, std::string_view path) {
  std::vector<RunMove> moves;
  std::string cursor;
  do {
    const std::string query = cursor.empty() ? "" : "?cursor=" + net::encode_segment(cursor);
    LATHE_TRY(auto text, api.get(fmt::format("{}/events{}", path, query)));
    LATHE_TRY(auto value, parse_json(text, "the list of events"));
    if (const auto* object = value.if_object(); object && object->if_contains("items"))
      for (const auto& item : object->at("items").as_array()) moves.push_back(move_from(item));
    cursor = text_at(value, "/next");
  } while (!cursor.empty());
  std::ranges::sort(moves, {}, &RunMove::id);
  return moves;
}

void MoveFilter::offer(const RunMove& move) {
  if (move.id <= last_ || !final_.empty()) return;
  last_ = move.id;
  if (move.to.empty() || move.to == move.from) return;
  on_move_(move);
  if (is_terminal_status(move.to)) final_ = move.to;
}

}  // namespace lathe::cli
