#include "db/integrity.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "base/log.h"

namespace lathe::db {

namespace {

constexpr int kNiceness = 19;
constexpr auto kInterruptEvery = std::chrono::milliseconds(5);

[[noreturn]] void damaged(const std::string& what) {
  throw base::Error(base::Code::corrupt, "the database is damaged: " + what)
      .hint("keep a copy of lathe.db and lathe.db-wal, then restore a backup: lathe restore");
}

void expect_ok(Statement check) {
  std::string findings;
  while (check.step()) {
    const std::string line = check.text(0);
    if (line != "ok") findings += (findings.empty() ? "" : "; ") + line;
  }
  if (!findings.empty()) damaged(findings);
}

void expect_parents(Statement references) {
  if (references.step())
    damaged(fmt::format("a row of {} has no parent in {}", references.text(0), references.text(2)));
}

std::vector<std::string> tables(Connection& connection) {
  std::vector<std::string> names;
  Statement row = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  while (row.step()) names.push_back(row.text(0));
  return names;
}

}  // namespace

void check_integrity(Connection& connection) {
  expect_ok(connection.prepare("PRAGMA integrity_check(3)"));
  expect_parents(connection.prepare("PRAGMA foreign_key_check"));
}

BackgroundCheck::BackgroundCheck(const std::filesystem::path& file, std::function<void(const base::Error&)> fatal)
    : connection_(std::make_unique<Connection>(file, Connection::Mode::read_only)), fatal_(std::move(fatal)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "db-check");
}

void BackgroundCheck::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  // Again and again: an interrupt that comes between two statements is forgotten.
  while (!over_.try_acquire_for(kInterruptEvery)) sqlite3_interrupt(connection_->raw());
  thread_.join();
}

void BackgroundCheck::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  try {
    check_tables();
    if (!stopping_) {
      found_whole_ = true;
      base::log::info("database-checked", {{"found", "whole"}});
    }
  } catch (const base::Error& error) {
    if (error.code() == base::Code::corrupt || connection_->broken())
      fatal_(error);
    else if (!stopping_)
      base::log::warn("database-not-checked", {{"error", error.text()}});
  }
  over_.release();
}

void BackgroundCheck::check_tables() {
  for (const std::string& table : tables(*connection_)) {
    if (stopping_) return;
    expect_ok(connection_->prepare(fmt::format("PRAGMA integrity_check('{}')", table)));
    expect_parents(connection_->prepare(fmt::format("PRAGMA foreign_key_check('{}')", table)));
  }
}

}  // namespace lathe::db
