#include "db/url_cache.h"

namespace lathe::db::url_cache {

void put(Connection& connection, const Entry& entry) {
  connection
      .prepare(
          "INSERT OR REPLACE INTO url_cache (url, etag, last_modified, digest, size, fetched, checked)"
          " VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind_all(entry.url, entry.etag, entry.last_modified, entry.digest, entry.size, entry.fetched, entry.checked)
      .run();
}

std::optional<Entry> find(Connection& connection, std::string_view url) {
  Statement row = connection.prepare(
      "SELECT url, etag, last_modified, digest, size, fetched, checked FROM url_cache WHERE url = ?");
  if (!row.bind(url).step()) return std::nullopt;
  return Entry{.url = row.text(0),
               .etag = row.text(1),
               .last_modified = row.text(2),
               .digest = row.digest(3),
               .size = row.integer(4),
               .fetched = row.time(5),
               .checked = row.time(6)};
}

}  // namespace lathe::db::url_cache
