#include "net/memory_budget.h"

#include "base/error.h"
#include "rt/clock.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

Error no_room() {
  return Error(Code::unavailable, "the server holds as many bytes of requests as it may").hint("try again in a moment");
}

}  // namespace

MemoryBudget::Hold::~Hold() {
  if (budget_) budget_->give_back(caller_, bytes_);
}

void MemoryBudget::Hold::swap(Hold& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(caller_, other.caller_);
  std::swap(bytes_, other.bytes_);
}

bool MemoryBudget::fits(const std::string& caller, std::uint64_t more) const {
  const auto found = callers_.find(caller);
  const std::uint64_t his = found == callers_.end() ? 0 : found->second.held;
  // Written so that a huge number cannot wrap around.
  return more <= limits_.total && held_ <= limits_.total - more && more <= limits_.per_caller &&
         his <= limits_.per_caller - more;
}

void MemoryBudget::add(const std::string& caller, std::uint64_t bytes) {
  held_ += bytes;
  callers_[caller].held += bytes;
}

void MemoryBudget::give_back(const std::string& caller, std::uint64_t bytes) {
  held_ -= bytes;
  callers_[caller].held -= bytes;
  forget_if_idle(caller);
  freed_.notify();
}

void MemoryBudget::forget_if_idle(const std::string& caller) {
  const auto found = callers_.find(caller);
  if (found->second.waiting == 0 && found->second.held == 0) callers_.erase(found);
}

std::optional<MemoryBudget::Hold> MemoryBudget::try_take(const std::string& caller, std::uint64_t bytes) {
  if (!fits(caller, bytes)) return std::nullopt;
  add(caller, bytes);
  Hold hold;
  hold.budget_ = this;
  hold.caller_ = caller;
  hold.bytes_ = bytes;
  return hold;
}

bool MemoryBudget::try_grow(Hold& hold, std::uint64_t bytes) {
  if (bytes <= hold.bytes_) return true;
  const std::uint64_t more = bytes - hold.bytes_;
  if (!fits(hold.caller_, more)) return false;
  add(hold.caller_, more);
  hold.bytes_ = bytes;
  return true;
}

rt::Task<MemoryBudget::Hold> MemoryBudget::take(std::string caller, std::uint64_t bytes, rt::CancelToken cancel) {
  if (auto hold = try_take(caller, bytes)) co_return std::move(*hold);
  if (bytes > limits_.per_caller || bytes > limits_.total) throw no_room();
  struct Waiting {
    MemoryBudget& budget;
    const std::string& caller;
    ~Waiting() {
      --budget.callers_[caller].waiting;
      budget.forget_if_idle(caller);
    }
  };
  Waiting waiting{*this, caller};
  if (++callers_[caller].waiting > limits_.waiting_per_caller) throw no_room();
  const auto end = rt::system_clock().steady() + limits_.patience;
  for (;;) {
    const auto left = end - rt::system_clock().steady();
    if (left <= base::Duration(0)) throw no_room();
    const auto seen = freed_.version();
    if (auto hold = try_take(caller, bytes)) co_return std::move(*hold);
    co_await freed_.changed_within(seen, loop_, left, cancel);
  }
}

}  // namespace lathe::net
