#include "cas/materialize.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/strings.h"
#include "cas/beneath.h"
#include "cas/blob_file.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

std::string_view folder_of(std::string_view path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/') + 1, 1) - 1);
}
std::string name_of(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::unexpected<base::Error> cannot_make(std::string_view path) {
  int number = errno;
  return base::fail(base::errno_error(number, fmt::format("cannot make '{}'", base::printable(path))));
}

// Makes each folder of `path` that is not there; the descriptor of the last.
base::Result<sys::File> make_folders(int root_fd, std::string_view path) {
  sys::File here(::fcntl(root_fd, F_DUPFD_CLOEXEC, 0));
  for (auto part : base::split(path, '/')) {
    std::string name(part);
    if (::mkdirat(here.fd(), name.c_str(), 0777) != 0 && errno != EEXIST) return cannot_make(path);
    here = open_beneath(here.fd(), name, O_RDONLY | O_DIRECTORY);
    if (!here) return cannot_make(path);
  }
  return here;
}

}  // namespace

base::Result<std::unique_ptr<TreeWriter>> TreeWriter::create(Tree tree, const std::filesystem::path& folder) {
  for (const auto& entry : tree.entries) LATHE_TRY_VOID(check_tree_path(entry.path));
  LATHE_TRY_VOID(check_no_file_is_a_folder(tree));
  LATHE_TRY_VOID(check_tree_links(tree));
  sys::File root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return base::fail(base::errno_error(errno, fmt::format("cannot open {}", folder.string())));
  std::unique_ptr<TreeWriter> writer(new TreeWriter(std::move(tree), std::move(root)));
  const auto& entries = writer->tree_.entries;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].link_target.empty()) writer->pending_[entries[i].digest].push_back(i);
  return writer;
}

std::vector<BlobInfo> TreeWriter::wanted() const {
  std::vector<BlobInfo> blobs;
  for (std::size_t i = 0; i < tree_.entries.size(); ++i) {
    const auto& entry = tree_.entries[i];
    auto waiting = pending_.find(entry.digest);
    if (waiting != pending_.end() && waiting->second.front() == i) blobs.push_back({entry.digest, entry.size});
  }
  return blobs;
}

base::Result<int> TreeWriter::parent_of(std::string_view path) {
  auto folder = folder_of(path);
  if (folder.empty()) return root_.fd();
  if (parent_ && folder == parent_path_) return parent_.fd();
  parent_ = open_beneath(root_.fd(), std::string(folder), O_RDONLY | O_DIRECTORY);
  if (!parent_ && errno != ENOENT) return cannot_make(folder);
  if (!parent_) {
    LATHE_TRY(parent_, make_folders(root_.fd(), folder));
  }
  parent_path_ = folder;
  return parent_.fd();
}

base::Result<sys::File> TreeWriter::create_file(const TreeEntry& entry) {
  LATHE_TRY(int parent, parent_of(entry.path));
  mode_t mode = entry.executable ? 0777 : 0666;  // as the umask leaves it, like any file the user makes
  sys::File file(
      ::openat(parent, name_of(entry.path).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return cannot_make(entry.path);
  return file;
}

base::Result<void> TreeWriter::begin(std::optional<base::Digest> expected) {
  LATHE_CHECK(current_.empty(), "begin() before finish()");
  auto waiting = expected ? pending_.find(*expected) : pending_.end();
  if (waiting == pending_.end()) return base::fail(base::Code::corrupt, "a blob came that the tree does not wait for");
  current_ = std::move(waiting->second);
  pending_.erase(waiting);
  LATHE_TRY(file_, create_file(tree_.entries[current_.front()]));
  hash_ = {};
  written_ = 0;
  return {};
}

base::Result<void> TreeWriter::write(std::string_view bytes) {
  const auto& entry = tree_.entries[current_.front()];
  if (bytes.size() > entry.size - written_)
    return base::fail(base::Code::corrupt, "more bytes came for '{}' than its tree announces",
                      base::printable(entry.path));
  hash_.update(bytes);
  LATHE_TRY_VOID(sys::linux_file_system().write(file_, bytes, written_));
  written_ += bytes.size();
  return {};
}

base::Result<BlobInfo> TreeWriter::finish() {
  const auto& entry = tree_.entries[current_.front()];
  BlobInfo info{hash_.finish(), written_};
  if (info.digest != entry.digest || info.size != entry.size)
    return base::fail(base::Code::corrupt, "the bytes that came for '{}' are not those of its tree",
                      base::printable(entry.path));
  for (std::size_t i = 1; i < current_.size(); ++i) LATHE_TRY_VOID(copy_to(tree_.entries[current_[i]], file_));
  file_.reset();
  current_.clear();
  return info;
}

base::Result<void> TreeWriter::copy_to(const TreeEntry& entry, const sys::File& from) {
  if (entry.size != written_)
    return base::fail(base::Code::corrupt, "'{}' has another size than its blob", base::printable(entry.path));
  LATHE_TRY(auto to, create_file(entry));
  off_t in = 0, out = 0;
  while (static_cast<std::uint64_t>(in) < written_) {
    auto n = ::copy_file_range(from.fd(), &in, to.fd(), &out, written_ - static_cast<std::uint64_t>(in), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot_make(entry.path);
  }
  return {};
}

base::Result<void> TreeWriter::complete() {
  if (!pending_.empty() || !current_.empty())
    return base::fail(base::Code::corrupt, "{} blobs of the tree did not come", pending_.size());
  for (const auto& entry : tree_.entries) {
    if (entry.link_target.empty()) continue;
    LATHE_TRY(int parent, parent_of(entry.path));
    if (::symlinkat(entry.link_target.c_str(), parent, name_of(entry.path).c_str()) != 0)
      return cannot_make(entry.path);
  }
  return {};
}

base::Result<void> materialize(const Tree& tree, const std::filesystem::path& folder, const BlobOpener& source) {
  LATHE_TRY(auto writer, TreeWriter::create(tree, folder));
  for (const auto& blob : writer->wanted()) {
    LATHE_TRY(auto file, source(blob));
    LATHE_TRY_VOID(writer->begin(blob.digest));
    base::Result<void> written;
    LATHE_TRY_VOID(read_pieces(file.fd(), file.size(), [&](std::string_view bytes) {
      if (written) written = writer->write(bytes);
    }));
    LATHE_TRY_VOID(written);
    LATHE_TRY_VOID(writer->finish());
  }
  return writer->complete();
}

}  // namespace lathe::cas
