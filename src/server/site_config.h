// SiteConfig: what the owner of the machine decides, from $STATE/config.yaml. Every key is optional; an unknown key or
// a wrong value is refused with its name, because a rule that is silently ignored is worse than none.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/compute.h"
#include "net/keep_alive.h"
#include "net/outbound.h"
#include "server/site_environments.h"

namespace lathe::server {

// What callers may use of the server at most. Administrators and runners are free of the first three.
struct SiteLimits {
  double requests_per_second = 0;                   // of each token; 0: no limit
  double burst = 0;                                 // so many at once; 0: what a second allows
  std::int64_t runs_queued = 0;                     // runs of each token that are not over; 0: no limit
  double failed_logins_per_second = 50;             // from each address; more are answered slowly
  std::uint64_t floor_bytes_per_second = 1024;      // slower clients are cut off
  std::uint64_t request_memory_bytes = 128u << 20;  // of bodies and answers of all callers; each has a quarter
  base::Duration heartbeat = net::kHeartbeat;       // of streams that have nothing to tell
};

// Whether runs live in boxes: where one can be made, always, or never.
enum class BoxRule { automatic, on, off };

struct SiteConfig {
  model::SiteRules rules;                 // providers.local.gpu, providers.local.size
  std::vector<std::string> launcher;      // providers.local.launcher
  std::filesystem::path work;             // providers.local.work_dir
  std::optional<model::Machine> machine;  // providers.local.machine: a fixed inventory instead of the real one
  bool enforce_memory = true;             // providers.local.enforce_memory
  // providers.local.stop_margin_seconds: beyond its grace, before a runner that was asked to stop is ended by force
  std::chrono::milliseconds stop_margin = std::chrono::seconds(15);
  // providers.local.delivery_patience_seconds: without any progress, before a delivery is broken off and begun anew
  std::chrono::milliseconds delivery_patience = std::chrono::minutes(10);
  BoxRule box = BoxRule::automatic;          // providers.local.box
  std::string run_as = "slot";               // providers.local.run_as: slot, server, or "user NAME"
  std::vector<std::string> pass_variables;   // providers.local.pass_variables: names of the server's own
  std::vector<std::string> box_shows;        // providers.local.box_shows: folders that every run sees, read-only
  std::string why_no_box;                    // not read: found out at the start; empty: runs have boxes
  std::int64_t most_processes = 16'384;      // providers.local.processes: of one node of a run; 0: no limit
  EnvironmentRules environments;          // environments
  std::filesystem::path key_folder;       // secrets.key_folder: where the keys of the workspaces' secrets are kept
  std::uint64_t disk_budget_bytes = 0;    // disk_budget_gb; 0: no budget
  std::chrono::seconds blob_lease = std::chrono::hours(24);  // store.lease_hours
  std::uint64_t log_segment_bytes = 64u << 20;               // logs.segment_mb
  std::uint64_t mount_cache_bytes = 10ull << 30;             // mounts.cache_gb; 0: none
  std::chrono::seconds mount_read_timeout = std::chrono::seconds(60);  // mounts.read_timeout_seconds
  std::string mount_cache_folder;                            // mounts.cache_folder; empty: that of the node's user
  std::vector<std::filesystem::path> datastore_roots;        // datastores.roots: below these, local datastores may lie
  std::vector<net::AddressRange> private_addresses;          // fetch.private: reached although they are not public
  SiteLimits limits;                                         // limits
  int keep_events_days = 365;                                // events.keep_days: of runs that are over; 0: for ever
  int keep_audit_days = 0;                                   // audit.keep_days; 0: for ever
};

// The defaults when the file does not exist.
base::Result<SiteConfig> load_site_config(const std::filesystem::path& file);
// From text; for tests and the fuzzer.
base::Result<SiteConfig> parse_site_config(const std::string& yaml);

}  // namespace lathe::server
