// Bringing all bytes of a dataset into the store as one tree. Home thread; files are read on the pool, URLs fetched on
// their own threads. May take longer than a lease: the caller holds leases (DiskStore::hold_leases) until it has stored
// a reference to the tree.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/url_cache.h"
#include "server/dataset_files.h"
#include "server/url_sources.h"

namespace lathe::server {

struct Materialized {
  base::Digest tree;
  std::int64_t files = 0, bytes = 0;
  std::vector<db::url_cache::Entry> urls;  // what each gave
};

// `said` hears of every URL before it is fetched, and of files and bytes so far.
struct MaterializeWatch {
  std::function<void(const std::string& url, std::int64_t files, std::int64_t bytes)> said;
  std::shared_ptr<TransferProgress> progress;
  rt::CancelToken cancel;
};

rt::Task<Materialized> materialize(Core& core, UrlSources& urls, DatasetFiles& files, MaterializeWatch watch);

}  // namespace lathe::server
