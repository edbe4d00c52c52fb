// A snapshot cache from disk. A right checksum is added, so that the parser behind it is reached.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cas/stat_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string bytes = "lathe-snapshot-cache 2\n";
  bytes.append(reinterpret_cast<const char*>(data), size);
  auto digest = lathe::base::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  int fd = ::memfd_create("cache", MFD_CLOEXEC);
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  auto cache = lathe::cas::StatCache::load(fmt::format("/proc/self/fd/{}", fd));
  std::size_t total = 0;
  std::size_t count = 0;
  for (lathe::cas::StatCache::Cursor file(cache); file.get(); file.advance(), ++count) total += file.get()->path.size();
  if (total > size || count != cache.size()) __builtin_trap();
  ::close(fd);
  return 0;
}
