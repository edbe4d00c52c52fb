#include "db/queue.h"

#include "base/error.h"

namespace lathe::db {

bool OperationQueue::admit(Work& work, Done& done, const char*& refusal) {
  const std::lock_guard lock(mutex_);
  if (closed_)
    refusal = "the database is stopping";
  else if (queue_.size() >= limit_)
    refusal = "the database has too much to do";
  else
    queue_.push_back({std::move(work), std::move(done), nullptr});
  return refusal == nullptr;
}

void OperationQueue::push(Work work, Done done) {
  const char* refusal = nullptr;
  if (admit(work, done, refusal)) {
    wake_.notify_one();
  } else {
    done(std::make_exception_ptr(base::Error(base::Code::unavailable, refusal).hint("try again in a moment")));
  }
}

std::vector<Operation> OperationQueue::take(std::size_t most, std::optional<base::Duration> patience) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return closed_ || !queue_.empty(); };
  if (patience)
    wake_.wait_for(lock, *patience, ready);
  else
    wake_.wait(lock, ready);
  std::vector<Operation> taken;
  taken.reserve(std::min(most, queue_.size()));
  while (!queue_.empty() && taken.size() < most) {
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return taken;
}

void OperationQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_.notify_all();
}

bool OperationQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace lathe::db
