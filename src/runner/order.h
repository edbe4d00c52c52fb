// What travels between server and runner as plain values: the order that a claim gives, and JSON forms of it and of the
// exit record (the spool keeps both).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/run.h"

namespace lathe::runner {

struct Order {
  std::string run;
  int attempt = 0, node = 0, node_count = 1;
  std::string workspace, experiment, subscription_id, resource_group;
  model::Command command;
  model::EnvironmentRef environment;
  std::optional<base::Digest> snapshot;
  model::Slice slice;
  std::int64_t max_run_duration_seconds = 0;  // 0: no limit
  std::int64_t grace_seconds = 30;
  std::string log_name;
  std::uint64_t segment_bytes = 64 << 20;
  std::string token_expiry;
  bool enforce_memory = false;
};

// Fields that are missing keep their defaults; a field of another type is `corrupt`.
base::Result<Order> parse_order(std::string_view json);
std::string format_order(const Order& order);

base::Result<model::ExitRecord> parse_exit(std::string_view json);
std::string format_exit(const model::ExitRecord& exit);

}  // namespace lathe::runner
