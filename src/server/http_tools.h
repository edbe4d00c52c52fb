// Small tools that every endpoint uses: reading of queries and JSON bodies, and answers.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "db/cursor.h"
#include "db/page.h"
#include "net/http.h"
#include "net/router.h"

namespace lathe::server {

inline constexpr int kDefaultPage = 50;
inline constexpr int kMaxPage = 500;

// ?limit=1..500, 50 when absent.
int page_limit(const net::Request& request);
// ?cursor=…, empty when absent; one that is there must not be empty.
std::string page_cursor(const net::Request& request);
// A whole number in [0, 2^63), or `fallback` when absent; anything else is refused by name.
std::int64_t query_integer(const net::Request& request, const std::string& name, std::int64_t fallback);
bool query_flag(const net::Request& request, const std::string& name, bool fallback);
std::string require_query(const net::Request& request, const std::string& name);
// Refuses query parameters that the operation does not know: a misspelt filter must not look like "no filter".
void allow_query(const net::Request& request, std::initializer_list<std::string_view> names);

// The text of a JSON body; refuses another content type.
rt::Task<std::string> json_text(net::Request& request);
// The body as JSON, for wire::Fields. An empty body is an empty object where the operation allows one.
rt::Task<boost::json::value> json_body(net::Request& request, bool may_be_empty = false);

net::Response json_response(const boost::json::value& value, int status = 200);
// {"items": […], "next": cursor or null}
net::Response list_response(boost::json::array items, const std::optional<std::string>& next);

// What a page of a list by name goes on after: empty for the first page. `scope` binds the cursor to this list.
std::string page_after(const net::Request& request, std::string_view scope);
// A page of named things, in order of their names, of which one more than the limit was read if there are more.
template <class Thing, class Show>
net::Response page_of_names(const net::Request& request, std::string_view scope, std::vector<Thing> found, Show show) {
  auto page = db::make_page(std::move(found), page_limit(request),
                            [&](const Thing& last) { return db::make_cursor(scope, std::string_view(last.name)); });
  boost::json::array items;
  for (const auto& thing : page.items) items.push_back(show(thing));
  return list_response(std::move(items), page.next);
}

// A byte range of a file of `size` bytes as asked for by the Range header: 200 whole, 206 part; one behind the end is
// `no_range`.
struct ByteRange {
  std::uint64_t offset = 0, length = 0;
  bool partial = false;
};
ByteRange requested_range(const net::Request& request, std::uint64_t size);
// Adds Content-Range and the status of a partial answer.
void describe_range(net::Response& response, const ByteRange& range, std::uint64_t size);

}  // namespace lathe::server
