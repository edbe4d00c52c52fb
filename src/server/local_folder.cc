#include "server/local_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "cas/beneath.h"
#include "model/names.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Error;

constexpr int kMaxDepth = 256;

base::Error path_error(int number, const std::string& path) {
  // EXDEV, ELOOP: a ".." or a link wanted to leave the folder. For the caller there is no such file.
  if (number == EXDEV || number == ELOOP) number = ENOENT;
  return base::errno_error(number, base::printable(path)).field("path");
}

struct Entry {
  std::string name;  // a folder's ends with '/', so that names sort as whole paths do
  bool is_folder = false;
};

base::Result<std::vector<Entry>> read_folder(int root, const std::string& path) {
  auto folder = cas::open_beneath(root, path, O_RDONLY | O_DIRECTORY);
  if (!folder) return base::fail(path_error(errno, path));
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.fd()), ::closedir);
  if (!stream) return base::fail(path_error(errno, path));
  folder.release();
  std::vector<Entry> entries;
  while (const dirent* found = ::readdir(stream.get())) {
    std::string name = found->d_name;
    if (!model::check_artifact_path("path", name)) continue;  // also "." and ".."
    unsigned char type = found->d_type;
    if (type == DT_UNKNOWN) {
      struct stat status{};
      if (::fstatat(::dirfd(stream.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_LNK;
    }
    if (type == DT_DIR) entries.push_back({name + "/", true});
    if (type == DT_REG) entries.push_back({name, false});
  }
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

// One listing: a walk in the order of whole paths that skips what cannot match.
struct Walk {
  int root;
  std::string_view prefix, after;
  std::size_t limit;
  std::vector<LocalFile> found{};

  base::Result<void> enter(const std::string& folder, int depth) {
    if (depth > kMaxDepth) return {};
    auto entries = read_folder(root, folder);
    // A folder that vanishes, or that we may not read, holds nothing that we could show.
    if (!entries) return depth == 0 ? base::Result<void>(base::fail(std::move(entries).error())) : base::Result<void>();
    for (const auto& entry : *entries) {
      if (found.size() >= limit) return {};
      std::string path = folder + entry.name;
      if (entry.is_folder) {
        bool may_match = prefix.starts_with(path) || path.starts_with(prefix);
        bool is_behind = path > after || after.starts_with(path);
        if (may_match && is_behind) LATHE_TRY_VOID(enter(path, depth + 1));
      } else if (path > after && path.starts_with(prefix)) {
        add(path);
      }
    }
    return {};
  }

  void add(const std::string& path) {
    auto file = cas::open_beneath(root, path, O_PATH);
    struct stat status{};
    if (!file || ::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (path.size() > model::kMaxPathBytes) return;
    found.push_back({path,
                     static_cast<std::uint64_t>(status.st_size),
                     {status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000}});
  }
};

base::Result<void> make_parents(int root, const std::string& path) {
  for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    std::string folder = path.substr(0, slash);
    auto cut = folder.rfind('/');
    auto parent = cas::open_beneath(root, cut == folder.npos ? "" : folder.substr(0, cut), O_PATH | O_DIRECTORY);
    if (!parent) return base::fail(path_error(errno, path));
    std::string name = cut == folder.npos ? folder : folder.substr(cut + 1);
    if (::mkdirat(parent.fd(), name.c_str(), 0777) != 0 && errno != EEXIST) return base::fail(path_error(errno, path));
  }
  return {};
}

base::Result<void> copy_bytes(const cas::BlobFile& blob, int to) {
  off_t from = 0;
  while (static_cast<std::uint64_t>(from) < blob.size()) {
    auto copied = ::copy_file_range(blob.fd(), &from, to, nullptr, blob.size() - static_cast<std::uint64_t>(from), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return base::fail(base::errno_error(copied < 0 ? errno : EIO, "writing into the datastore"));
  }
  if (::fsync(to) != 0) return base::fail(base::errno_error(errno, "writing into the datastore"));
  return {};
}

}  // namespace

base::Result<LocalFolder> LocalFolder::open(const std::filesystem::path& folder,
                                            std::span<const std::filesystem::path> roots) {
  for (const auto& root : roots) {
    auto below = folder.lexically_relative(root);
    if (below.empty() || *below.begin() == "..") continue;
    sys::File base_folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!base_folder) return base::fail(path_error(errno, root.string()));
    auto opened = cas::open_beneath(base_folder.fd(), below == "." ? "" : below.string(), O_PATH | O_DIRECTORY);
    if (!opened) return base::fail(path_error(errno, folder.string()));
    return LocalFolder(std::move(opened));
  }
  return base::fail(Error(Code::forbidden, fmt::format("'{}' lies below no folder that this site lists for datastores",
                                                       base::printable(folder.string())))
                        .field("path")
                        .hint("an operator can add its root to config.yaml: datastores: {roots: [FOLDER]}"));
}

base::Result<std::vector<LocalFile>> LocalFolder::list(std::string_view prefix, std::string_view after,
                                                       std::size_t limit) const {
  Walk walk{folder_.fd(), prefix, after, limit};
  LATHE_TRY_VOID(walk.enter("", 0));
  return std::move(walk.found);
}

base::Result<cas::BlobFile> LocalFolder::open_file(const std::string& path) const {
  LATHE_TRY_VOID(model::check_artifact_path("path", path));
  auto file = cas::open_beneath(folder_.fd(), path, O_RDONLY | O_NONBLOCK);  // a pipe must not make us wait
  struct stat status{};
  if (!file || ::fstat(file.fd(), &status) != 0) return base::fail(path_error(errno, path));
  if (!S_ISREG(status.st_mode)) return base::fail(path_error(ENOENT, path));
  return cas::BlobFile(file.release(), static_cast<std::uint64_t>(status.st_size));
}

base::Result<bool> LocalFolder::write_file(const std::string& path, const cas::BlobFile& blob, bool overwrite) const {
  LATHE_TRY_VOID(model::check_artifact_path("path", path));
  if (!overwrite && cas::open_beneath(folder_.fd(), path, O_PATH)) return false;
  LATHE_TRY_VOID(make_parents(folder_.fd(), path));
  auto cut = path.rfind('/');
  std::string name = cut == path.npos ? path : path.substr(cut + 1);
  auto parent = cas::open_beneath(folder_.fd(), cut == path.npos ? "" : path.substr(0, cut), O_RDONLY | O_DIRECTORY);
  if (!parent) return base::fail(path_error(errno, path));
  std::string temporary = ".lathe-" + base::to_hex(base::random_bytes(8));
  sys::File file(::openat(parent.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) return base::fail(path_error(errno, path));
  auto done = copy_bytes(blob, file.fd());
  if (done && ::renameat(parent.fd(), temporary.c_str(), parent.fd(), name.c_str()) != 0)
    done = base::fail(path_error(errno, path));
  if (!done) {
    ::unlinkat(parent.fd(), temporary.c_str(), 0);
    return base::fail(std::move(done).error());
  }
  // Not every file system syncs folders (EINVAL); one that fails to has perhaps not kept the name.
  if (::fsync(parent.fd()) != 0 && errno != EINVAL) return base::fail(path_error(errno, path));
  return true;
}

}  // namespace lathe::server
