#include "sys/own_code.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace lathe::sys {
namespace {

constexpr std::uintptr_t kLargePage = 2u << 20;

struct Segment {
  std::uintptr_t begin, end;
  int rights;
};

// What the program and its libraries never write: code and constants.
int collect_segments(dl_phdr_info* program, std::size_t, void* out) {
  // Its pages are the kernel's own.
  if (std::string_view(program->dlpi_name).starts_with("linux-vdso")) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const auto& header = program->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const auto begin = program->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
    static_cast<std::vector<Segment>*>(out)->push_back({begin & ~(page - 1), (end + page - 1) & ~(page - 1),
                                                        PROT_READ | ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0)});
  }
  return 0;
}

// A copy is made elsewhere and moved over the original in one step, so that there is no moment without code.
void own(const Segment& segment) {
  const auto size = segment.end - segment.begin;
  void* room = ::mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  // As far from a large page's border as the original, or the kernel could not move large pages.
  const auto first = reinterpret_cast<std::uintptr_t>(room);
  void* copy = reinterpret_cast<void*>(first + (segment.begin - first) % kLargePage);
  void* original = reinterpret_cast<void*>(segment.begin);
  ::madvise(copy, size, MADV_HUGEPAGE);
  std::memcpy(copy, original, size);
  if (::mprotect(copy, size, segment.rights) == 0) ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, original);
  ::munmap(room, size + kLargePage);
}

}  // namespace

void own_code() {
  std::vector<Segment> segments;
  ::dl_iterate_phdr(collect_segments, &segments);
  for (const auto& segment : segments) own(segment);
}

}  // namespace lathe::sys
