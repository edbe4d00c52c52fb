// What the tests of this folder share: a temporary folder, a loop to run tasks on, a body writer that collects.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "cas/disk_store.h"
#include "db/database.h"
#include "net/http.h"
#include "rt/loop.h"
#include "rt/pool.h"
#include "rt/scope.h"
#include "support/temp_folder.h"

namespace lathe::server {

using support::TempFolder;

// Runs one task on the loop until it ends; what it throws comes out here.
inline void run_on(rt::Loop& loop, rt::Task<void> task) {
  std::exception_ptr failure;
  rt::Scope scope;
  scope.spawn("test", [](rt::Loop& home, rt::Task<void> inner, std::exception_ptr& error) -> rt::Task<void> {
    try {
      co_await std::move(inner);
    } catch (...) {
      error = std::current_exception();
    }
    home.stop();
  }(loop, std::move(task), failure));
  loop.run();
  if (failure) std::rethrow_exception(failure);
}

class Collector final : public net::BodyWriter {
 public:
  rt::Task<void> write(std::string_view bytes) override {
    text += bytes;
    co_return;
  }
  rt::Task<void> write_file(net::FileBody piece) override {
    std::string bytes(piece.length, '\0');
    auto got = ::pread(piece.fd, bytes.data(), bytes.size(), static_cast<off_t>(piece.offset));
    text += bytes.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    co_return;
  }
  std::string text;
};

}  // namespace lathe::server
