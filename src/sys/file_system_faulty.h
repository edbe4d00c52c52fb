// FaultyFileSystem: a fake disk for tests, over a real folder. It keeps a journal of its calls, can fail the n-th one,
// and can lose power: from then on every call fails, and restart() leaves in the folder only what had been synced.
// It remembers, per file, the bytes at the last sync and, per folder, the names at the last sync. What lies under the
// root when it is made counts as synced. Thread-safe. In a library (not in a test file) because every layer that writes
// through sys::FileSystem tests with it.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "sys/file_system.h"

namespace lathe::sys {

// What a power cut does to changes that were never synced. A disk may do any, so tests try all.
enum class Loss {
  names_and_bytes,  // the new name never appears
  bytes_only,       // the new name appears, and the file holds zeros where its bytes should be
  torn,             // the new name appears, and of the new bytes the first half
};
inline constexpr std::array kEveryLoss{Loss::names_and_bytes, Loss::bytes_only, Loss::torn};

class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(std::filesystem::path root);
  ~FaultyFileSystem() override;

  // The n-th call from now (1 = the next) fails with `error_number`, once.
  void fail_call(std::size_t n, int error_number);
  // After `n` more calls the power is off: they and all later ones fail with EIO and change nothing.
  void cut_power_after(std::size_t n);
  // Brings the folder to the state after the cut and the power back on.
  void restart(Loss loss);

  std::vector<std::string> journal() const;  // "rename tmp/1 blobs/ab/cd", paths relative to the root
  std::size_t calls() const;

  base::Result<File> create(const std::string& path, mode_t mode) override;
  base::Result<File> open_or_create(const std::string& path, mode_t mode) override;
  base::Result<void> write(const File& file, std::string_view bytes, std::uint64_t offset) override;
  base::Result<void> truncate(const File& file, std::uint64_t size) override;
  base::Result<void> link(int fd, const std::string& to) override;
  base::Result<void> rename(const std::string& from, const std::string& to) override;
  base::Result<void> remove(const std::string& path) override;
  base::Result<void> make_directory(const std::string& path, mode_t mode) override;
  base::Result<void> sync_file(const std::string& path) override;
  base::Result<void> sync_directory(const std::string& path) override;
  base::Result<void> sync_everything(const std::string& path) override;

 private:
  struct Disk;
  // Counts and records a call; an error when it is the one to fail or the power is off.
  base::Result<void> step(std::string_view verb, std::string_view path, std::string_view other = {});
  std::string relative(std::string_view path) const;

  const std::filesystem::path root_;
  mutable std::mutex mutex_;
  std::unique_ptr<Disk> disk_;
  std::vector<std::string> journal_;
  std::size_t calls_ = 0;
  std::optional<std::size_t> fail_at_, cut_at_;
  int fail_number_ = 0;
};

}  // namespace lathe::sys
