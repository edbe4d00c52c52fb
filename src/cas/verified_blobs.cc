#include "cas/verified_blobs.h"

namespace lathe::cas {

bool VerifiedBlobs::contains(const base::Digest& digest, const FileIdentity& identity) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(digest);
  if (found == index_.end() || found->second->identity != identity) return false;
  recent_.splice(recent_.begin(), recent_, found->second);
  return true;
}

void VerifiedBlobs::insert(const base::Digest& digest, const FileIdentity& identity) {
  std::lock_guard lock(mutex_);
  if (auto found = index_.find(digest); found != index_.end()) {
    found->second->identity = identity;
    recent_.splice(recent_.begin(), recent_, found->second);
    return;
  }
  recent_.push_front({digest, identity});
  index_[digest] = recent_.begin();
  if (recent_.size() <= capacity_) return;
  index_.erase(recent_.back().digest);
  recent_.pop_back();
}

void VerifiedBlobs::renew(const base::Digest& digest, const FileIdentity& before, const FileIdentity& after) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(digest);
  if (found != index_.end() && found->second->identity == before) found->second->identity = after;
}

}  // namespace lathe::cas
