#include "compute/spare_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>

#include "compute/task_folder.h"

namespace lathe::compute {

namespace fs = std::filesystem;

namespace {
constexpr std::string_view kPrefix = "spare.";
}

SpareFolders::SpareFolders(fs::path work) : work_(std::move(work)) {
  std::error_code failed;
  for (fs::directory_iterator entry(work_, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (entry->path().filename().string().starts_with(kPrefix)) spares_.push_back(entry->path());
}

void SpareFolders::give(const fs::path& folder) {
  std::lock_guard lock(mutex_);
  if (spares_.empty()) return;
  // Onto a folder that has something in it a rename fails, and onto an empty one nothing is lost.
  if (std::rename(spares_.back().c_str(), folder.c_str()) == 0) spares_.pop_back();
}

bool SpareFolders::take(const fs::path& folder) {
  const sys::Fd unused(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!unused || ::flock(unused.get(), LOCK_EX | LOCK_NB) != 0 || !is_bare(folder)) return false;
  std::lock_guard lock(mutex_);
  if (spares_.size() >= kMost) return false;
  fs::path spare;
  do spare = work_ / fmt::format("{}{}", kPrefix, next_++);
  while (std::find(spares_.begin(), spares_.end(), spare) != spares_.end());
  if (std::rename(folder.c_str(), spare.c_str()) != 0) return false;
  spares_.push_back(std::move(spare));
  return true;
}

}  // namespace lathe::compute
