#include "cas/snapshot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/log.h"
#include "base/strings.h"
#include "cas/beneath.h"
#include "cas/blob_file.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

constexpr int kTries = 3;

struct Hashed {
  base::Digest digest;
  FileStamp stamp;
};

std::unexpected<base::Error> unreadable(const std::string& path, int number) {
  auto code = number == EACCES || number == EPERM ? base::Code::forbidden : base::Code::io;
  return base::fail(
      base::Error(code, fmt::format("'{}' cannot be read: {}", base::printable(path), std::strerror(number)))
          .hint("make it readable, or list it in the ignore file")
          .field("path"));
}

// Hashes a file that holds still; one that is written to meanwhile is tried again. Nothing when it is gone.
base::Result<std::optional<Hashed>> hash_stable(int root_fd, const std::string& path, const FileDigester& digest_file) {
  for (int i = 0; i < kTries; ++i) {
    sys::File file = open_beneath(root_fd, path, O_RDONLY | O_NONBLOCK);  // a pipe put in its place must not block us
    if (!file && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return std::nullopt;
    if (!file) return unreadable(path, errno);
    struct stat before{}, after{};
    if (::fstat(file.fd(), &before) != 0) return unreadable(path, errno);
    if (!S_ISREG(before.st_mode)) return std::nullopt;
    auto stamp = FileStamp::of(before);
    auto digest = digest_file(file.fd(), stamp.size);
    if (::fstat(file.fd(), &after) != 0) return unreadable(path, errno);
    if (digest && FileStamp::of(after) == stamp) return Hashed{*digest, stamp};
    if (!digest && digest.error().code() != base::Code::corrupt)
      return base::fail(std::move(digest).error().during(fmt::format("reading '{}'", base::printable(path))));
  }
  return base::fail(
      base::Error(base::Code::conflict, fmt::format("'{}' changes while it is read", base::printable(path)))
          .hint("wait until nothing writes to it, or list it in the ignore file")
          .field("path"));
}

std::int64_t file_system_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the clock that stamps files
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

// The steps of taking one snapshot; lives as long as Snapshot::take().
class SnapshotTaker {
 public:
  SnapshotTaker(const SnapshotOptions& options, std::filesystem::path source) : options_(options) {
    snapshot_.source_ = std::move(source);
  }

  base::Result<Snapshot> run() {
    snapshot_.root_ = sys::File(::open(snapshot_.source_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!snapshot_.root_)
      return base::fail(
          base::errno_error(errno, fmt::format("cannot open the source folder {}", snapshot_.source_.string()))
              .field("source"));
    started_ = file_system_clock();
    {
      std::jthread loading([this] {
        if (options_.cache) cache_ = StatCache::load(*options_.cache);
      });
      LATHE_TRY(auto found, walk_source(snapshot_.root_.fd(), options_.limits));
      entries_ = std::move(found.entries), stamps_ = std::move(found.stamps);
    }
    look_up();
    LATHE_TRY_VOID(hash_unknown());
    count();
    if (is_unchanged()) {
      snapshot_.manifest_ = {cache_.tree().manifest, cache_.tree().manifest_size};
    } else {
      LATHE_TRY_VOID(make_manifest());
      save_cache();
    }
    return std::move(snapshot_);
  }

 private:
  // Both sides are sorted by path: one pass.
  void look_up() {
    StatCache::Cursor cached(cache_);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      auto& entry = entries_[i];
      if (!entry.link_target.empty()) continue;
      int order = -1;
      while (cached.get() && (order = cached.get()->path.compare(entry.path)) < 0) cached.advance();
      if (cached.get() && order == 0 && cached.get()->stamp == stamps_[i]) {
        entry.digest = cached.get()->digest;
        ++known_;
      } else {
        unknown_.push_back(i);
      }
    }
  }

  base::Result<void> hash_unknown() {
    if (unknown_.empty()) return {};
    auto digester = choose_digester();
    auto work = [&] {
      while (!failed_) {
        auto i = next_++;
        if (i >= unknown_.size()) return;
        auto hashed = hash_stable(snapshot_.root_.fd(), entries_[unknown_[i]].path, digester);
        std::lock_guard lock(mutex_);
        keep(unknown_[i], std::move(hashed));
      }
    };
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < options_.threads && t < unknown_.size(); ++t) helpers.emplace_back(work);
    work();
    helpers.clear();
    if (error_) return base::fail(std::move(*error_));
    forget_gone();
    return {};
  }

  // keep() took the paths of those that went meanwhile.
  void forget_gone() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].path.empty()) continue;
      if (kept != i) entries_[kept] = std::move(entries_[i]), stamps_[kept] = stamps_[i];
      ++kept;
    }
    entries_.resize(kept);
    stamps_.resize(kept);
  }

  FileDigester choose_digester() const {
    if (!options_.choose_digester) return [](int fd, std::uint64_t size) { return hash_file(fd, size); };
    std::uint64_t bytes = 0;
    for (auto i : unknown_) bytes += entries_[i].size;
    return options_.choose_digester(unknown_.size(), bytes);
  }

  void keep(std::size_t i, base::Result<std::optional<Hashed>> hashed) {
    auto& entry = entries_[i];
    if (!hashed) {
      // The first in the order of the tree is reported, whichever thread met it.
      if (!error_ || i < error_at_) error_.emplace(std::move(hashed).error());
      error_at_ = std::min(error_at_, i);
      failed_ = true;
    } else if (!*hashed) {
      entry.path.clear();  // gone meanwhile: as if the snapshot had been taken a moment later
    } else {
      entry.digest = (*hashed)->digest;
      stamps_[i] = (*hashed)->stamp;
      entry.size = stamps_[i].size;
      ++snapshot_.stats_.files_read;
      snapshot_.stats_.bytes_read += entry.size;
      if (options_.progress && snapshot_.stats_.files_read % 64 == 0) options_.progress(snapshot_.stats_);
    }
  }

  void count() {
    auto& stats = snapshot_.stats_;
    for (const auto& entry : entries_) {
      ++(entry.link_target.empty() ? stats.files : stats.links);
      stats.bytes += entry.link_target.empty() ? entry.size : 0;
    }
  }

  // The same files with the same stamps (which tell a changed mode, too) and the same links: the same manifest.
  bool is_unchanged() const {
    return cache_.size() > 0 && unknown_.empty() && known_ == cache_.size() && digest_links() == cache_.tree().links;
  }

  base::Digest digest_links() const {
    base::Sha256 hash;
    for (const auto& entry : entries_) {
      if (entry.link_target.empty()) continue;
      hash.update(std::string_view(entry.path.c_str(), entry.path.size() + 1));  // with the NUL, which parts them
      hash.update(std::string_view(entry.link_target.c_str(), entry.link_target.size() + 1));
    }
    return hash.finish();
  }

  base::Result<void> make_manifest() {
    const auto& tree = snapshot_.tree_;
    LATHE_TRY_VOID(check_no_file_is_a_folder(tree));
    LATHE_TRY_VOID(check_tree_links(tree));
    snapshot_.manifest_bytes_ = encode_tree(tree);
    if (snapshot_.manifest_bytes_.size() > kMaxTreeBytes)
      return base::fail(base::Error(base::Code::too_large, "the paths of this folder are too many and too long")
                            .hint("leave out what the run does not need with an ignore file"));
    snapshot_.manifest_ = {base::sha256(snapshot_.manifest_bytes_), snapshot_.manifest_bytes_.size()};
    return {};
  }

  void save_cache() {
    if (!options_.cache) return;
    StatCacheWriter writer({snapshot_.manifest_.digest, snapshot_.manifest_.size, digest_links()});
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].link_target.empty() && !stamps_[i].is_racy_at(started_))
        writer.add(entries_[i].path, stamps_[i], entries_[i].digest);
    if (auto saved = writer.save(*options_.cache); !saved)
      base::log::debug("snapshot-cache-not-saved", {{"error", saved.error().text()}});
  }

  const SnapshotOptions& options_;
  Snapshot snapshot_;
  std::int64_t started_ = 0;
  StatCache cache_;
  std::vector<TreeEntry>& entries_ = snapshot_.tree_.entries;
  std::vector<FileStamp>& stamps_ = snapshot_.stamps_;  // one for each entry
  std::vector<std::size_t> unknown_;                    // indices into both
  std::size_t known_ = 0;

  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what keep() touches
  std::optional<base::Error> error_;
  std::size_t error_at_ = SIZE_MAX;
};

