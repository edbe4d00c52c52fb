// Database: SQLite behind one writer thread with group commit and a few reader threads.
// write(): the closure runs on the writer thread inside its own savepoint of a shared transaction; the awaiting
// coroutine goes on at home after COMMIT has reached the disk (WAL, synchronous=FULL). A closure that throws
// base::Error is rolled back alone. Load, decide and store in one closure: nobody can come between.
// A full disk fails the whole batch with no_space and nothing of it is stored; later writes work when space is back.
// A queue of kQueueLimit operations is full: unavailable.
// read(): the closure runs on a reader thread with a snapshot. No closure may do file, process or network work.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "db/operation.h"
#include "db/sqlite.h"
#include "rt/pool.h"
#include "rt/task.h"

namespace lathe::db {

class Database {
 public:
  // Checks the log, opens or creates, migrates, gives an old file its page checksums; after an unclean stop the whole
  // file is checked in the background (db/integrity.h). A newer schema is refused (unsupported), a damaged file too
  // (corrupt), each with a hint.
  static base::Result<std::unique_ptr<Database>> open(const std::filesystem::path& file, rt::Executor& home);
  ~Database();  // stop()
  // Commits what is queued, checkpoints, marks the stop as clean, joins the threads.
  void stop();

  template <class F>
  rt::Task<std::invoke_result_t<F, Connection&>> write(F work);
  template <class F>
  rt::Task<std::invoke_result_t<F, Connection&>> read(F work);

  const CommitStats& stats() const;
  // The last stop was clean, or the check of the whole file since then has found nothing.
  bool checked() const;
  // Called on the home thread, once, when a commit failed for good (EIO) or damage was found by whomever: the server
  // must stop. Every write after a failed one fails with the same error. Set it on the home thread.
  void on_fatal(std::function<void(const base::Error&)> callback);

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  void submit_write(Work work, Done done);
  void submit_read(Work work, Done done);
  rt::Executor& home();
  template <class F>
  rt::Task<std::invoke_result_t<F, Connection&>> run(void (Database::*submit)(Work, Done), F work);

  std::unique_ptr<Impl> impl_;
};

template <class F>
rt::Task<std::invoke_result_t<F, Connection&>> Database::run(void (Database::*submit)(Work, Done), F work) {
  using T = std::invoke_result_t<F, Connection&>;
  std::exception_ptr error;
  std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};
  co_await rt::ResumeOn{home(), [&](auto resume) {
                          (this->*submit)(
                              [&](Connection& connection) {
                                if constexpr (std::is_void_v<T>)
                                  work(connection);
                                else
                                  value.emplace(work(connection));
                              },
                              [&error, resume](std::exception_ptr failure) mutable {
                                error = std::move(failure);  // the last owner is at home
                                resume();
                              });
                        }};
  if (error) std::rethrow_exception(error);
  if constexpr (!std::is_void_v<T>) co_return std::move(*value);
}

template <class F>
rt::Task<std::invoke_result_t<F, Connection&>> Database::write(F work) {
  return run(&Database::submit_write, std::move(work));
}
template <class F>
rt::Task<std::invoke_result_t<F, Connection&>> Database::read(F work) {
  return run(&Database::submit_read, std::move(work));
}

}  // namespace lathe::db
