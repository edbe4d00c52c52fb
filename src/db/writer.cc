#include "db/writer.h"

#include <pthread.h>
#include <sqlite3.h>

#include "base/log.h"
#include "db/meta.h"

namespace lathe::db {

namespace {

constexpr int kCheckpointPages = 1024;  // 4 MiB of log
// Fewer stay in the log while idle: a commit after a checkpoint begins the log anew, which costs it a second sync.
constexpr int kIdleCheckpointPages = 64;
constexpr base::Duration kIdle = std::chrono::seconds(1);

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, CommitStats& stats, Fatal fatal)
    : connection_(std::move(connection)), stats_(stats), fatal_(std::move(fatal)) {
  sqlite3_wal_hook(
      connection_->raw(),
      [](void* pages, sqlite3*, const char*, int in_log) {
        *static_cast<int*>(pages) = in_log;
        return SQLITE_OK;
      },
      &wal_pages_);
  thread_ = std::thread([this] { loop(); });
  pthread_setname_np(thread_.native_handle(), "db-writer");
}

Writer::~Writer() { stop(); }

void Writer::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void Writer::loop() {
  while (true) {
    // One timed wait after work, to checkpoint in the first idle second; then asleep until there is work again.
    const bool settle = unsettled_ && wal_pages_ >= kIdleCheckpointPages;
    auto batch = queue_.take(kBatchLimit, settle ? std::optional(kIdle) : std::nullopt);
    if (!batch.empty()) {
      run_batch(batch);
      if (wal_pages_ < checkpointed_at_) checkpointed_at_ = 0;  // the log was begun anew
      if (wal_pages_ - checkpointed_at_ >= kCheckpointPages) checkpoint(SQLITE_CHECKPOINT_PASSIVE);
    } else if (queue_.closed()) {
      break;
    } else {
      checkpoint(SQLITE_CHECKPOINT_PASSIVE);
    }
  }
  finish();
}

void Writer::run_batch(std::vector<Operation>& batch) {
  const std::optional<base::Error> lost = failed_ ? failed_ : try_batch(batch);
  if (!lost) {
    unsettled_ = true;
    ++stats_.commits;
    stats_.operations += batch.size();
    if (batch.size() > stats_.largest_batch) stats_.largest_batch = batch.size();
  }
  for (Operation& operation : batch) {
    // Each gets an error of its own: an exception object must not be shared between threads.
    operation.done(lost ? std::make_exception_ptr(*lost) : std::move(operation.error));
  }
}

// Nothing when committed; else what every operation of the batch is told.
std::optional<base::Error> Writer::try_batch(std::vector<Operation>& batch) {
  std::optional<base::Error> lost;
  try {
    connection_->prepare("BEGIN IMMEDIATE").run();
    for (Operation& operation : batch) {
      run_one(operation);
      // A full disk inside a statement makes SQLite give up the whole transaction; after an I/O error we do.
      if (!connection_->in_transaction() || connection_->broken()) std::rethrow_exception(operation.error);
    }
    connection_->prepare("COMMIT").run();
  } catch (const base::Error& error) {
    lost = error;
  } catch (const std::exception& error) {
    lost = base::Error(base::Code::internal, fmt::format("the database could not commit: {}", error.what()));
  } catch (...) {
    lost = base::Error(base::Code::internal, "the database could not commit");
  }
  if (lost) {
    connection_->rollback();
    note_failure(*lost);
  }
  return lost;
}

void Writer::run_one(Operation& operation) {
  connection_->prepare("SAVEPOINT operation").run();
  try {
    operation.work(*connection_);
    connection_->prepare("RELEASE operation").run();
  } catch (...) {
    operation.error = std::current_exception();
    if (!connection_->in_transaction()) return;
    connection_->prepare("ROLLBACK TO operation").run();
    connection_->prepare("RELEASE operation").run();
  }
}

void Writer::note_failure(const base::Error& error) {
  base::log::error("database-write-failed", {{"error", error.text()}});
  if (!connection_->broken() || failed_) return;
  failed_ = error;
  fatal_(error);
}

void Writer::checkpoint(int mode) {
  int in_log = 0, moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection_->raw(), nullptr, mode, &in_log, &moved);
  unsettled_ = false;
  checkpointed_at_ = wal_pages_;  // a failed or partial one is tried again after as much new work
  if (code == SQLITE_OK) {
    stats_.checkpoint_pages += moved;
  } else if (code != SQLITE_BUSY) {
    try {
      connection_->fail(code, "checkpoint");
    } catch (const base::Error& error) {
      note_failure(error);
    }
  }
}

void Writer::finish() {
  try {
    if (!failed_) {
      if (clean_) set_stopped(*connection_, true);
      checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
    }
  } catch (const base::Error& error) {
    base::log::warn("database-stop-not-marked", {{"error", error.text()}});
  }
  connection_.reset();
}

}  // namespace lathe::db
