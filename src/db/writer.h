// Writer: the thread "db-writer". It alone writes and checkpoints. Everything queued becomes one transaction (group
// commit), each operation in its own savepoint: one that throws is undone alone. `done` comes after COMMIT.
// Fails: a full disk fails the batch; an I/O error or corruption fails this and every later batch and is told to
// `fatal` once (on the writer thread).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "db/queue.h"

namespace lathe::db {

class Writer {
 public:
  using Fatal = std::function<void(const base::Error&)>;
  Writer(std::unique_ptr<Connection> connection, CommitStats& stats, Fatal fatal);
  ~Writer();  // stop()
  void submit(Work work, Done done) { queue_.push(std::move(work), std::move(done)); }
  // Commits what is queued, marks the stop as clean, empties the log file, closes.
  void stop();
  // The stop will not count as clean: the next start checks the file again. Before stop().
  void keep_unclean() { clean_ = false; }

 private:
  void loop();
  void run_batch(std::vector<Operation>& batch);
  std::optional<base::Error> try_batch(std::vector<Operation>& batch);
  void run_one(Operation& operation);
  void checkpoint(int mode);
  void note_failure(const base::Error& error);
  void finish();

  std::unique_ptr<Connection> connection_;
  CommitStats& stats_;
  Fatal fatal_;
  OperationQueue queue_{kQueueLimit};
  std::optional<base::Error> failed_;  // set once, by the fatal error
  bool unsettled_ = false;             // something was committed since the last checkpoint
  int wal_pages_ = 0;                  // pages in the log after the last commit
  int checkpointed_at_ = 0;            // value of wal_pages_ at the last checkpoint
  std::atomic<bool> clean_ = true;
  std::thread thread_;
};

}  // namespace lathe::db
