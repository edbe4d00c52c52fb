// Rows of `log_segments`: the sealed pieces of a run's logs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace lathe::db::logs {

struct Segment {
  int attempt = 0;
  std::string name;
  int number = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  base::Digest digest;
  bool operator==(const Segment&) const = default;
};

// The same segment twice is one (false: it was there); another content under its number is a conflict.
bool insert(Connection& connection, std::int64_t run, const Segment& segment);
std::optional<Segment> find(Connection& connection, std::int64_t run, int attempt, std::string_view name, int number);
// In order.
std::vector<Segment> list(Connection& connection, std::int64_t run, int attempt, std::string_view name);

}  // namespace lathe::db::logs
