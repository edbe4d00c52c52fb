// Garbage collection by mark and sweep. A blob stays when a root reaches it or its lease has not run out; all others
// are removed. Safe at any interruption: a removal needs no other to be right, and nothing reachable is ever touched.
//
// The rule for whoever writes references: find() each blob first, then store the reference, within the lease. The lease
// is checked again at the moment of removal, so a collection that began earlier cannot take it away. Work that may take
// longer than a lease takes a LeaseHold first. Whether a lease has run out is asked of the store's own clock, which a
// jump of the wall clock does not move.
#pragma once

#include <chrono>
#include <unordered_map>

#include "cas/disk_store.h"

namespace lathe::cas {

struct Reference {
  base::Digest digest;
  bool is_tree = false;  // a tree manifest: everything it lists is reachable too
};

// Calls its argument with every reference that a database row or an open file holds.
using RootVisitor = std::function<base::Result<void>(const std::function<void(const Reference&)>&)>;

struct GcOptions {
  base::UtcTime expired_before;  // DiskStore::expired_before() of an hour or more, asked for before the roots were read
  bool dry_run = false;
  GoOn go_on{};  // asked for each manifest and blob; false ends it with Error(cancelled)
};

struct GcReport {
  std::uint64_t blobs = 0, bytes = 0;  // in the store when it was swept
  std::uint64_t reachable_blobs = 0, reachable_bytes = 0;
  std::uint64_t leased_blobs = 0, leased_bytes = 0;    // unreachable, kept for their lease
  std::uint64_t removed_blobs = 0, removed_bytes = 0;  // in a dry run: would be
  std::uint64_t removed_partials = 0, removed_partial_bytes = 0;
  std::vector<base::Digest> missing;  // referenced, but not in the store
  // How often each reachable blob is referenced, by roots and by the manifests they reach.
  std::unordered_map<base::Digest, std::uint32_t> references;
};

// Error(conflict) while a GcHold exists; Error(corrupt) without removing anything when a manifest cannot be read.
base::Result<GcReport> collect_garbage(DiskStore& store, const RootVisitor& roots, const GcOptions& options);

// Holds collection off, e.g. while a backup copies blobs; also from another process. Released with the object.
class GcHold {
 public:
  // Error(conflict) while a collection is going on.
  static base::Result<GcHold> acquire(const StoreLayout& layout);

 private:
  explicit GcHold(sys::File lock) : lock_(std::move(lock)) {}
  sys::File lock_;
};

}  // namespace lathe::cas
