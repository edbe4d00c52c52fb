// SpareFolders: task folders that their runners left bare, kept for the next tasks. Making and removing five folders
// for each run costs ext4 more than the run itself when runs are short: it looks past every recently freed inode for
// each new one. A spare is a folder `spare.N` beside the tasks'. Thread-safe; blocking, called on the pool.
#pragma once

#include <filesystem>
#include <mutex>
#include <vector>

namespace lathe::compute {

class SpareFolders {
 public:
  static constexpr std::size_t kMost = 64;

  // Takes over the spares that an earlier server left in `work`.
  explicit SpareFolders(std::filesystem::path work);

  // Gives `folder` a spare, if there is one and no such folder yet.
  void give(const std::filesystem::path& folder);
  // Keeps the folder of a task if it is bare and no runner is about to use it. False: it is the caller's.
  bool take(const std::filesystem::path& folder);

 private:
  const std::filesystem::path work_;
  std::mutex mutex_;
  std::vector<std::filesystem::path> spares_;
  std::uint64_t next_ = 0;
};

}  // namespace lathe::compute
