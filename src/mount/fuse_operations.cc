// The callbacks of libfuse. Each answers its request exactly once and keeps nothing.
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "mount/fuse_state.h"

namespace lathe::mount {
namespace {

constexpr double kForever = 365.0 * 24 * 3600;
constexpr blksize_t kReadBytes = 64 * 1024;  // what a program that asks should read at once

FuseState& state_of(fuse_req_t request) {
  static const FuseLibrary* const library = *FuseLibrary::load();
  return *static_cast<FuseState*>(library->req_userdata(request));
}

struct stat attributes(const FuseState& state, const Node& node) {
  struct stat out{};
  out.st_ino = node.inode;
  out.st_nlink = node.kind == Node::Kind::folder ? 2 : 1;
  out.st_uid = ::geteuid();
  out.st_gid = ::getegid();
  out.st_blksize = kReadBytes;
  out.st_atim = out.st_mtim = out.st_ctim = state.time;
  switch (node.kind) {
    case Node::Kind::folder:
      out.st_mode = S_IFDIR | 0555;
      break;
    case Node::Kind::link:
      out.st_mode = S_IFLNK | 0777;
      out.st_size = static_cast<off_t>(node.link_target.size());
      break;
    case Node::Kind::file:
      out.st_mode = S_IFREG | (node.executable ? 0555u : 0444u);
      out.st_size = static_cast<off_t>(node.blob.size);
      out.st_blocks = static_cast<blkcnt_t>((node.blob.size + 511) / 512);
  }
  return out;
}

fuse_entry_param entry_of(const FuseState& state, const Node& node) {
  fuse_entry_param entry{};
  entry.ino = node.inode;
  entry.attr = attributes(state, node);
  entry.attr_timeout = entry.entry_timeout = kForever;
  return entry;
}

int errno_of(const base::Error& error) { return error.code() == base::Code::not_found ? ENOENT : EIO; }

void init(void*, fuse_conn_info* connection) {
  // Reads of one file come to several threads at once, and in large pieces.
  connection->max_background = 64;
  connection->congestion_threshold = 48;
  connection->max_readahead = 4 << 20;
  connection->want |= connection->capable & (FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_NO_OPEN_SUPPORT |
                                             FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_PARALLEL_DIROPS);
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  FuseState& state = state_of(request);
  auto found = state.tree.find(parent, name);
  fuse_entry_param entry{};
  if (found) {
    entry = entry_of(state, *found);
  } else if (found.error().code() == base::Code::not_found) {
    entry.entry_timeout = kForever;  // inode 0: remember that there is none
  } else {
    state.fuse.reply_err(request, EIO);
    return;
  }
  state.fuse.reply_entry(request, &entry);
}

void forget(fuse_req_t request, fuse_ino_t, std::uint64_t) { state_of(request).fuse.reply_none(request); }
void forget_multi(fuse_req_t request, std::size_t, fuse_forget_data*) { state_of(request).fuse.reply_none(request); }

void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  FuseState& state = state_of(request);
  auto node = state.tree.get(inode);
  if (!node) {
    state.fuse.reply_err(request, errno_of(node.error()));
    return;
  }
  const struct stat out = attributes(state, *node);
  state.fuse.reply_attr(request, &out, kForever);
}

void readlink(fuse_req_t request, fuse_ino_t inode) {
  FuseState& state = state_of(request);
  auto node = state.tree.get(inode);
  if (!node || node->kind != Node::Kind::link)
    state.fuse.reply_err(request, EINVAL);
  else
    state.fuse.reply_readlink(request, node->link_target.c_str());
}

// "Not implemented" tells the kernel to open from now on without asking and to keep what it has cached.
void open(fuse_req_t request, fuse_ino_t, fuse_file_info*) { state_of(request).fuse.reply_err(request, ENOSYS); }
void open_folder(fuse_req_t request, fuse_ino_t, fuse_file_info*) { state_of(request).fuse.reply_err(request, ENOSYS); }

void reply_bytes(FuseState& state, fuse_req_t request, const Node& file, std::uint64_t from, std::uint64_t end) {
  std::vector<Chunk> held;
  std::vector<iovec> pieces;
  for (std::uint64_t at = from; at < end;) {
    const std::uint64_t chunk = at / ChunkCache::kChunkBytes, inside = at % ChunkCache::kChunkBytes;
    auto bytes = state.cache.get(file.blob, chunk);
    if (!bytes) {
      base::log::warn("a mounted file cannot be read",
                      {{"digest", file.blob.digest.hex()}, {"error", bytes.error().text()}});
      state.fuse.reply_err(request, EIO);
      return;
    }
    state.ahead.saw(file, chunk);
    const std::uint64_t size = std::min<std::uint64_t>((*bytes)->size() - inside, end - at);
    pieces.push_back({const_cast<char*>((*bytes)->data()) + inside, size});
    held.push_back(std::move(*bytes));
    at += size;
  }
  state.fuse.reply_iov(request, pieces.data(), static_cast<int>(pieces.size()));
}

void read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info*) {
  FuseState& state = state_of(request);
  auto node = state.tree.get(inode);
  if (!node || node->kind != Node::Kind::file || offset < 0) {
    state.fuse.reply_err(request, EIO);
    return;
  }
  const auto from = std::min(static_cast<std::uint64_t>(offset), node->blob.size);
  reply_bytes(state, request, *node, from, std::min<std::uint64_t>(from + size, node->blob.size));
}

