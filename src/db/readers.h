// Readers: a few threads "db-reader-N", each with a read-only connection. Every closure sees one snapshot.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "db/queue.h"

namespace lathe::db {

class Readers {
 public:
  Readers(const std::filesystem::path& file, int threads);
  ~Readers();  // stop()
  void submit(Work work, Done done) { queue_.push(std::move(work), std::move(done)); }
  // Answers what is queued, then joins the threads.
  void stop();

 private:
  void loop(Connection& connection);
  OperationQueue queue_{kQueueLimit};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::thread> threads_;
};

}  // namespace lathe::db
