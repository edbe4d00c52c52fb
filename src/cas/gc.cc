#include "cas/gc.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "cas/folder_listing.h"
#include "cas/staging_folders.h"
#include "cas/tree.h"

namespace lathe::cas {
namespace {

base::Result<sys::File> lock_gc(const StoreLayout& layout, int operation, std::string_view held_by) {
  sys::File lock(::open(layout.gc_lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock) return base::fail(base::errno_error(errno, "cannot open the collection lock"));
  if (::flock(lock.fd(), operation | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return base::fail(base::errno_error(errno, "cannot take the collection lock"));
  return base::fail(base::Error(base::Code::conflict, fmt::format("{} is going on in this store", held_by))
                        .hint("try again when it is over"));
}

base::Result<void> check_wanted(const GcOptions& options) {
  if (!options.go_on || options.go_on()) return {};
  return base::fail(base::Code::cancelled, "the collection was stopped");
}

// What is reachable. A manifest met several times is expanded once; its entries count once for each file that names
// them.
base::Result<void> mark(DiskStore& store, const RootVisitor& roots, const GcOptions& options, GcReport& report) {
  std::vector<base::Digest> trees;
  std::unordered_map<base::Digest, bool> expanded;
  LATHE_TRY_VOID(roots([&](const Reference& reference) {
    ++report.references[reference.digest];
    if (reference.is_tree && expanded.try_emplace(reference.digest, true).second) trees.push_back(reference.digest);
  }));
  for (const auto& digest : trees) {
    LATHE_TRY_VOID(check_wanted(options));
    auto bytes = store.read(digest, kMaxTreeBytes);
    if (!bytes && bytes.error().code() == base::Code::not_found)
      return base::fail(
          base::Error(
              base::Code::corrupt,
              fmt::format("the manifest {} is referenced but not in the store; nothing was removed", digest.hex()))
              .hint("upload it again, restore it from a backup, or delete what refers to it"));
    if (!bytes) return base::fail(std::move(bytes).error().during("collecting garbage; nothing was removed"));
    LATHE_TRY(auto tree, decode_tree(*bytes));
    for (const auto& entry : tree.entries)
      if (entry.link_target.empty()) ++report.references[entry.digest];
  }
  return {};
}

base::Result<void> sweep(DiskStore& store, const GcOptions& options, GcReport& report) {
  std::uint64_t seen = 0;
  LATHE_TRY_VOID(store.for_each_blob([&](const StoredBlob& blob) -> base::Result<void> {
    LATHE_TRY_VOID(check_wanted(options));
    ++report.blobs;
    report.bytes += blob.info.size;
    if (report.references.contains(blob.info.digest)) {
      ++seen;
      ++report.reachable_blobs;
      report.reachable_bytes += blob.info.size;
      return {};
    }
    bool expired = blob.leased_at < options.expired_before;
    if (expired && !options.dry_run) {
      LATHE_TRY(expired, store.remove_if_unleased(blob.info.digest, options.expired_before));
    }
    ++(expired ? report.removed_blobs : report.leased_blobs);
    (expired ? report.removed_bytes : report.leased_bytes) += blob.info.size;
    return {};
  }));
  if (seen == report.references.size()) return {};
  for (const auto& [digest, count] : report.references)
    if (struct stat st{}; ::stat(store.layout().blob(digest).c_str(), &st) != 0) report.missing.push_back(digest);
  std::ranges::sort(report.missing);
  return {};
}

base::Result<void> sweep_partials(DiskStore& store, const GcOptions& options, GcReport& report) {
  LATHE_TRY(auto names, list_folder(store.layout().partial()));
  for (const auto& name : names) {
    auto path = store.layout().partial() + "/" + name;
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) continue;
    auto identity = FileIdentity::of(st);
    if (identity.modified_ns / 1000 >= options.expired_before.micros) continue;
    if (!options.dry_run) LATHE_TRY_VOID(store.files().remove(path));
    ++report.removed_partials;
    report.removed_partial_bytes += identity.size;
  }
  return {};
}

}  // namespace

base::Result<GcReport> collect_garbage(DiskStore& store, const RootVisitor& roots, const GcOptions& options) {
  LATHE_TRY(auto lock, lock_gc(store.layout(), LOCK_EX, "a backup or another collection"));
  GcReport report;
  LATHE_TRY_VOID(mark(store, roots, options, report));
  LATHE_TRY_VOID(sweep(store, options, report));
  LATHE_TRY_VOID(sweep_partials(store, options, report));
  if (!options.dry_run) LATHE_TRY_VOID(remove_staging(store.layout(), Staging::abandoned));
  return report;
}

base::Result<GcHold> GcHold::acquire(const StoreLayout& layout) {
  LATHE_TRY(auto lock, lock_gc(layout, LOCK_SH, "a collection"));
  return GcHold(std::move(lock));
}

}  // namespace lathe::cas
