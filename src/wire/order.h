// The order a runner gets when it claims its attempt: everything it needs to know to run one node task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "base/time.h"
#include "model/run.h"
#include "wire/run_data.h"

namespace lathe::wire {

// How the runner puts the environment on its node, where it is not there yet. The fields are those of the site's rules.
struct RealiseOrder {
  std::string cache, uv, index;
  std::vector<std::string> extra_indexes, channels, pythons;
  std::string wheelhouse, engine;
  bool offline = false, python_downloads = true, engine_arguments = true;
  bool engine_host_arguments = true;  // an order of 0.1 does not say: there they were allowed
  bool operator==(const RealiseOrder&) const = default;
};

struct RunnerOrder {
  model::RunId run;
  int attempt = 0;
  int node = 0;
  int node_count = 1;
  std::string workspace, experiment, subscription_id, resource_group;
  model::Command command;
  model::EnvironmentRef environment;
  std::optional<base::Digest> lock;  // of an environment that Lathe builds; then there is no interpreter
  RealiseOrder realise;
  std::optional<base::Digest> snapshot;
  model::Slice slice;
  std::int64_t max_run_duration_seconds = 0;
  std::int64_t grace_seconds = 30;
  std::string log_name;
  std::int64_t segment_bytes = 64LL * 1024 * 1024;
  std::optional<base::UtcTime> token_expiry;
  bool enforce_memory = false;
  std::int64_t mount_cache_bytes = 0;  // on the node's disk, for what its runs read through mounts; 0: none
  std::string mount_cache_folder;      // empty: the cache folder of the node's user
  std::int64_t mount_read_timeout_seconds = 60;  // then a read of what is not cached fails while the server is away
  std::vector<InputOrder> inputs;
  std::vector<OutputOrder> outputs;
};

std::string encode_order(const RunnerOrder& order);
// Fields of a newer server are passed over, so that a newer one can adopt the runners of an older one.
base::Result<RunnerOrder> decode_order(std::string_view text);

}  // namespace lathe::wire
