// LinkSource: what a mount in this run reads from the server: bytes of blobs and names of datastores. Thread-safe: each
// call takes a link that no other uses, and makes one when there is none. A server that is away is waited for, but not
// for ever: once it has been away for `patience`, calls that wait and later ones fail (a reader gets EIO), each after
// one try, so that they work again as soon as the server does.
#pragma once

#include <mutex>
#include <set>
#include <unordered_map>

#include "mount/blob_source.h"
#include "mount/name_source.h"
#include "runner/retry.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class LinkSource final : public mount::BlobSource {
 public:
  LinkSource(LinkFactory make_link, BackoffLimits backoff, base::Duration patience);

  base::Result<std::string> read(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) override;
  base::Result<cas::ChunkIndex> chunks(const base::Digest& digest) override;
  base::Result<mount::NamePage> names(const NameQuery& query);
  bool is_hashed(const base::Digest& digest) const override;
  // From now on `name` stands for this file, whatever its digest is.
  void remember(const base::Digest& name, DatastoreFile file);
  void interrupt() override;

 private:
  template <class Call>
  auto with_link(Call call) -> decltype(call(std::declval<ServerLink&>()));
  std::unique_ptr<ServerLink> take();
  void give(std::unique_ptr<ServerLink> link);
  // The server was not there for a call that began then. How much patience is left.
  base::Duration note_away(std::chrono::steady_clock::time_point since);
  void note_back();
  base::Duration patience_left() const;

  const LinkFactory make_link_;
  const BackoffLimits backoff_;
  const base::Duration patience_;
  const sys::Fd stop_event_;
  mutable std::mutex mutex_;
  std::unordered_map<base::Digest, DatastoreFile> unhashed_;  // as many as names were looked at
  std::vector<std::unique_ptr<ServerLink>> idle_;
  std::set<ServerLink*> busy_;
  bool interrupted_ = false;
  std::optional<std::chrono::steady_clock::time_point> away_since_;
};

// The names of one datastore.
class DatastoreNames final : public mount::NameSource {
 public:
  DatastoreNames(LinkSource& source, std::string workspace, std::string datastore)
      : source_(source), workspace_(std::move(workspace)), datastore_(std::move(datastore)) {}
  base::Result<mount::NamePage> list(const std::string& prefix, const std::string& after, int limit) override;

 private:
  LinkSource& source_;
  const std::string workspace_, datastore_;
};

}  // namespace lathe::runner
