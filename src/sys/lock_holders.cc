#include "sys/lock_holders.h"

#include <fstream>
#include <string>

#include "base/strings.h"

namespace lathe::sys {

std::vector<pid_t> lock_holders(ino_t inode) {
  std::vector<pid_t> out;
  std::ifstream file("/proc/locks");
  if (!file) return {0};
  std::string line, wanted = fmt::format(":{}", inode);
  while (std::getline(file, line)) {
    // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"
    std::vector<std::string_view> words;
    for (auto word : base::split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() > 5 && words[1] == "FLOCK" && words[5].ends_with(wanted))
      out.push_back(static_cast<pid_t>(base::parse_u64(words[4]).value_or(0)));
  }
  return out;
}

}  // namespace lathe::sys
