#include "cas/committer.h"

#include <algorithm>
#include <ranges>
#include <set>

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
  LATHE_TRY_VOID(sync_bytes(fresh));
  LATHE_TRY_VOID(place(fresh));
  for (const auto* blob : surplus) (void)files_.remove(blob->path);  // swept at the next open if this fails
  return {};
}

base::Result<void> Committer::sync_bytes(const std::vector<const StagedBlob*>& blobs) {
  if (blobs.size() > kFewFiles) return files_.sync_everything(layout_.root());
  for (const auto* blob : blobs) LATHE_TRY_VOID(files_.sync_file(blob->path));
  return {};
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
  if (outcome) outcome = sync_names(placed);
  std::unordered_set<base::Digest> stuck;
  if (!outcome)  // not known to be durable, so not to be seen: the callers own the bytes again
    for (const auto* blob : placed)
      if (!files_.rename(layout_.blob(blob->info.digest), blob->path)) stuck.insert(blob->info.digest);
  std::lock_guard lock(placing_mutex_);
  for (const auto* blob :
       blobs)  // what is stuck, in this round or an earlier one, stays denied until the store is opened again
    if (!stuck.contains(blob->info.digest)) placing_.erase(blob->info.digest);
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
