#include "db/database.h"

#include "base/log.h"
#include "db/integrity.h"
#include "db/log_check.h"
#include "db/meta.h"
#include "db/migrate.h"
#include "db/page_conversion.h"
#include "db/readers.h"
#include "db/writer.h"

namespace lathe::db {

namespace {

constexpr int kReaders = 2;

// Home thread only. Shared, because the message may still be on its way when the Database is gone.
struct FatalNotice {
  std::function<void(const base::Error&)> callback;
  std::optional<base::Error> error;

  void deliver() {
    if (error && callback) std::exchange(callback, {})(*error);
  }
};

struct Opened {
  std::unique_ptr<Connection> connection;
  bool stopped_cleanly = false;  // by the server before
};

Opened open_for_writing(const std::filesystem::path& file) {
  check_log(file);
  auto connection = std::make_unique<Connection>(file, Connection::Mode::read_write);
  migrate(*connection);
  if (!connection->has_checksums()) {
    connection.reset();
    add_checksums(file);
    connection = std::make_unique<Connection>(file, Connection::Mode::read_write);
  }
  const bool cleanly = stopped_cleanly(*connection);
  set_stopped(*connection, false);
  return {std::move(connection), cleanly};
}

}  // namespace

struct Database::Impl {
  Impl(const std::filesystem::path& file, rt::Executor& home_thread, Opened opened)
      : home(home_thread),
        writer(std::move(opened.connection), stats, [this](const base::Error& error) { tell_fatal(error); }),
        readers(file, kReaders, [this](const base::Error& error) { tell_fatal(error); }) {
    if (opened.stopped_cleanly) return;
    base::log::info("database-check", {{"why", "the last stop was not clean"}});
    check.emplace(file, [this](const base::Error& error) { tell_fatal(error); });
  }
  // Any thread of the database. The first one counts.
  void tell_fatal(const base::Error& error) {
    home.post([kept = notice, error] {
      if (!kept->error) kept->error = error;
      kept->deliver();
    });
  }
  void stop() {
    if (check) check->stop();
    if (check && !check->found_whole()) writer.keep_unclean();
    readers.stop();
    writer.stop();
  }

  rt::Executor& home;
  std::shared_ptr<FatalNotice> notice = std::make_shared<FatalNotice>();
  CommitStats stats;
  Writer writer;
  Readers readers;
  std::optional<BackgroundCheck> check;
};

base::Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file, rt::Executor& home) {
  try {
    return std::unique_ptr<Database>(new Database(std::make_unique<Impl>(file, home, open_for_writing(file))));
  } catch (base::Error& error) {
    return base::fail(std::move(error).during(fmt::format("opening the database {}", file.string())));
  }
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() { stop(); }

void Database::stop() { impl_->stop(); }

const CommitStats& Database::stats() const { return impl_->stats; }
bool Database::checked() const { return !impl_->check || impl_->check->found_whole(); }

void Database::on_fatal(std::function<void(const base::Error&)> callback) {
  impl_->notice->callback = std::move(callback);
  impl_->notice->deliver();
}

void Database::submit_write(Work work, Done done) { impl_->writer.submit(std::move(work), std::move(done)); }
void Database::submit_read(Work work, Done done) { impl_->readers.submit(std::move(work), std::move(done)); }
rt::Executor& Database::home() { return impl_->home; }

}  // namespace lathe::db
