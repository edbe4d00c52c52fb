// ServerLink: everything a runner says to its server, for one attempt. Blocking; one link per thread (interrupt() alone
// may come from another). Every call may be repeated: a reply that got lost is asked for again. Errors: unavailable and
// timeout mean "later"; fenced means that this attempt is over and nothing of it counts any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/time.h"
#include "cas/chunk_index.h"
#include "model/run.h"
#include "mount/name_source.h"
#include "wire/order.h"

namespace lathe::runner {

using Order = wire::RunnerOrder;

struct LogPiece {
  std::string name;
  std::uint64_t segment = 0, offset = 0;
  std::string_view bytes;
  bool seal = false;  // the segment ends with these bytes
};

// The local shortcut: the segment's file in the spool has this size now.
struct LogNotice {
  std::string name;
  std::uint64_t segment = 0, size = 0;
  bool seal = false;
};

// The first byte that the server does not have.
struct LogStand {
  std::uint64_t segment = 0, offset = 0;
};

struct LogTotals {
  std::uint64_t segments = 0, size = 0;
};

// Whole lines of a metric journal.
struct MetricPiece {
  std::string source;
  std::uint64_t offset = 0;
  std::string_view lines;
};

struct Artifact {
  std::string path;
  base::Digest digest;
  std::uint64_t size = 0;
  bool executable = false;
};

// Files below it, in the run folder, are outputs for datastores: "<top>/NAME/path".
inline constexpr std::string_view kOutputTop = ".lathe-outputs";

struct NameQuery {
  std::string workspace, datastore, prefix, after;
  int limit = 0;
};

struct DatastoreFile {
  std::string workspace, datastore, path;
};

struct SmallBlob {
  base::Digest digest;
  std::string bytes;
};

struct FinishReport {
  model::ExitRecord exit;
  std::string log_name;
  LogTotals log;
};

// What the server wants of the attempt.
struct Wish {
  std::optional<model::EndReason> stop;  // empty: go on
  bool secrets = false;                  // there are some to be hidden: exchange_secrets()
};

// A secret that the script is about to be given. The id tells one value from another and nothing else.
struct SecretValue {
  std::string id, value;
};

// User and password of a private package index, by the name of the workspace's secret.
struct IndexCredential {
  std::string name, user, password;
};

class ServerLink {
 public:
  virtual ~ServerLink() = default;

  virtual base::Result<Order> claim() = 0;
  // Calls back with each wish until the stream ends; a callback that returns false ends it.
  virtual base::Result<void> watch(const std::function<bool(const Wish&)>& on_wish) = 0;
  // Tells which secrets this node hides in its log, and gets those that it does not; the script waits for them.
  virtual base::Result<std::vector<SecretValue>> exchange_secrets(std::span<const std::string> hidden) = 0;

  // For a build of the run's environment on this node; never to be kept.
  virtual base::Result<std::vector<IndexCredential>> index_credentials() = 0;

  virtual base::Result<LogStand> log_stand(const std::string& name) = 0;
  // The server's length of the segment afterwards. conflict when the piece would leave a hole; see log_stand().
  virtual base::Result<std::uint64_t> append_log(const LogPiece& piece) = 0;
  // unsupported: the server cannot see the spool; send bytes.
  virtual base::Result<void> link_log(const LogNotice& notice) = 0;

  // The first byte of the journal that the server does not have afterwards; without lines it is only asked for.
  // conflict when the piece would leave a hole.
  virtual base::Result<std::uint64_t> append_metrics(const MetricPiece& piece) = 0;

  virtual base::Result<std::vector<base::Digest>> missing_blobs(std::span<const base::Digest> digests) = 0;
  virtual base::Result<void> upload_pack(std::span<const SmallBlob> blobs) = 0;
  // A large file, resumed where an earlier try broke off. corrupt when its bytes are not those of the digest any more.
  virtual base::Result<void> upload_file(const base::Digest& digest, std::uint64_t size, int fd) = 0;
  // Names blobs as files of the run; those below kOutputTop as files of the datastores that its outputs name.
  virtual base::Result<void> put_artifacts(std::span<const Artifact> artifacts) = 0;
  // Says in the run what was done otherwise than asked.
  virtual base::Result<void> add_notes(std::span<const std::string> notes) = 0;

  virtual base::Result<void> report_finalizing(const model::ExitRecord& exit) = 0;
  virtual base::Result<void> finish(const FinishReport& report) = 0;

  virtual base::Result<std::string> fetch_tree(const base::Digest& digest) = 0;
  virtual base::Result<void> fetch_pack(const base::Digest& tree,
                                        const std::function<base::Result<void>(std::string_view)>& sink) = 0;

  // Parts of a blob, the digests of its chunks, and names of a datastore: what a mount reads.
  virtual base::Result<std::string> fetch_range(const base::Digest& digest, std::uint64_t offset,
                                                std::uint64_t size) = 0;
  virtual base::Result<cas::ChunkIndex> fetch_chunks(const base::Digest& digest) = 0;
  // Of a file of a datastore; fewer bytes when it has become shorter.
  virtual base::Result<std::string> fetch_file_range(const DatastoreFile& file, std::uint64_t offset,
                                                     std::uint64_t size) = 0;
  virtual base::Result<mount::NamePage> list_names(const NameQuery& query) = 0;

  // No later call waits longer than this without hearing anything; then it is a timeout.
  virtual void limit_waiting(base::Duration) {}

  // From another thread: the call that waits, or the next one that would, returns Error(cancelled).
  virtual void interrupt() = 0;
};

// A new link to the same attempt, for another thread.
using LinkFactory = std::function<std::unique_ptr<ServerLink>()>;

}  // namespace lathe::runner
