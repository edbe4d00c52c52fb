#include "cas/source_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/strings.h"
#include "cas/beneath.h"
#include "cas/blob_file.h"
#include "cas/ignore.h"

namespace lathe::cas {
namespace {

constexpr std::size_t kManyFolders = 8;  // from here on a second thread is worth its start
constexpr unsigned kMostThreads = 4;
constexpr off_t kMaxIgnoreFile = 4 << 20;
constexpr std::string_view kIgnoreHint = "list it in the ignore file, or remove it";

struct Child {
  std::string name;
  FileStamp stamp;
  mode_t mode = 0;
  bool is_folder() const { return S_ISDIR(mode); }
};

std::unexpected<base::Error> refuse(base::Code code, std::string_view path, std::string_view why) {
  return base::fail(base::Error(code, fmt::format("'{}' {}", base::printable(path), why))
                        .hint(std::string(kIgnoreHint))
                        .field("path"));
}

std::string_view kind_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "is a named pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a device";
}

class Walk {
 public:
  Walk(int root_fd, const SourceLimits& limits) : root_fd_(root_fd), limits_(limits) {}

  base::Result<FoundFiles> run() {
    struct stat st{};
    if (::fstatat(root_fd_, ".amlignore", &st, AT_SYMLINK_NOFOLLOW) != 0) ignore_name_ = ".gitignore";
    LATHE_TRY_VOID(enter("", 0));
    return std::move(found_);
  }

 private:
  base::Result<void> enter(const std::string& folder, std::size_t depth) {
    if (depth > limits_.depth)
      return refuse(base::Code::too_large, folder, fmt::format("is more than {} folders deep", limits_.depth));
    sys::File fd = open_beneath(root_fd_, folder, O_RDONLY | O_DIRECTORY);
    if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return {};  // gone or replaced meanwhile
    if (!fd)
      return refuse(errno == EACCES ? base::Code::forbidden : base::Code::io, folder,
                    fmt::format("cannot be listed: {}", std::strerror(errno)));
    LATHE_TRY(bool has_rules, read_rules(fd.fd(), folder));
    LATHE_TRY(auto children, list(std::move(fd), folder));
    if (!alone_ && static_cast<std::size_t>(std::ranges::count_if(children, &Child::is_folder)) >= kManyFolders) {
      LATHE_TRY_VOID(take_side_by_side(children, folder, depth));
    } else {
      for (auto& child : children) LATHE_TRY_VOID(take(child, join(folder, child.name), depth));
    }
    if (has_rules) rules_.pop();
    return {};
  }

