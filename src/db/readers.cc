#include "db/readers.h"

#include <pthread.h>

namespace lathe::db {

namespace {

std::exception_ptr read_snapshot(Connection& connection, Work& work, const Readers::Fatal& fatal) {
  try {
    connection.prepare("BEGIN").run();
    work(connection);
    connection.prepare("COMMIT").run();
    return nullptr;
  } catch (const base::Error& error) {
    connection.rollback();
    if (connection.broken()) fatal(error);
    return std::current_exception();
  } catch (...) {
    connection.rollback();
    return std::current_exception();
  }
}

}  // namespace

Readers::Readers(const std::filesystem::path& file, int threads, Fatal fatal) : fatal_(std::move(fatal)) {
  for (int i = 0; i < threads; ++i) {
    connections_.push_back(std::make_unique<Connection>(file, Connection::Mode::read_only));
  }
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, connection = connections_[i].get()] { loop(*connection); });
    pthread_setname_np(threads_.back().native_handle(), fmt::format("db-reader-{}", i).c_str());
  }
}

Readers::~Readers() { stop(); }

void Readers::stop() {
  queue_.close();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  connections_.clear();
}

void Readers::loop(Connection& connection) {
  while (true) {
    auto taken = queue_.take(1);
    if (taken.empty()) return;
    Operation& operation = taken.front();
    operation.done(read_snapshot(connection, operation.work, fatal_));
  }
}

}  // namespace lathe::db
