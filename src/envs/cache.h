// Cache: the realised environments of one node, shared by all servers and runs that use its folder. Layout, marker and
// locks: docs/formats/environment-cache.md. An environment is whole when its marker is there; one that is not is
// removed by the next that needs it. Thread-safe: state is on the disk and guarded by flock. Blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.h"
#include "envs/lock.h"
#include "envs/realiser.h"
#include "envs/settings.h"
#include "sys/fd.h"

namespace lathe::envs {

struct CacheEntry {
  base::Digest lock;
  std::filesystem::path prefix;
  std::uint64_t bytes = 0;  // of its own files; packages shared with others count in each
  base::UtcTime last_used;
  bool in_use = false;
};

struct CollectPolicy {
  std::optional<std::chrono::seconds> unused_for;  // remove what was not used for so long
  std::optional<std::uint64_t> max_bytes;          // then the longest unused until the rest is below
};

struct Collected {
  std::vector<CacheEntry> removed;
  std::uint64_t bytes = 0, kept_bytes = 0;  // of environments; packages that several of them share count in each
  std::uint64_t package_bytes = 0;          // of packages and byte code that no environment uses any more
};

enum class Check { marker, files };

class Cache {
 public:
  explicit Cache(Settings settings);

  // The environment of the lock, built when it is not there; the same lock asked for at once, also by another process,
  // is built once. Check::files compares every file's size first and builds a damaged one again.
  base::Result<Realised> ensure(const Lock& lock, const LogSink& log, std::stop_token stop,
                                Check check = Check::marker);
  // Reads the marker and nothing else.
  std::optional<Realised> find(const base::Digest& lock) const;
  // Whether every file was looked at since the machine came up: a power cut may have emptied some.
  bool was_checked_since_boot(const base::Digest& lock) const;
  // Keeps collect() away for as long as the descriptor lives; notes the use.
  base::Result<sys::Fd> hold(const base::Digest& lock) const;

  // Compiles the Python files of a realised environment into the shared pool and links them into it. For after the
  // first run has been let go: it takes seconds.
  base::Result<void> compile_bytecode(const base::Digest& lock, const LogSink& log, std::stop_token stop) const;

  std::vector<CacheEntry> list() const;
  base::Result<Collected> collect(const CollectPolicy& policy, bool dry_run);

  const std::filesystem::path& folder() const { return settings_.cache; }

 private:
  base::Result<Realised> build(const Lock& lock, const LogSink& log, std::stop_token stop);
  base::Result<bool> check(const base::Digest& lock, const LogSink& log, std::stop_token stop) const;
  // False when somebody uses it.
  base::Result<bool> remove(const base::Digest& lock);
  base::Result<std::uint64_t> remove_unused_packages() const;

  Settings settings_;
};

}  // namespace lathe::envs
