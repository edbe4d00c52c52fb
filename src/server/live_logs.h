// LiveLogs: the logs of attempts while they grow, and reading of any log from any offset.
// A log is a row of segments. The runner's current segment is a file in live/: either appended to from its requests, or
// a hard link of the very file in its spool (same machine), so that a gigabyte of output is written once. A sealed
// segment becomes a blob and a row; only the database and the store are needed to read it afterwards.
//
// A blob is never written again, so a segment becomes one by a hard link only when nobody can write to it any more and
// its bytes are known not to have failed a sync: its runner has said that it is complete, and this process itself
// linked or wrote all of it. Otherwise its bytes are copied: a segment that lay in live/ when this process began (the
// one before may have ended because the disk refused exactly this file, and a second sync of it would succeed without
// its bytes), one that was linked and then sent (the runner's own sync of it failed), and the rest of a lost runner,
// which may not be as dead as it seems. A file that has a second name elsewhere is never appended to.
//
// What came by request is synced within a second of being shown (LiveSync); a linked segment is synced by its runner.
// Home thread; file work on the pool. One coroutine at a time changes a stream.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cas/disk_store.h"
#include "compute/provider.h"
#include "db/database.h"
#include "net/http.h"
#include "rt/async_mutex.h"
#include "rt/notifier.h"
#include "rt/pool.h"
#include "server/live_sync.h"

namespace lathe::server {

// The log of one node task; `name` is what people see.
struct LogStream {
  compute::TaskName task;
  std::string name;
};

struct LogPosition {
  int segment = 0;         // the one that is open now
  std::uint64_t size = 0;  // of that segment
};

class LiveLogs {
 public:
  LiveLogs(std::filesystem::path folder, rt::Executor& home, rt::BlockingPool& pool, cas::DiskStore& store,
           db::Database& database);
  ~LiveLogs();

  rt::Task<LogPosition> position(LogStream stream);
  // Bytes that are already here are passed over; a hole is a conflict. Gives the segment's size afterwards.
  rt::Task<std::uint64_t> append(LogStream stream, int segment, std::uint64_t offset, std::string_view bytes);
  // The segment is the file `source` itself, which has grown to `size`. Unsupported when it cannot be linked.
  rt::Task<std::uint64_t> link(LogStream stream, int segment, std::uint64_t size, std::filesystem::path source);
  // The segment is complete: it becomes a blob and a row, durably. Idempotent.
  rt::Task<void> seal(LogStream stream, int segment, std::uint64_t size);

  // Seals whatever is there, because nothing more can come (the runner is lost). Does nothing for a silent task.
  rt::Task<void> seal_rest(LogStream stream);
  // The same for the end of a run, which a log that cannot be sealed must not hold up for ever: damage is logged. A
  // full disk is still an error, since room may come back.
  rt::Task<void> seal_or_give_up(LogStream stream);

  // Whether the logs of this attempt may still grow.
  bool is_live(std::int64_t run_sequence, int attempt) const { return live_.contains({run_sequence, attempt}); }
  // Total size so far.
  rt::Task<std::uint64_t> size(LogStream stream);
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = UINT64_MAX;  // at most
  };
  // Copies what is there of the part; with `follow` goes on until attempt_ended() or the token fires.
  rt::Task<void> copy(LogStream stream, Part part, bool follow, rt::CancelToken cancel, net::BodyWriter& out);

  // An attempt was placed: its streams may be followed before they have a byte.
  void attempt_started(std::int64_t run_sequence, int attempt);
  // What its runner's order says of the size of a segment. Not known of an attempt that claimed before this process
  // began: then the most that a site can say holds.
  void limit_segments(std::int64_t run_sequence, int attempt, std::uint64_t bytes);
  // Nothing comes any more: followers see the end, live files of the attempt are removed.
  rt::Task<void> attempt_ended(std::int64_t run_sequence, int attempt);
  // Removes live files of attempts that ended while no server was there to do it.
  rt::Task<void> sweep();

 private:
  struct Segment;
  struct Stream;
  using StreamPtr = std::shared_ptr<Stream>;
  rt::Task<StreamPtr> load(LogStream stream);
  static void require_growing(const Stream& stream);
  void require_room(const Stream& stream, std::uint64_t size) const;
  rt::Task<void> seal_as(LogStream id, int segment, std::uint64_t size, bool is_complete);
  std::filesystem::path file_of(const compute::TaskName& task, int segment) const;
  struct Reader;
  rt::Task<void> open_at(StreamPtr stream, std::uint64_t offset, Reader& reader);

  std::filesystem::path folder_;
  rt::Executor& home_;
  rt::BlockingPool& pool_;
  cas::DiskStore& store_;
  db::Database& database_;
  LiveSync sync_;
  std::map<std::pair<std::int64_t, int>, std::uint64_t> live_;  // (run, attempt) whose logs may grow: most of a segment
  std::map<std::string, StreamPtr> streams_;     // their streams, by task
};

}  // namespace lathe::server
