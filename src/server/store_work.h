// StoreWork: what takes long in the content store, on threads of its own: verifying it, collecting its garbage, walking
// through it, hashing a large file. Runners' requests share other threads and never wait behind it. Home thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/digest.h"
#include "base/error.h"
#include "cas/disk_store.h"
#include "rt/cancel.h"
#include "rt/pool.h"

namespace lathe::server {

class StoreWork {
 public:
  // Asked again and again by the work, on its own thread: whether to go on.
  using GoOn = std::function<bool()>;

  StoreWork(rt::Executor& home, rt::BlockingPool& files, cas::DiskStore& store)
      : home_(home), files_(files), store_(store) {}

  // Gives up all that is under way and refuses what is new.
  void stop();
  // Waits for the threads; after the loop has ended.
  void join() { threads_.stop(); }

  // Calls work(go_on), which throws Error(cancelled) soon after it was told not to go on: `cancel` fired, or the server
  // stops. Error(conflict) while another of the same kind is under way.
  template <class Work>
  rt::Task<std::invoke_result_t<Work, const GoOn&>> run_alone(std::string kind, rt::CancelToken cancel, Work work);

  template <class Work>
  rt::Task<std::invoke_result_t<Work>> run(Work work) {
    return threads_.run(home_, std::move(work));
  }

  // As DiskStore::open(). A large blob that this process has not verified yet is hashed here.
  rt::Task<cas::BlobFile> open_blob(base::Digest digest);

 private:
  struct Turn;
  void begin(const std::string& kind);

  rt::Executor& home_;
  rt::BlockingPool& files_;
  cas::DiskStore& store_;
  std::set<std::string> under_way_;
  rt::CancelSource stopping_;
  // One may verify and one collect; the third is left to those who wait for a blob or for a count.
  rt::BlockingPool threads_{"store", 3, 1024};
};

// Holds the turn of one kind of work.
struct StoreWork::Turn {
  Turn(StoreWork& owner, std::string name) : work(owner), kind(std::move(name)) { work.begin(kind); }
  Turn(const Turn&) = delete;
  ~Turn() { work.under_way_.erase(kind); }
  StoreWork& work;
  std::string kind;
};

template <class Work>
rt::Task<std::invoke_result_t<Work, const StoreWork::GoOn&>> StoreWork::run_alone(std::string kind,
                                                                                  rt::CancelToken cancel, Work work) {
  Turn turn(*this, std::move(kind));
  std::atomic<bool> wanted = true;
  auto give_up = [&wanted] { wanted = false; };
  rt::CancelSubscription unwanted(cancel, give_up), stopping(stopping_.token(), give_up);
  const GoOn go_on = [&wanted] { return wanted.load(); };
  co_return co_await run([&] { return work(go_on); });
}

}  // namespace lathe::server
