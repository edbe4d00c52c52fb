#include "cli/call.h"

#include "base/check.h"
#include "base/strings.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::int64_t kPage = 500;  // the API's largest

std::string joined(const json::value& value) {
  const auto* array = value.if_array();
  if (!array) return text_at(value, "");
  std::string out;
  for (const auto& item : *array) out += fmt::format("{}{}", out.empty() ? "" : "; ", text_at(item, ""));
  return out;
}

std::string cell(const json::value& item, const Column& column) {
  std::string text = text_at(item, column.pointer);
  if (text.empty()) return text;
  switch (column.shown) {
    case Shown::bytes:
      return base::human_bytes(base::parse_u64(text).value_or(0));
    case Shown::time:
      return text.size() > 19 ? fmt::format("{} {}", text.substr(0, 10), text.substr(11, 8)) : text;
    case Shown::list: {
      boost::system::error_code error;
      const auto* found = item.find_pointer({column.pointer.data(), column.pointer.size()}, error);
      return found ? joined(*found) : "";
    }
    case Shown::text:
      return text;
  }
  return text;
}

}  // namespace

std::unique_ptr<ApiClient> Call::new_client(base::Duration silence) const {
  return std::make_unique<ApiClient>([settings = settings, silence] {
    auto config = locate_server(settings);
    if (config) config->io_timeout = silence;
    return config;
  });
}

ApiClient& Call::api() {
  if (!api_) api_ = new_client();
  return *api_;
}

std::string Call::workspace_path(std::initializer_list<std::string_view> parts) const {
  std::string out = api_path({"workspaces", settings.workspace});
  for (auto part : parts) out += "/" + net::encode_segment(part);
  return out;
}

const std::string& Call::argument(std::size_t n) const {
  LATHE_CHECK(n < arguments.positionals.size(), "argument {} of '{}' is not required", n, arguments.command->path);
  return arguments.positionals[n];
}

std::string Call::argument_or(std::size_t n, std::string_view fallback) const {
  return n < arguments.positionals.size() ? arguments.positionals[n] : std::string(fallback);
}

base::Result<int> Call::print_list(std::string_view target, std::span<const Column> columns,
                                   std::optional<std::int64_t> limit) {
  json::array items;
  std::string cursor;
  do {
    std::string page(target);
    auto add = [&](std::string_view parameter) {
      page += fmt::format("{}{}", page.find('?') == page.npos ? '?' : '&', parameter);
    };
    if (limit) add(fmt::format("limit={}", std::min(*limit - static_cast<std::int64_t>(items.size()), kPage)));
    if (!cursor.empty()) add("cursor=" + net::encode_segment(cursor));
    LATHE_TRY(auto text, api().get(page));
    LATHE_TRY(auto value, parse_json(text, "the server's answer"));
    cursor = text_at(value, "/next");
    if (auto* object = value.if_object(); object && object->if_contains("items"))
      if (auto* array = (*object)["items"].if_array())
        for (auto& item : *array)
          if (!limit || static_cast<std::int64_t>(items.size()) < *limit) items.push_back(std::move(item));
  } while (!cursor.empty() && (!limit || static_cast<std::int64_t>(items.size()) < *limit));

  if (settings.json) return write_data(pretty_json(items)), 0;
  std::vector<std::string> header;
  for (const auto& column : columns) header.emplace_back(column.title);
  std::vector<std::vector<std::string>> rows;
  for (const auto& item : items) {
    auto& row = rows.emplace_back();
    for (const auto& column : columns) row.push_back(cell(item, column));
  }
  write_data(render_table(header, rows));
  if (!cursor.empty()) say("there are more: raise --limit");
  return 0;
}

base::Result<int> Call::print_one(std::string_view json_text, std::span<const Column> fields) {
  LATHE_TRY(auto value, parse_json(json_text, "the server's answer"));
  if (settings.json) return write_data(pretty_json(value)), 0;
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& field : fields) lines.emplace_back(field.title, cell(value, field));
  write_data(render_fields(lines));
  return 0;
}

}  // namespace lathe::cli
