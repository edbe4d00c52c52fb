// The moves of a run from state to state, as the API tells them: the list of those that were, and a filter for those
// that come twice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/api_client.h"
#include "cli/json.h"

namespace lathe::cli {

struct RunMove {
  std::int64_t id = 0;
  std::string from, to, reason;
};
bool is_terminal_status(std::string_view status);
RunMove move_from(const json::value& event);

// All events of the run at `path` so far, oldest first.
base::Result<std::vector<RunMove>> past_moves(ApiClient& api, std::string_view path);

// Passes on each move of one run once, in order, and remembers how it ended.
class MoveFilter {
 public:
  explicit MoveFilter(std::function<void(const RunMove&)> on_move) : on_move_(std::move(on_move)) {}
  void offer(const RunMove& move);
  std::int64_t last() const { return last_; }
  // Empty while the run is not over.
  const std::string& final_status() const { return final_; }

 private:
  std::function<void(const RunMove&)> on_move_;
  std::int64_t last_ = 0;
  std::string final_;
};

}  // namespace lathe::cli
