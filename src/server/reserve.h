// Reserve: the space in the state folder that is set aside for the last words of runs. While the disk has room nobody
// touches it. When a change that must not be lost (an end, a cancel, a delete) meets a full disk, the space is given
// free and the change made again; from then on new work is refused until the reserve could be filled again.
// Home thread; file work on the pool. Fills itself once a second while it is empty, and does nothing else.
#pragma once

#include <type_traits>

#include "base/error.h"
#include "rt/loop.h"
#include "rt/pool.h"
#include "rt/scope.h"
#include "rt/task.h"
#include "server/state_dir.h"

namespace lathe::server {

class Reserve {
 public:
  Reserve(const StateDir& state, rt::Loop& home, rt::BlockingPool& files, rt::Scope& scope)
      : state_(state), home_(home), files_(files), scope_(scope) {}

  // At start: `full` says whether the space is there now. Until it is, the reserve counts as spent.
  void start(bool full);

  // Throws no_space while the reserve is spent: what is left is not for new work.
  void require_room() const;

  // Calls; when the disk is full, once more with the reserve.
  template <class Call>
  std::invoke_result_t<Call> spend(Call call) {
    bool was_full = full_;
    try {
      co_return co_await call();
    } catch (const base::Error& error) {
      if (error.code() != base::Code::no_space || !was_full) throw;
    }
    release();
    co_return co_await call();
  }

  // As spend(), and again until it is done: for what nobody else would try again.
  template <class Call>
  std::invoke_result_t<Call> insist(Call call) {
    for (;;) {
      try {
        co_return co_await spend(call);
      } catch (const base::Error& error) {
        if (error.code() != base::Code::no_space && error.code() != base::Code::unavailable) throw;
      }
      co_await home_.sleep(kPeriod, scope_.token());
    }
  }

 private:
  static constexpr base::Duration kPeriod = std::chrono::seconds(1);
  void release();
  rt::Task<void> refill();

  const StateDir& state_;
  rt::Loop& home_;
  rt::BlockingPool& files_;
  rt::Scope& scope_;
  bool full_ = false;
};

}  // namespace lathe::server
