#include "cas/committer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <set>

#include "cas/blob_file.h"

namespace lathe::cas {

base::Result<void> Committer::commit(const std::vector<StagedBlob>& blobs) {
  if (blobs.empty()) return {};
  Waiting mine{blobs, std::nullopt};
  std::unique_lock lock(mutex_);
  queue_.push_back(&mine);
  while (!mine.outcome) {
    if (leading_) {
      round_over_.wait(lock);
      continue;
    }
    leading_ = true;
    auto group = std::exchange(queue_, {});
    lock.unlock();
    const auto refused =
        std::partition(group.begin(), group.end(), [&](auto* waiting) { return !has_stuck(*waiting); });
    auto outcome = run_round({group.begin(), refused});
    lock.lock();
    for (auto* waiting : std::ranges::subrange(group.begin(), refused)) waiting->outcome = outcome;
    for (auto* waiting : std::ranges::subrange(refused, group.end()))
      waiting->outcome = base::fail(
          base::Error(base::Code::io,
                      "the disk failed while a blob of these was being kept, and it is not known what it holds")
              .hint("check the disk, then restart the server"));
    ++rounds_;
    leading_ = false;
    round_over_.notify_all();
  }
  return std::move(*mine.outcome);
}

// Between two rounds only what could not be taken back is still denied.
bool Committer::has_stuck(const Waiting& waiting) const {
  return std::ranges::any_of(waiting.blobs, [&](const auto& blob) { return is_being_placed(blob.info.digest); });
}

// Rounds follow one another, so whatever is visible when one begins was made durable by an earlier one.
base::Result<void> Committer::run_round(const std::vector<Waiting*>& group) {
  std::vector<const StagedBlob*> fresh;
  std::vector<const StagedBlob*> surplus;
  std::unordered_set<base::Digest> seen;
  for (const auto* waiting : group)
    for (const auto& blob : waiting->blobs)
      (seen.insert(blob.info.digest).second && !present_(blob.info.digest) ? fresh : surplus).push_back(&blob);
  LATHE_TRY_VOID(watch_.check());
  LATHE_TRY_VOID(rewrite_doubtful(fresh));
  LATHE_TRY_VOID(watch_.note(sync_bytes(fresh)));
  LATHE_TRY_VOID(place(fresh));
  for (const auto* blob : surplus) (void)files_.remove(blob->path);  // swept at the next open if this fails
  return {};
}

base::Result<void> Committer::rewrite_doubtful(const std::vector<const StagedBlob*>& blobs) {
  for (const auto* blob : blobs) {
    struct stat st{};
    const bool has_failed =
        !doubtful_.empty() && ::stat(blob->path.c_str(), &st) == 0 && doubtful_.contains(st.st_ino);
    if (blob->rewrite || has_failed) LATHE_TRY_VOID(rewrite(*blob));
  }
  return {};
}

// The same name, another inode. What was read back must still be the blob: a page that was called clean and evicted
// comes back as whatever the disk holds.
base::Result<void> Committer::rewrite(const StagedBlob& blob) {
  const auto path = fmt::format("{}/again-{}", layout_.temporary(), blob.info.digest.hex());
  sys::File from(::open(blob.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!from) return base::fail(base::errno_error(errno, fmt::format("cannot open {}", blob.path)));
  auto copy = [&]() -> base::Result<void> {
    LATHE_TRY(auto to, files_.create(path, 0444));
    base::Sha256 hash;
    std::uint64_t offset = 0;
    base::Result<void> written;
    LATHE_TRY_VOID(read_pieces(from.fd(), blob.info.size, [&](std::string_view bytes) {
      if (!written) return;
      hash.update(bytes);
      written = files_.write(to, bytes, offset);
      offset += bytes.size();
    }));
    LATHE_TRY_VOID(std::move(written));
    if (hash.finish() != blob.info.digest)
      return base::fail(base::Code::corrupt, "the disk has lost bytes of the blob {}", blob.info.digest.hex());
    return files_.rename(path, blob.path);
  };
  auto copied = copy();
  if (!copied) (void)files_.remove(path);
  return copied;
}

base::Result<void> Committer::sync_bytes(const std::vector<const StagedBlob*>& blobs) {
  base::Result<void> synced;
  if (blobs.size() > kFewFiles) synced = files_.sync_everything(layout_.root());
  for (std::size_t i = 0; i < blobs.size() && blobs.size() <= kFewFiles && synced; ++i)
    synced = files_.sync_file(blobs[i]->path);
  if (synced) return synced;
  struct stat st{};
  for (const auto* blob : blobs)
    if (::stat(blob->path.c_str(), &st) == 0) doubtful_.insert(st.st_ino);
  return synced;
}

base::Result<void> Committer::place(const std::vector<const StagedBlob*>& blobs) {
  {
    std::lock_guard lock(placing_mutex_);
    for (const auto* blob : blobs) placing_.insert(blob->info.digest);
  }
  base::Result<void> outcome;
  std::vector<const StagedBlob*> placed;
  for (const auto* blob : blobs) {
    outcome = files_.rename(blob->path, layout_.blob(blob->info.digest));
    if (!outcome) break;
    placed.push_back(blob);
  }
  base::Result<void> named;
  if (outcome) outcome = named = sync_names(placed);
  std::unordered_set<base::Digest> stuck;
  if (!outcome)  // not known to be durable, so not to be seen: the callers own the bytes again
    for (const auto* blob : placed)
      if (!files_.rename(layout_.blob(blob->info.digest), blob->path)) stuck.insert(blob->info.digest);
  std::lock_guard lock(placing_mutex_);
  for (const auto* blob :
       blobs)  // what is stuck, in this round or an earlier one, stays denied until the store is opened again
    if (!stuck.contains(blob->info.digest)) placing_.erase(blob->info.digest);
  // Only now: the callback may end the process, and the next one must not find names that nobody knows to be on disk.
  (void)watch_.note(named);
  return outcome;
}

base::Result<void> Committer::sync_names(const std::vector<const StagedBlob*>& blobs) {
  std::set<std::string> folders;
  for (const auto* blob : blobs) folders.insert(layout_.folder(blob->info.digest));
  if (folders.size() > kFewFiles) return files_.sync_everything(layout_.root());
  for (const auto& folder : folders) LATHE_TRY_VOID(files_.sync_directory(folder));
  return {};
}

bool Committer::is_being_placed(const base::Digest& digest) const {
  std::lock_guard lock(placing_mutex_);
  return placing_.contains(digest);
}

std::uint64_t Committer::rounds() const {
  std::lock_guard lock(mutex_);
  return rounds_;
}

std::size_t Committer::waiting() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace lathe::cas
