#include "db/database.h"

#include "base/log.h"
#include "db/integrity.h"
#include "db/meta.h"
#include "db/migrate.h"
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

std::unique_ptr<Connection> open_for_writing(const std::filesystem::path& file) {
  auto connection = std::make_unique<Connection>(file, Connection::Mode::read_write);
  migrate(*connection);
  if (!stopped_cleanly(*connection)) {
    base::log::info("database-check", {{"why", "the last stop was not clean"}});
    check_integrity(*connection);
  }
  set_stopped(*connection, false);
  return connection;
}

}  // namespace

struct Database::Impl {
  Impl(const std::filesystem::path& file, rt::Executor& home_thread)
      : home(home_thread),
        writer(open_for_writing(file), stats,
               [this](const base::Error& error) {
                 home.post([kept = notice, error] {
                   kept->error = error;
                   kept->deliver();
                 });
               }),
        readers(file, kReaders) {}

  rt::Executor& home;
  std::shared_ptr<FatalNotice> notice = std::make_shared<FatalNotice>();
  CommitStats stats;
  Writer writer;
  Readers readers;
};

base::Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file, rt::Executor& home) {
  try {
    return std::unique_ptr<Database>(new Database(std::make_unique<Impl>(file, home)));
  } catch (base::Error& error) {
    return base::fail(std::move(error).during(fmt::format("opening the database {}", file.string())));
  }
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() { stop(); }

void Database::stop() {
  impl_->readers.stop();
  impl_->writer.stop();
}

const CommitStats& Database::stats() const { return impl_->stats; }

void Database::on_fatal(std::function<void(const base::Error&)> callback) {
  impl_->notice->callback = std::move(callback);
  impl_->notice->deliver();
}

void Database::submit_write(Work work, Done done) { impl_->writer.submit(std::move(work), std::move(done)); }
void Database::submit_read(Work work, Done done) { impl_->readers.submit(std::move(work), std::move(done)); }
rt::Executor& Database::home() { return impl_->home; }

}  // namespace lathe::db
