// OperationQueue: the bounded hand-over from any thread to the threads of the database. No polling.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.h"
#include "db/operation.h"

namespace lathe::db {

class OperationQueue {
 public:
  explicit OperationQueue(std::size_t limit) : limit_(limit) {}
  // A full or closed queue answers at once through `done`.
  void push(Work work, Done done);
  // Waits for work and takes up to `most`. Empty: closed and drained, or `patience` is over.
  std::vector<Operation> take(std::size_t most, std::optional<base::Duration> patience = {});
  // What is queued can still be taken.
  void close();
  bool closed() const;

 private:
  bool admit(Work& work, Done& done, const char*& refusal);
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Operation> queue_;
  bool closed_ = false;
};

}  // namespace lathe::db
