#include "db/cursor.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/strings.h"

namespace lathe::db {

namespace {

constexpr std::size_t kSealBytes = 8;

std::string seal(std::string_view scope, std::string_view position) {
  const base::Digest digest = base::sha256(fmt::format("cursor\n{}:{}{}", scope.size(), scope, position));
  return {reinterpret_cast<const char*>(digest.bytes.data()), kSealBytes};
}

[[noreturn]] void refuse() {
  throw base::Error(base::Code::invalid, "this cursor is not one that this list has given out")
      .field("cursor")
      .hint("start again without a cursor, and keep the filters the same from page to page");
}

}  // namespace

std::string make_cursor(std::string_view scope, std::string_view position) {
  return base::to_hex(seal(scope, position) + std::string(position));
}

std::string make_cursor(std::string_view scope, std::int64_t position) {
  return make_cursor(scope, std::to_string(position));
}

std::string read_cursor(std::string_view scope, std::string_view cursor) {
  const auto bytes = base::from_hex(cursor);
  if (!bytes || bytes->size() <= kSealBytes) refuse();
  std::string position = bytes->substr(kSealBytes);
  if (bytes->substr(0, kSealBytes) != seal(scope, position)) refuse();
  return position;
}

std::int64_t read_number_cursor(std::string_view scope, std::string_view cursor) {
  const auto number = base::parse_u64(read_cursor(scope, cursor));
  if (!number || *number > INT64_MAX) refuse();
  return static_cast<std::int64_t>(*number);
}

void check_limit(int limit) {
  if (limit >= 1 && limit <= kLargestPage) return;
  throw base::Error(base::Code::invalid, fmt::format("a page has 1 to {} items, not {}", kLargestPage, limit))
      .field("limit")
      .hint("ask for a smaller page and follow its cursor");
}

}  // namespace lathe::db
