// UrlSources: web files as blobs of the store. Each URL is fetched once and revalidated afterwards (ETag, else
// Last-Modified); a transfer that breaks goes on where it stopped, also after a restart. The transfers run on threads
// of their own, which do not exist before the first one. Home thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "db/url_cache.h"
#include "net/url_fetch.h"
#include "rt/async_mutex.h"
#include "rt/cancel.h"
#include "rt/notifier.h"
#include "rt/pool.h"
#include "server/core.h"
#include "server/disk_budget.h"

namespace lathe::server {

// How far a transfer is; shared with its thread.
struct TransferProgress {
  explicit TransferProgress(rt::Executor& home) : changed(home) {}
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<bool> cancelled = false;
  rt::Notifier changed;  // home thread
};

class UrlSources {
 public:
  UrlSources(Core& core, DiskBudget& budget);
  // The blob that the URL gives now. Throws what net/url_fetch.h says, and `cancelled` when the token fires.
  rt::Task<db::url_cache::Entry> fetch(std::string url, std::shared_ptr<TransferProgress> progress,
                                       rt::CancelToken cancel);

 private:
  struct Fetched {
    net::FetchHead head;
    std::optional<cas::BlobInfo> blob;  // nothing: what we have is still right
  };
  // One transfer at a time for each URL; the entry goes with its last user.
  struct Turn {
    explicit Turn(rt::Executor& home) : mutex(home) {}
    rt::AsyncMutex mutex;
    int users = 0;
  };
  class TurnUse;
  // On a thread of the pool.
  Fetched transfer(const std::string& url, const std::optional<db::url_cache::Entry>& known,
                   const std::shared_ptr<TransferProgress>& progress);
  rt::BlockingPool& pool();

  Core& core_;
  DiskBudget& budget_;
  net::FetchRules rules_;
  std::map<std::string, std::unique_ptr<Turn>> turns_;
  std::unique_ptr<rt::BlockingPool> pool_;
};

}  // namespace lathe::server
