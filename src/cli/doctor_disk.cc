#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/strings.h"
#include "cli/doctor.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLittleSpace = std::uint64_t{5} << 30;
constexpr int kSyncs = 20;

fs::path nearest_existing(fs::path folder) {
  std::error_code error;
  while (!fs::is_directory(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

Finding space_left(const fs::path& folder) {
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0)
    return {"disk space", Verdict::warning, std::strerror(errno), "check the state folder's disk"};
  std::uint64_t available = std::uint64_t{info.f_bavail} * info.f_frsize;
  Finding out{.what = "disk space",
              .detail = fmt::format("{} free at {}", base::human_bytes(available), folder.string())};
  if (available >= kLittleSpace) return out;
  out.verdict = Verdict::warning;
  out.advice = "free some, or name another state folder with --state";
  return out;
}

Finding sync_time(const fs::path& folder) {
  auto file = folder / fmt::format(".lathe-doctor-{}", base::to_hex(base::random_bytes(4)));
  int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return {"disk sync", Verdict::warning, fmt::format("{} cannot be written", folder.string()),
            "name another state folder with --state"};
  ::unlink(file.c_str());
  char block[4096] = {};
  bool written = true;
  auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kSyncs; ++i) written &= ::write(fd, block, sizeof block) == sizeof block && ::fdatasync(fd) == 0;
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  ::close(fd);
  if (!written) return {"disk sync", Verdict::warning, std::strerror(errno), "check the state folder's disk"};
  double each = took.count() / kSyncs;
  Finding out{.what = "disk sync", .detail = fmt::format("{:.2f} ms per fdatasync", each)};
  if (each < 50) return out;
  out.verdict = Verdict::warning;
  out.advice = "every submit waits for one: a state folder on a local SSD is faster";
  return out;
}

}  // namespace

std::vector<Finding> examine_disk(const fs::path& state) {
  auto folder = nearest_existing(state);
  return {space_left(folder), sync_time(folder)};
}

}  // namespace lathe::cli
