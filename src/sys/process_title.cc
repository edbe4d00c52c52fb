#include "sys/process_title.h"

#include <algorithm>
#include <cstring>

namespace lathe::sys {

ProcessTitle::ProcessTitle(int argc, char** argv) {
  if (argc <= 0) return;
  char* end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  room_ = {argv[0], end};
}

bool ProcessTitle::fits(std::span<const std::string> words) const {
  std::size_t needed = 0;
  for (const auto& word : words) needed += word.size() + 1;
  return needed <= room_.size();
}

void ProcessTitle::set(std::span<const std::string> words) const {
  std::size_t at = 0;
  for (const auto& word : words) {
    if (at + word.size() + 1 > room_.size()) return;
    std::ranges::copy(word, room_.begin() + static_cast<std::ptrdiff_t>(at));
    at += word.size();
    room_[at++] = '\0';
  }
  // Only what is not clear yet: a write would make a forked process copy the page.
  for (; at < room_.size(); ++at)
    if (room_[at] != '\0') room_[at] = '\0';
}

}  // namespace lathe::sys
