// Is this database whole? Throws corrupt with the first findings.
//
// When is it asked? Not before the doors open: that would make each restart after a kill as long as the database is
// large. What makes a start safe without it:
// - every page is checked against its checksum whenever it is read (db/checked_vfs.h), so damaged bytes are never used;
// - the log is checked up to the last acknowledged commit before it is replayed (db/log_check.h);
// - a kill cannot lose a write that the kernel has taken, and SQLite syncs before it acknowledges and before it
//   lets go of the log.
// What is left is a disk that lost a write it had confirmed: each page is whole, but they do not belong together.
// BackgroundCheck looks for that after every unclean stop, while the server works; until it is through, the database
// does not count as cleanly stopped, and the next start looks again.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include "base/error.h"
#include "db/sqlite.h"

namespace lathe::db {

// integrity_check and foreign_key_check: reads every page and every index, in one snapshot.
void check_integrity(Connection& connection);

// The thread "db-check": the same questions, a table at a time, so that no snapshot is held for long, with a
// low priority. Ends when it is through or with stop().
class BackgroundCheck {
 public:
  // `fatal` hears of damage, on this thread.
  BackgroundCheck(const std::filesystem::path& file, std::function<void(const base::Error&)> fatal);
  ~BackgroundCheck() { stop(); }
  void stop();
  // Through, and nothing was found.
  bool found_whole() const { return found_whole_; }

 private:
  void run();
  void check_tables();

  std::unique_ptr<Connection> connection_;
  std::function<void(const base::Error&)> fatal_;
  std::atomic<bool> found_whole_ = false, stopping_ = false;
  std::binary_semaphore over_{0};
  std::thread thread_;
};

}  // namespace lathe::db
