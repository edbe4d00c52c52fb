// Rows of `url_cache`: what a URL gave, and how to ask whether it still does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/sqlite.h"

namespace lathe::db::url_cache {

struct Entry {
  std::string url, etag, last_modified;
  base::Digest digest;
  std::int64_t size = 0;
  base::UtcTime fetched, checked;
  bool operator==(const Entry&) const = default;
};

void put(Connection& connection, const Entry& entry);
std::optional<Entry> find(Connection& connection, std::string_view url);

}  // namespace lathe::db::url_cache
