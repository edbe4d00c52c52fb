// Cursors of paged lists: opaque to clients, bound to the list (`scope`: what was asked for) they came from. A cursor
// that was changed, or belongs to another list, is refused as invalid. They protect against mistakes, not secrets: a
// position reveals and permits nothing beyond the list itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::db {

inline constexpr int kLargestPage = 500;

std::string make_cursor(std::string_view scope, std::string_view position);
std::string make_cursor(std::string_view scope, std::int64_t position);
// Throw invalid (field "cursor").
std::string read_cursor(std::string_view scope, std::string_view cursor);
std::int64_t read_number_cursor(std::string_view scope, std::string_view cursor);

// Throws invalid (field "limit") unless 1 ≤ limit ≤ kLargestPage.
void check_limit(int limit);

}  // namespace lathe::db