// Positions 1 and 2 are "." and ".."; an entry's own position is told as the one to go on from.
class Folder {
 public:
  Folder(FuseState& state, fuse_req_t request, std::size_t room, bool plus)
      : state_(state), request_(request), plus_(plus), buffer_(room, '\0') {}

  bool add(std::uint64_t next, const char* name, const Node& node, bool known) {
    char* at = buffer_.data() + used_;
    const std::size_t room = buffer_.size() - used_;
    fuse_entry_param entry = entry_of(state_, node);
    if (!known) entry.ino = 0;  // attributes only: the kernel takes no reference
    const std::size_t size =
        plus_ ? state_.fuse.add_direntry_plus(request_, at, room, name, &entry, static_cast<off_t>(next))
              : state_.fuse.add_direntry(request_, at, room, name, &entry.attr, static_cast<off_t>(next));
    if (size > room) return false;
    used_ += size;
    return true;
  }
  void reply() { state_.fuse.reply_buf(request_, buffer_.data(), used_); }

 private:
  FuseState& state_;
  fuse_req_t request_;
  const bool plus_;
  std::string buffer_;
  std::size_t used_ = 0;
};

void list(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, bool plus) {
  FuseState& state = state_of(request);
  Folder folder(state, request, size, plus);
  auto from = static_cast<std::uint64_t>(std::max<off_t>(offset, 0));
  Node self;
  self.inode = inode;
  bool room = true;
  if (from == 0) room = folder.add(1, ".", self, false);
  if (room && from <= 1) room = folder.add(2, "..", self, false);
  base::Result<void> listed;
  if (room)
    listed = state.tree.list(inode, from > 2 ? from - 2 : 0,
                             [&](std::uint64_t position, const std::string& name, const Node& node) {
                               return folder.add(position + 3, name.c_str(), node, true);
                             });
  if (!listed)
    state.fuse.reply_err(request, errno_of(listed.error()));
  else
    folder.reply();
}

void readdir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info*) {
  list(request, inode, size, offset, false);
}
void readdirplus(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info*) {
  list(request, inode, size, offset, true);
}

void statfs(fuse_req_t request, fuse_ino_t) {
  struct statvfs out{};
  out.f_bsize = out.f_frsize = 4096;
  out.f_namemax = 255;
  out.f_flag = ST_RDONLY | ST_NOSUID;
  state_of(request).fuse.reply_statfs(request, &out);
}

fuse_lowlevel_ops make_operations() {
  fuse_lowlevel_ops out{};
  out.init = init;
  out.lookup = lookup;
  out.forget = forget;
  out.forget_multi = forget_multi;
  out.getattr = getattr;
  out.readlink = readlink;
  out.open = open;
  out.read = read;
  out.opendir = open_folder;
  out.readdir = readdir;
  out.readdirplus = readdirplus;
  out.statfs = statfs;
  return out;
}

}  // namespace

const fuse_lowlevel_ops& fuse_operations() {
  static const fuse_lowlevel_ops operations = make_operations();
  return operations;
}

}  // namespace lathe::mount
