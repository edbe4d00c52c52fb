// Readers: a few threads "db-reader-N", each with a read-only connection. Every closure sees one snapshot.
// Damage or an I/O error that one meets is told to its caller and to `fatal`, on the reader's thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "db/queue.h"

namespace lathe::db {

class Readers {
 public:
  using Fatal = std::function<void(const base::Error&)>;
  Readers(const std::filesystem::path& file, int threads, Fatal fatal);
  ~Readers();  // stop()
  void submit(Work work, Done done) { queue_.push(std::move(work), std::move(done)); }
  // Answers what is queued, then joins the threads.
  void stop();

 private:
  void loop(Connection& connection);
  Fatal fatal_;
  OperationQueue queue_{kQueueLimit};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::thread> threads_;
};

}  // namespace lathe::db
