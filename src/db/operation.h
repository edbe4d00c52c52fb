// What the threads of the database pass around: one closure and the callback that hears of its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

#include "db/sqlite.h"

namespace lathe::db {

// `done` is called once, after commit or with the error, on a thread of the database.
using Work = std::move_only_function<void(Connection&)>;
using Done = std::move_only_function<void(std::exception_ptr)>;

struct Operation {
  Work work;
  Done done;
  std::exception_ptr error;
};

inline constexpr std::size_t kQueueLimit = 100'000;
inline constexpr std::size_t kBatchLimit = 1'000;

struct CommitStats {
  std::atomic<std::uint64_t> commits{0}, operations{0}, largest_batch{0}, checkpoint_pages{0};
};

}  // namespace lathe::db
