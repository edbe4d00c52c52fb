#include "sys/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "sys/cgroup.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

std::int64_t number_in(const fs::path& file) {
  auto text = read_small_file(file).value_or("");
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(base::parse_u64(base::trim(text)).value_or(0), kMost));
}

// The smallest limit on the way from our own group up to the root; 0 when there is none.
template <class ReadLimit>
std::int64_t smallest_upwards(fs::path folder, ReadLimit read_limit) {
  std::int64_t smallest = 0;
  for (; folder.string().size() > std::string_view("/sys/fs/cgroup").size(); folder = folder.parent_path())
    if (std::int64_t limit = read_limit(folder); limit > 0 && (smallest == 0 || limit < smallest)) smallest = limit;
  return smallest;
}

std::int64_t quota_v2(const fs::path& folder) {
  auto text = read_small_file(folder / "cpu.max").value_or("");
  auto words = base::split(base::trim(text), ' ');
  if (words.size() != 2) return 0;
  auto quota = base::parse_u64(words[0]), period = base::parse_u64(words[1]);
  return quota && period && *period > 0 ? static_cast<std::int64_t>(*quota * 1000 / *period) : 0;
}

std::int64_t quota_v1(const fs::path& folder) {
  std::int64_t quota = number_in(folder / "cpu.cfs_quota_us"), period = number_in(folder / "cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota * 1000 / period : 0;
}

std::int64_t usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max<long>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
}

std::int64_t lesser_limit(std::int64_t value, std::int64_t limit) { return limit > 0 ? std::min(value, limit) : value; }

}  // namespace

MachineInfo read_machine() {
  auto place = find_cgroup_place(read_small_file("/proc/self/cgroup").value_or(""),
                                 read_small_file("/proc/self/mountinfo").value_or(""));
  MachineInfo info;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) info.host = host;
  info.millicores = usable_cores() * 1000;
  info.millicores = lesser_limit(info.millicores, smallest_upwards(place.unified, quota_v2));
  info.millicores = lesser_limit(info.millicores, smallest_upwards(place.cpu_v1, quota_v1));
  info.memory_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  info.memory_bytes =
      lesser_limit(info.memory_bytes,
                   smallest_upwards(place.unified, [](const fs::path& f) { return number_in(f / "memory.max"); }));
  info.memory_bytes = lesser_limit(info.memory_bytes, smallest_upwards(place.memory_v1, [](const fs::path& f) {
                                     return number_in(f / "memory.limit_in_bytes");
                                   }));
  return info;
}

}  // namespace lathe::sys
