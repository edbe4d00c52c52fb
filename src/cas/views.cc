#include "cas/views.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxManifest = 4ull << 30;
constexpr std::string_view kDraft = "new.";

std::unexpected<base::Error> cannot(std::string_view doing, std::string_view path) {
  const int number = errno;
  return base::fail(base::errno_error(number, fmt::format("{} '{}'", doing, base::printable(path))));
}

base::UtcTime modified(const struct stat& status) {
  return {status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000};
}

// Where a link is not to be had (too many of one blob, an executable, whose rights the blob does not have).
base::Result<void> copy_blob(const BlobFile& blob, const std::string& to, mode_t mode) {
  sys::File out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!out) return cannot("making", to);
  off_t from = 0;
  while (static_cast<std::uint64_t>(from) < blob.size()) {
    auto n = ::copy_file_range(blob.fd(), &from, out.fd(), nullptr, blob.size() - static_cast<std::uint64_t>(from), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot("copying", to);
  }
  return {};
}

}  // namespace

base::Result<Views> Views::open(const fs::path& root, DiskStore& store) {
  std::error_code failed;
  fs::create_directories(root, failed);
  if (failed) return base::fail(base::errno_error(failed.value(), fmt::format("making {}", root.string())));
  ::chmod(root.c_str(), 0700);
  for (const auto& entry : fs::directory_iterator(root, failed))
    if (entry.path().filename().string().starts_with(kDraft)) fs::remove_all(entry.path(), failed);
  return Views(root, store);
}

fs::path Views::draft_path() { return root_ / fmt::format("{}{}", kDraft, next_++); }

base::Result<fs::path> Views::get(const base::Digest& tree) {
  const fs::path folder = root_ / tree.hex();
  const std::uint64_t removals = store_->removals();
  fs::path draft;
  bool is_made = false;
  {
    std::lock_guard lock(*changing_);
    is_made = ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0) == 0;
    auto checked = checked_.find(tree);
    if (is_made && checked != checked_.end() && checked->second == removals) return folder;
    draft = draft_path();
  }
  auto done = is_made ? repair(tree, folder) : build(tree, draft);
  std::lock_guard lock(*changing_);
  const bool named = done && (is_made || ::rename(draft.c_str(), folder.c_str()) == 0);
  const int number = errno;
  std::error_code ignored;
  if (!named && !is_made) fs::remove_all(draft, ignored);
  if (!done) return base::fail(std::move(done).error());
  errno = number;
  if (!named && number != ENOTEMPTY && number != EEXIST) return cannot("naming", folder.string());
  if (named) checked_[tree] = removals;  // else another was faster
  return folder;
}

base::Result<Tree> Views::read_tree(const base::Digest& digest) {
  LATHE_TRY(std::string manifest, store_->read(digest, kMaxManifest));
  LATHE_TRY(Tree tree, decode_tree(manifest));
  LATHE_TRY_VOID(check_no_file_is_a_folder(tree));
  LATHE_TRY_VOID(check_tree_links(tree));
  return tree;
}

base::Result<void> Views::put_file(const TreeEntry& entry, const fs::path& path) {
  LATHE_TRY(BlobFile blob, store_->open(entry.digest));
  if (blob.size() != entry.size)
    return base::fail(base::Code::corrupt, "'{}' has another size than its blob", base::printable(entry.path));
  if (!entry.executable && store_->files().link(blob.fd(), path)) return {};
  return copy_blob(blob, path, entry.executable ? 0555 : 0444);
}

base::Result<void> Views::build(const base::Digest& digest, const fs::path& folder) {
  LATHE_TRY(Tree tree, read_tree(digest));
  if (::mkdir(folder.c_str(), 0755) != 0) return cannot("making", folder.string());
  fs::path made = folder;
  for (const auto& entry : tree.entries) {
    const fs::path path = folder / entry.path;
    std::error_code failed;
    if (path.parent_path() != made) fs::create_directories(made = path.parent_path(), failed);
    if (failed) return base::fail(base::errno_error(failed.value(), fmt::format("making {}", made.string())));
    if (entry.link_target.empty()) {
      LATHE_TRY_VOID(put_file(entry, path));
    } else if (::symlink(entry.link_target.c_str(), path.c_str()) != 0) {
      return cannot("linking", entry.path);
    }
  }
  return {};
}

base::Result<void> Views::repair(const base::Digest& digest, const fs::path& folder) {
  LATHE_TRY(Tree tree, read_tree(digest));
  for (const auto& entry : tree.entries) {
    if (!entry.link_target.empty()) continue;
    const fs::path path = folder / entry.path;
    struct stat here{}, stored{};
    const bool is_here = ::stat(path.c_str(), &here) == 0;
    const bool is_stored = ::stat(store_->layout().blob(entry.digest).c_str(), &stored) == 0;
    if (is_here && is_stored && (here.st_ino == stored.st_ino || entry.executable)) continue;  // those are copies
    fs::path draft;
    {
      std::lock_guard lock(*changing_);
      draft = draft_path();
    }
    auto put = put_file(entry, draft);
    if (put && ::rename(draft.c_str(), path.c_str()) == 0) continue;
    const int number = errno;
    ::unlink(draft.c_str());
    if (!put) return put;
    errno = number;
    return cannot("replacing", entry.path);
  }
  return {};
}

std::vector<Views::Kept> Views::list() const {
  std::vector<Kept> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root_, failed)) {
    auto tree = base::Digest::parse(entry.path().filename().string());
    struct stat status{};
    if (!tree || ::stat(entry.path().c_str(), &status) != 0) continue;
    out.push_back({*tree, modified(status)});
  }
  return out;
}

bool Views::remove(const base::Digest& tree, base::UtcTime unused_since) {
  const fs::path folder = root_ / tree.hex();
  fs::path aside;
  {
    std::lock_guard lock(*changing_);
    struct stat status{};
    if (::stat(folder.c_str(), &status) != 0) return false;
    if (modified(status) >= unused_since) return false;
    aside = root_ / fmt::format("{}{}", kDraft, next_++);
    if (::rename(folder.c_str(), aside.c_str()) != 0) return false;
  }
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  return true;
}

}  // namespace lathe::cas
