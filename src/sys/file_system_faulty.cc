#include "sys/file_system_faulty.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>

namespace lathe::sys {
namespace {

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string parent_of(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// Of the bytes that were written since the last sync the first half has reached the disk.
void tear(std::string& synced, const std::string& now) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(synced, now).in1 - synced.begin());
  const auto reached = same + (now.size() - std::min(now.size(), same)) / 2;
  synced = now.substr(0, reached) + (synced.size() > reached ? synced.substr(reached) : "");
}

struct Survivor {
  std::string bytes;
  mode_t mode = 0644;
  timespec changed{};
};

}  // namespace

// Paths are relative to the root. A file id stands for an inode: two names of one file share it.
struct FaultyFileSystem::Disk {
  using FileId = std::size_t;
  std::map<std::string, FileId> live, synced;
  std::set<std::string> live_folders, synced_folders;
  std::map<FileId, std::string> synced_bytes;
  FileId next = 1;

  void sync_folder(const std::string& folder) {
    auto inside = [&](const std::string& path) { return parent_of(path) == folder; };
    std::erase_if(synced, [&](const auto& entry) { return inside(entry.first); });
    for (const auto& [path, id] : live)
      if (inside(path)) synced[path] = id;
    for (const auto& path : live_folders)
      if (inside(path)) synced_folders.insert(path);
  }
};

FaultyFileSystem::FaultyFileSystem(std::filesystem::path root)
    : root_(std::move(root)), disk_(std::make_unique<Disk>()) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    auto path = relative(entry.path().string());
    if (entry.is_directory()) {
      disk_->live_folders.insert(path);
    } else {
      disk_->synced_bytes[disk_->next] = read_whole(entry.path());
      disk_->live[path] = disk_->next++;
    }
  }
  disk_->synced = disk_->live;
  disk_->synced_folders = disk_->live_folders;
}

FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::fail_call(std::size_t n, int error_number) {
  std::lock_guard lock(mutex_);
  fail_at_ = calls_ + n;
  fail_number_ = error_number;
}

void FaultyFileSystem::cut_power_after(std::size_t n) {
  std::lock_guard lock(mutex_);
  cut_at_ = calls_ + n;
}

std::vector<std::string> FaultyFileSystem::journal() const {
  std::lock_guard lock(mutex_);
  return journal_;
}

std::size_t FaultyFileSystem::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

std::string FaultyFileSystem::relative(std::string_view path) const {
  std::string root = root_.string();
  if (path == root) return {};
  if (path.starts_with(root + "/")) return std::string(path.substr(root.size() + 1));
  return std::string(path);
}

base::Result<void> FaultyFileSystem::step(std::string_view verb, std::string_view path, std::string_view other) {
  ++calls_;
  auto line = fmt::format("{} {}", verb, relative(path));
  if (!other.empty()) line += " " + relative(other);
  journal_.push_back(line);
  if (cut_at_ && calls_ > *cut_at_) return base::fail(base::errno_error(EIO, line + ": the power is off"));
  if (fail_at_ == calls_) return base::fail(base::errno_error(fail_number_, line));
  return {};
}

base::Result<File> FaultyFileSystem::create(const std::string& path, mode_t mode) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("create", path));
  LATHE_TRY(auto file, linux_file_system().create(path, mode));
  disk_->live[relative(path)] = disk_->next++;
  return file;
}

base::Result<File> FaultyFileSystem::open_or_create(const std::string& path, mode_t mode) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("open", path));
  LATHE_TRY(auto file, linux_file_system().open_or_create(path, mode));
  if (disk_->live.try_emplace(relative(path), disk_->next).second) ++disk_->next;
  return file;
}

base::Result<void> FaultyFileSystem::write(const File& file, std::string_view bytes, std::uint64_t offset) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("write", fmt::format("{} bytes", bytes.size())));
  return linux_file_system().write(file, bytes, offset);
}

base::Result<void> FaultyFileSystem::truncate(const File& file, std::uint64_t size) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("truncate", fmt::format("to {}", size)));
  return linux_file_system().truncate(file, size);
}

