#include "runner/log_redactor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace lathe::runner {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
// The longest form of the longest secret (64 KiB, three bytes for each of its own), and a piece.
constexpr std::size_t kPendingBytes = 4 * kPieceBytes;
constexpr std::size_t kValueBytes = 2 << 20;

}  // namespace

// Output that was read from the pipe and is not settled yet, and the size of the log when it was read. A slot is
// written while the other one counts, so that a kill at any instruction leaves one that is whole.
struct LogRedactor::Slot {
  std::uint64_t log_size = 0;
  std::size_t size = 0, covered = 0;
  char bytes[kPendingBytes];
  std::string_view view() const { return {bytes, size}; }
};

struct LogRedactor::Shared {
  std::atomic<std::size_t> values_size;  // each value: its length, then its bytes
  std::atomic<unsigned> current;
  Slot slots[2];
  char values[kValueBytes];
};

base::Result<std::unique_ptr<LogRedactor>> LogRedactor::create() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return base::fail(base::errno_error(errno, "making room for secrets"));
  // Zeros are what its constructor would write, and would touch every page for.
  return std::unique_ptr<LogRedactor>(new LogRedactor(static_cast<Shared*>(memory)));
}

LogRedactor::~LogRedactor() { ::munmap(shared_, sizeof(Shared)); }

base::Result<void> LogRedactor::add(const std::string& id, std::string_view value) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(ids_, id) != ids_.end()) return {};
  const std::size_t at = shared_->values_size.load(), length = value.size();
  if (length + sizeof length > kValueBytes - at)
    return base::fail(base::Code::too_large, "the run has read too many secrets");
  std::memcpy(shared_->values + at, &length, sizeof length);
  std::memcpy(shared_->values + at + sizeof length, value.data(), length);
  shared_->values_size.store(at + sizeof length + length);
  ids_.push_back(id);
  patterns_.add(value);
  return {};
}

std::vector<std::string> LogRedactor::ids() const {
  std::lock_guard lock(mutex_);
  return ids_;
}

const LogRedactor::Slot& LogRedactor::now() const { return shared_->slots[shared_->current.load() % 2]; }
LogRedactor::Slot& LogRedactor::next() { return shared_->slots[(shared_->current.load() + 1) % 2]; }
void LogRedactor::flip() { shared_->current.fetch_add(1); }

ssize_t LogRedactor::take(int pipe, std::uint64_t log_size) {
  const Slot& before = now();
  Slot& after = next();
  std::memcpy(after.bytes, before.bytes, before.size);
  const ssize_t n = ::read(pipe, after.bytes + before.size, std::min(kPieceBytes, kPendingBytes - before.size));
  if (n <= 0) return n;
  after.size = before.size + static_cast<std::size_t>(n);
  after.covered = before.covered;
  after.log_size = log_size;
  flip();
  return n;
}

SecretPatterns::Hidden LogRedactor::hide(std::uint64_t log_size, bool last) const {
  const Slot& slot = now();
  auto hidden = patterns_.hide(slot.view(), slot.covered, last);
  if (log_size > slot.log_size) hidden.text.erase(0, log_size - slot.log_size);
  return hidden;
}

void LogRedactor::written(const SecretPatterns::Hidden& hidden, std::uint64_t log_size) {
  const Slot& before = now();
  Slot& after = next();
  after.size = before.size - hidden.used;
  std::memcpy(after.bytes, before.bytes + hidden.used, after.size);
  after.covered = hidden.covered;
  after.log_size = log_size;
  flip();
}

std::uint64_t LogRedactor::give_up() {
  const std::uint64_t lost = now().size;
  Slot& after = next();
  after.size = after.covered = 0;
  flip();
  return lost;
}

void LogRedactor::reload() {
  patterns_ = SecretPatterns();
  const std::size_t end = shared_->values_size.load();
  for (std::size_t at = 0; at < end;) {
    std::size_t length;
    std::memcpy(&length, shared_->values + at, sizeof length);
    patterns_.add({shared_->values + at + sizeof length, length});
    at += sizeof length + length;
  }
}

}  // namespace lathe::runner
