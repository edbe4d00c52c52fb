#include "server/build_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strings.h"

namespace lathe::server {

BuildLog::BuildLog(std::filesystem::path file, rt::Executor& home) : file_(std::move(file)), home_(home), grown_(home) {
  fd_.reset(::open(file_.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status{};
  if (!fd_ || ::fstat(fd_.get(), &status) != 0) throw base::errno_error(errno, "open the log of a build");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void BuildLog::write(std::string_view text) {
  std::string bytes(text);
  bytes += '\n';
  // A full disk must not end a build for the sake of its log; what is lost there is also too late to be told.
  auto written = ::write(fd_.get(), bytes.data(), bytes.size());
  if (written > 0) size_ += static_cast<std::uint64_t>(written);
}

void BuildLog::line(std::string_view text) {
  std::lock_guard lock(mutex_);
  if (size_ > kMost) return;
  write(text);
  if (size_ > kMost) write("the log is longer than 64 MiB; the rest of it is not kept");
  if (!base::trim(text).empty()) last_line_ = base::printable(text, 200);
  if (!told_.exchange(true))
    home_.post([self = shared_from_this()] {
      self->told_ = false;
      self->grown_.notify();
    });
}

std::string BuildLog::last_line() const {
  std::lock_guard lock(mutex_);
  return last_line_;
}

std::string BuildLog::read(std::uint64_t offset, std::size_t length) const {
  std::string bytes(length, '\0');
  auto got = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (got < 0) throw base::errno_error(errno, "read the log of a build");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

cas::BlobInfo BuildLog::seal(cas::BlobStore& store) {
  auto batch = store.begin_batch();
  // Copied: a process that outlives the build may still write to the file, and an earlier server may have begun it.
  auto blob = base::value_or_throw(batch->adopt(fd_.get(), file_, cas::Adopt::copy));
  base::value_or_throw(batch->commit());
  ::unlink(file_.c_str());
  return blob;
}

}  // namespace lathe::server
