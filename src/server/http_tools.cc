#include "server/http_tools.h"

#include <algorithm>

#include "base/strings.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace json = boost::json;

std::int64_t query_integer(const net::Request& request, const std::string& name, std::int64_t fallback) {
  auto text = request.query_value(name);
  if (!text) return fallback;
  auto value = base::parse_u64(*text);
  if (!value || *value > INT64_MAX)
    throw Error(Code::invalid, fmt::format("{} must be a whole number, not '{}'", name, base::printable(*text, 40)))
        .field(name);
  return static_cast<std::int64_t>(*value);
}

int page_limit(const net::Request& request) {
  auto limit = query_integer(request, "limit", kDefaultPage);
  if (limit < 1 || limit > kMaxPage)
    throw Error(Code::invalid, fmt::format("limit must be from 1 to {}, not {}", kMaxPage, limit)).field("limit");
  return static_cast<int>(limit);
}

bool query_flag(const net::Request& request, const std::string& name, bool fallback) {
  auto text = request.query_value(name);
  if (!text) return fallback;
  if (*text == "true") return true;
  if (*text == "false") return false;
  throw Error(Code::invalid, fmt::format("{} must be true or false, not '{}'", name, base::printable(*text, 40)))
      .field(name);
}

std::string require_query(const net::Request& request, const std::string& name) {
  auto text = request.query_value(name);
  if (!text || text->empty())
    throw Error(Code::invalid, fmt::format("the query parameter {} is missing", name)).field(name);
  return *text;
}

void allow_query(const net::Request& request, std::initializer_list<std::string_view> names) {
  for (auto it = request.query.begin(); it != request.query.end(); ++it) {
    if (std::find(names.begin(), names.end(), it->first) == names.end())
      throw Error(Code::invalid, fmt::format("unknown query parameter '{}'", base::printable(it->first, 60)))
          .field(base::printable(it->first, 60))
          .hint(fmt::format("known here: {}", fmt::join(names, ", ")));
    if (request.query.count(it->first) > 1)
      throw Error(Code::invalid, fmt::format("{} is given more than once", it->first)).field(it->first);
  }
}

std::string page_cursor(const net::Request& request) {
  return request.query_value("cursor") ? require_query(request, "cursor") : std::string();
}

// What a browser's form can send without asking first is not taken for JSON.
rt::Task<std::string> json_text(net::Request& request) {
  auto type = base::to_lower(request.header("content-type").value_or("application/json"));
  if (base::trim(std::string_view(type).substr(0, type.find(';'))) != "application/json")
    throw Error(Code::invalid, fmt::format("the body must be application/json, not {}", base::printable(type, 60)))
        .field("content-type")
        .hint("send 'Content-Type: application/json'");
  co_return co_await request.text();
}

rt::Task<json::value> json_body(net::Request& request, bool may_be_empty) {
  auto text = co_await json_text(request);
  if (text.empty() && may_be_empty) co_return json::value(json::object{});
  co_return base::value_or_throw(wire::parse_json(text));
}

net::Response json_response(const json::value& value, int status) {
  return net::Response::json(json::serialize(value), status);
}

net::Response list_response(json::array items, const std::optional<std::string>& next) {
  json::object page;
  page["items"] = std::move(items);
  if (next)
    page["next"] = *next;
  else
    page["next"] = nullptr;
  return json_response(page);
}

std::string page_after(const net::Request& request, std::string_view scope) {
  auto cursor = page_cursor(request);
  return cursor.empty() ? cursor : db::read_cursor(scope, cursor);
}

ByteRange requested_range(const net::Request& request, std::uint64_t size) {
  auto header = request.header("range");
  if (!header || !header->starts_with("bytes=") || header->find(',') != header->npos) return {0, size, false};
  std::string_view spec = std::string_view(*header).substr(6);
  auto dash = spec.find('-');
  if (dash == spec.npos) return {0, size, false};
  auto first = base::parse_u64(spec.substr(0, dash)), last = base::parse_u64(spec.substr(dash + 1));
  if (!first && last) {  // the last N bytes
    std::uint64_t length = std::min(*last, size);
    if (length == 0) throw Error(Code::no_range, "the range has no byte").field("range");
    return {size - length, length, true};
  }
  // What makes no sense as a range is passed over, as RFC 9110 asks.
  if (!first || (last && *last < *first)) return {0, size, false};
  if (*first >= size)
    throw Error(Code::no_range, fmt::format("the range starts at {}, but there are {} bytes", *first, size))
        .field("range");
  std::uint64_t end = last && *last < size ? *last + 1 : size;
  return {*first, end - *first, true};
}

void describe_range(net::Response& response, const ByteRange& range, std::uint64_t size) {
  response.headers["accept-ranges"] = "bytes";
  if (!range.partial) return;
  response.status = 206;
  response.headers["content-range"] =
      fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size);
}

}  // namespace lathe::server
