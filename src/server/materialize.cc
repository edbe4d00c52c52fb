#include "server/materialize.h"

#include <unistd.h>

#include <algorithm>

#include "cas/tree.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr std::size_t kBatch = 500;
constexpr std::size_t kMaxFiles = 10'000'000;
constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kAtOnce = 4;  // transfers of one dataset

// One file of a local folder into a batch; on the pool.
cas::BlobInfo copy_in(cas::Batch& batch, const LocalFolder& folder, const std::string& path) {
  auto file = base::value_or_throw(folder.open_file(path));
  base::value_or_throw(batch.begin(std::nullopt));
  std::string piece(kPiece, '\0');
  for (off_t at = 0;;) {
    auto got = ::pread(file.fd(), piece.data(), piece.size(), at);
    if (got < 0) throw base::errno_error(errno, path);
    if (got == 0) return base::value_or_throw(batch.finish());
    base::value_or_throw(batch.write(std::string_view(piece).substr(0, static_cast<std::size_t>(got))));
    at += got;
  }
}

// Files of local folders get their blobs.
Task<void> bring_local_files(Core& core, const DatasetFiles& files, std::vector<DatasetFile>& found) {
  bool any = std::ranges::any_of(found, [](const auto& file) { return file.url.empty() && !file.digest; });
  if (!any) co_return;
  core.reserve.require_room();
  co_await core.files.run(core.home, [&] {
    auto batch = core.store.begin_batch();
    for (auto& file : found) {
      if (!file.url.empty() || file.digest) continue;
      auto blob = copy_in(*batch, open_local(core, files.datastore(file.datastore)), file.stored_path);
      file.digest = blob.digest;
      file.size = static_cast<std::int64_t>(blob.size);
    }
    base::value_or_throw(batch->commit());
  });
}

// Files of the store may have been overwritten and collected since they were listed: each blob must be here. Renews
// their leases; the caller's hold keeps them until the tree is named.
Task<void> require_blobs(Core& core, const std::vector<DatasetFile>& found) {
  co_await core.files.run(core.home, [&] {
    for (const auto& file : found)
      if (!core.store.find(*file.digest))
        throw Error(Code::corrupt, fmt::format("the bytes of '{}' are not in the store", file.path))
            .hint("lathe store verify; then upload the file again");
  });
}

Task<base::Digest> store_tree(Core& core, cas::Tree& tree) {
  std::ranges::sort(tree.entries, {}, &cas::TreeEntry::path);
  auto repeated = std::ranges::adjacent_find(tree.entries, {}, &cas::TreeEntry::path);
  if (repeated != tree.entries.end())
    throw Error(Code::conflict, fmt::format("two files of the dataset are both named '/{}'", repeated->path))
        .hint("take them from one folder, or make two datasets");
  co_return co_await core.files.run(core.home, [&] {
    auto batch = core.store.begin_batch();
    auto info = base::value_or_throw(batch->put(cas::encode_tree(tree)));
    base::value_or_throw(batch->commit());
    return info.digest;
  });
}

// The URLs among these files, a few at a time. The first that fails ends the others.
Task<void> fetch_urls(UrlSources& urls, std::vector<DatasetFile>& found, const MaterializeWatch& watch,
                      Materialized& result) {
  std::vector<DatasetFile*> wanted;
  for (auto& file : found)
    if (!file.url.empty()) wanted.push_back(&file);
  std::vector<db::url_cache::Entry> entries(wanted.size());
  std::size_t next = 0;
  std::exception_ptr failed;
  auto work = [&]() -> Task<void> {
    while (next < wanted.size() && !failed) {
      const std::size_t mine = next++;
      watch.said(wanted[mine]->url, result.files, result.bytes);
      try {
        entries[mine] = co_await urls.fetch(wanted[mine]->url, watch.progress, watch.cancel);
      } catch (...) {
        if (!failed) failed = std::current_exception();
        watch.progress->cancelled = true;
      }
    }
  };
  rt::Scope scope;
  for (std::size_t i = 0; i < std::min(kAtOnce, wanted.size()); ++i) scope.spawn("fetch a URL of a dataset", work());
  if (scope.live() > 0) co_await scope.join();
  if (failed) std::rethrow_exception(failed);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i]->digest = entries[i].digest;
    wanted[i]->size = entries[i].size;
    result.urls.push_back(std::move(entries[i]));
  }
}

}  // namespace

Task<Materialized> materialize(Core& core, UrlSources& urls, DatasetFiles& files, MaterializeWatch watch) {
  Materialized result;
  cas::Tree tree;
  while (!files.is_over()) {
    watch.cancel.check();
    auto found = co_await files.next(kBatch);
    co_await fetch_urls(urls, found, watch, result);
    co_await bring_local_files(core, files, found);
    co_await require_blobs(core, found);
    for (const auto& file : found) {
      tree.entries.push_back({file.path.substr(1), *file.digest, static_cast<std::uint64_t>(*file.size), false, ""});
      result.bytes += *file.size;
    }
    result.files += static_cast<std::int64_t>(found.size());
    if (tree.entries.size() > kMaxFiles) throw Error(Code::too_large, "the dataset has more than 10,000,000 files");
    watch.said("", result.files, result.bytes);
  }
  if (tree.entries.empty())
    throw Error(Code::not_found, "the dataset has no files")
        .field("definition.sources")
        .hint("check its paths and patterns: lathe datastore list DATASTORE");
  result.tree = co_await store_tree(core, tree);
  co_return result;
}

}  // namespace lathe::server