  // A warm tree is all system calls, so several threads look at it, each at one child at a time. What they find is put
  // together in the order of the children, and the first error in that order is the one reported.
  base::Result<void> take_side_by_side(const std::vector<Child>& children, const std::string& folder,
                                       std::size_t depth) {
    std::vector<base::Result<FoundFiles>> parts(children.size());
    std::atomic<std::size_t> next = 0;
    auto work = [&] {
      Walk own(root_fd_, limits_);
      own.ignore_name_ = ignore_name_, own.rules_ = rules_, own.alone_ = true;
      for (std::size_t i; (i = next++) < children.size();) {
        auto taken = own.take(children[i], join(folder, children[i].name), depth);
        if (taken)
          parts[i] = std::exchange(own.found_, {});
        else
          parts[i] = base::fail(std::move(taken).error()), next = children.size();
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (unsigned t = 1; t < std::min(kMostThreads, std::thread::hardware_concurrency()); ++t)
        helpers.emplace_back(work);
      work();
    }
    return put_together(parts);
  }

  base::Result<void> put_together(std::vector<base::Result<FoundFiles>>& parts) {
    std::size_t total = found_.entries.size();
    for (auto& part : parts) {
      if (!part) return base::fail(std::move(part).error());
      if (part->entries.size() > limits_.entries - total)
        return refuse_another(part->entries[limits_.entries - total].path);
      total += part->entries.size();
    }
    found_.entries.reserve(total);
    found_.stamps.reserve(total);
    for (auto& part : parts) {
      std::ranges::move(part->entries, std::back_inserter(found_.entries));
      found_.stamps.insert(found_.stamps.end(), part->stamps.begin(), part->stamps.end());
      part = FoundFiles();  // its memory serves the next ones
    }
    return {};
  }

  base::Result<void> refuse_another(const std::string& path) const {
    return refuse(base::Code::too_large, path,
                  fmt::format("is one entry too many: a snapshot holds {}", limits_.entries));
  }

  static std::string join(const std::string& folder, const std::string& name) {
    if (folder.empty()) return name;
    std::string path;
    path.reserve(folder.size() + 1 + name.size());
    return path.append(folder).append(1, '/').append(name);
  }

  base::Result<bool> read_rules(int fd, const std::string& folder) {
    sys::File file(::openat(fd, ignore_name_, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return false;
    auto path = join(folder, ignore_name_);
    struct stat st{};
    if (!file && errno == ELOOP)
      return refuse(base::Code::invalid, path, "is a symbolic link; an ignore file must be a plain file");
    if (!file || ::fstat(file.fd(), &st) != 0)
      return refuse(base::Code::forbidden, path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (!S_ISREG(st.st_mode)) return false;  // git ignores a folder of that name, too
    if (st.st_size > kMaxIgnoreFile) return refuse(base::Code::too_large, path, "is too large for an ignore file");
    std::string text;
    LATHE_TRY_VOID(
        read_pieces(file.fd(), static_cast<std::uint64_t>(st.st_size), [&](std::string_view piece) { text += piece; }));
    rules_.push(folder, IgnoreFile(text));
    return true;
  }

  // What is not ignored, in the order of the full paths: a folder sorts as if its name ended in a slash.
  base::Result<std::vector<Child>> list(sys::File fd, const std::string& folder) {
    DIR* stream = ::fdopendir(fd.fd());
    if (stream == nullptr)
      return refuse(base::Code::io, folder, fmt::format("cannot be listed: {}", std::strerror(errno)));
    (void)fd.release();  // closed with the stream
    std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, ::closedir);
    std::vector<Child> children;
    children.reserve(128);
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name == ".git") continue;
      struct stat st{};
      if (::fstatat(::dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
      Child child{.name = std::string(name), .stamp = FileStamp::of(st), .mode = st.st_mode};
      if (!rules_.empty() && rules_.ignores(join(folder, child.name), child.is_folder())) continue;
      children.push_back(std::move(child));
    }
    std::ranges::sort(children, [](const Child& a, const Child& b) {
      auto common = std::min(a.name.size(), b.name.size());
      if (int order = std::memcmp(a.name.data(), b.name.data(), common); order != 0) return order < 0;
      auto next = [&](const Child& c) {
        return c.name.size() > common ? static_cast<unsigned char>(c.name[common]) : c.is_folder() ? '/' : 0;
      };
      return next(a) < next(b);
    });
    return children;
  }

  base::Result<void> take(const Child& child, std::string path, std::size_t depth) {
    if (child.is_folder()) return enter(path, depth + 1);
    if (auto good = check_tree_path(path); !good)
      return base::fail(std::move(good).error().hint("rename it, or " + std::string(kIgnoreHint)));
    if (found_.entries.size() == limits_.entries) return refuse_another(path);
    TreeEntry entry;
    if (S_ISREG(child.mode)) {
      entry.size = child.stamp.size;
      entry.executable = (child.mode & S_IXUSR) != 0;
    } else if (S_ISLNK(child.mode)) {
      char target[4096];
      auto n = ::readlinkat(root_fd_, path.c_str(), target, sizeof target);
      if (n <= 0) return {};  // gone meanwhile
      entry.link_target.assign(target, static_cast<std::size_t>(n));
    } else {
      return refuse(base::Code::invalid, path,
                    fmt::format("{}; a snapshot holds files, folders and symbolic links", kind_name(child.mode)));
    }
    entry.path = std::move(path);
    found_.entries.push_back(std::move(entry));
    found_.stamps.push_back(child.stamp);
    return {};
  }

  const int root_fd_;
  const SourceLimits& limits_;
  const char* ignore_name_ = ".amlignore";
  IgnoreRules rules_;
  FoundFiles found_;
  bool alone_ = false;  // already one of several threads
};

}  // namespace

base::Result<FoundFiles> walk_source(int root_fd, const SourceLimits& limits) { return Walk(root_fd, limits).run(); }

}  // namespace lathe::cas