base::Result<Snapshot> Snapshot::take(const std::filesystem::path& source, const SnapshotOptions& options) {
  return SnapshotTaker(options, source).run();
}

const Snapshot::BlobIndex& Snapshot::first_entry() const {
  std::call_once(lazy_->once, [this] {
    lazy_->index.reserve(tree_.entries.size());
    for (std::size_t i = 0; i < tree_.entries.size(); ++i)
      if (tree_.entries[i].link_target.empty()) lazy_->index.try_emplace(tree_.entries[i].digest, i);
  });
  return lazy_->index;
}

std::vector<BlobInfo> Snapshot::blobs() const {
  const auto& index = first_entry();
  std::vector<BlobInfo> blobs;
  blobs.reserve(index.size() + 1);
  for (std::size_t i = 0; i < tree_.entries.size(); ++i) {
    const auto& entry = tree_.entries[i];
    if (entry.link_target.empty() && index.at(entry.digest) == i) blobs.push_back({entry.digest, entry.size});
  }
  blobs.push_back(manifest_);
  return blobs;
}

base::Result<BlobFile> Snapshot::open(const BlobInfo& blob) const {
  if (blob.digest == manifest_.digest) {
    // An unchanged folder's manifest was not made before somebody wants its bytes.
    const auto bytes = manifest_bytes_.empty() ? encode_tree(tree_) : manifest_bytes_;
    BlobFile memory(::memfd_create("manifest", MFD_CLOEXEC), bytes.size());
    LATHE_TRY_VOID(sys::linux_file_system().write(sys::File(::dup(memory.fd())), bytes, 0));
    return memory;
  }
  auto found = first_entry().find(blob.digest);
  if (found == first_entry().end())
    return base::fail(base::Code::not_found, "the snapshot has no blob {}", blob.digest.hex());
  const auto& path = tree_.entries[found->second].path;
  sys::File file = open_beneath(root_.fd(), path, O_RDONLY | O_NONBLOCK);
  struct stat st{};
  if (!file || ::fstat(file.fd(), &st) != 0 || FileStamp::of(st) != stamps_[found->second])
    return base::fail(base::Error(base::Code::conflict,
                                  fmt::format("'{}' changed after the snapshot was taken", base::printable(path)))
                          .hint("submit again when nothing writes to the source folder")
                          .field("path"));
  return BlobFile(file.release(), blob.size);
}

}  // namespace lathe::cas