base::Result<void> FaultyFileSystem::link(int fd, const std::string& to) {
  std::lock_guard lock(mutex_);
  auto from = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd)).string();
  LATHE_TRY_VOID(step("link", from, to));
  LATHE_TRY_VOID(linux_file_system().link(fd, to));
  auto known = disk_->live.find(relative(from));
  disk_->live[relative(to)] = known != disk_->live.end() ? known->second : disk_->next++;
  return {};
}

base::Result<void> FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("rename", from, to));
  LATHE_TRY_VOID(linux_file_system().rename(from, to));
  auto id = disk_->live.at(relative(from));
  disk_->live.erase(relative(from));
  disk_->live[relative(to)] = id;
  return {};
}

base::Result<void> FaultyFileSystem::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("remove", path));
  LATHE_TRY_VOID(linux_file_system().remove(path));
  disk_->live.erase(relative(path));
  return {};
}

base::Result<void> FaultyFileSystem::make_directory(const std::string& path, mode_t mode) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("mkdir", path));
  LATHE_TRY_VOID(linux_file_system().make_directory(path, mode));
  disk_->live_folders.insert(relative(path));
  return {};
}

base::Result<void> FaultyFileSystem::sync_file(const std::string& path) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("sync", path));
  // A file that was made behind our back (a log that is spliced) is known from its first sync on.
  auto [file, is_new] = disk_->live.try_emplace(relative(path), disk_->next);
  if (is_new) ++disk_->next;
  disk_->synced_bytes[file->second] = read_whole(path);
  return {};
}

base::Result<void> FaultyFileSystem::sync_directory(const std::string& path) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("sync-folder", path));
  disk_->sync_folder(relative(path));
  return {};
}

base::Result<void> FaultyFileSystem::sync_everything(const std::string& path) {
  std::lock_guard lock(mutex_);
  LATHE_TRY_VOID(step("sync-everything", path));
  for (const auto& [name, id] : disk_->live) disk_->synced_bytes[id] = read_whole(root_ / name);
  disk_->synced = disk_->live;
  disk_->synced_folders = disk_->live_folders;
  return {};
}

void FaultyFileSystem::restart(Loss loss) {
  std::lock_guard lock(mutex_);
  // What each file will hold: its synced bytes, padded with zeros where only its length reached the disk.
  std::map<Disk::FileId, Survivor> survivors;
  for (const auto& [id, bytes] : disk_->synced_bytes) survivors[id].bytes = bytes;
  for (const auto& [path, id] : disk_->live) {
    struct stat st{};
    if (::lstat((root_ / path).c_str(), &st) != 0) continue;
    auto& survivor = survivors[id];
    survivor.mode = st.st_mode & 07777;
    survivor.changed = st.st_mtim;
    auto size = static_cast<std::size_t>(st.st_size);
    if (loss == Loss::bytes_only && survivor.bytes.size() < size) survivor.bytes.resize(size, '\0');
    if (loss == Loss::torn) tear(survivor.bytes, read_whole(root_ / path));
  }
  if (loss == Loss::names_and_bytes) {
    disk_->live = disk_->synced;
    disk_->live_folders = disk_->synced_folders;
  }
  for (const auto& entry : std::filesystem::directory_iterator(root_)) std::filesystem::remove_all(entry.path());
  for (const auto& folder : disk_->live_folders) std::filesystem::create_directories(root_ / folder);
  std::map<Disk::FileId, std::string> written;
  std::erase_if(disk_->live, [&](const auto& entry) {
    return !entry.first.empty() && !std::filesystem::is_directory((root_ / entry.first).parent_path());
  });
  for (const auto& [path, id] : disk_->live) {
    auto target = root_ / path;
    if (auto [first, fresh] = written.try_emplace(id, path); !fresh) {
      std::filesystem::create_hard_link(root_ / first->second, target);
      continue;
    }
    const auto& survivor = survivors[id];
    std::ofstream(target, std::ios::binary) << survivor.bytes;
    ::chmod(target.c_str(), survivor.mode);
    timespec times[2] = {survivor.changed, survivor.changed};
    ::utimensat(AT_FDCWD, target.c_str(), times, 0);
    disk_->synced_bytes[id] = survivor.bytes;
  }
  disk_->synced = disk_->live;
  disk_->synced_folders = disk_->live_folders;
  cut_at_.reset();
  fail_at_.reset();
}

}  // namespace lathe::sys
