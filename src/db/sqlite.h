// A thin layer over SQLite: Connection and Statement. Throws base::Error: no_space for a full disk, io, corrupt,
// conflict for a broken constraint, unavailable for a lock that stayed taken.
// A Connection is used by one thread at a time. Statements are cached by their text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/digest.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::db {

class Connection;

// One execution of a prepared statement: bind, then step. Goes back to its connection's cache when destroyed.
class Statement {
 public:
  ~Statement();
  Statement(Statement&& other) noexcept;

  // Binds the next parameter, in order.
  Statement& bind(std::int64_t value);
  Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(const base::Digest& digest);  // as a 32-byte BLOB
  Statement& bind_blob(std::string_view bytes);
  Statement& bind(base::UtcTime time) { return bind(time.micros); }
  Statement& bind_null();
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }
  template <class... Args>
  Statement& bind_all(const Args&... args) {
    (bind(args), ...);
    return *this;
  }

  // True when there is a row.
  bool step();
  // Runs to the end and gives the number of changed rows.
  int run();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string blob(int column) const;
  base::Digest digest(int column) const;  // throws corrupt when it is not 32 bytes
  std::optional<base::Digest> optional_digest(int column) const;
  base::UtcTime time(int column) const { return {integer(column)}; }
  std::optional<std::string> optional_text(int column) const;
  std::optional<base::UtcTime> optional_time(int column) const;

 private:
  friend class Connection;
  Statement(Connection& connection, sqlite3_stmt* statement);
  void check_bind(int code);
  Connection* connection_;
  sqlite3_stmt* statement_;
  int next_ = 1;
};

class Connection {
 public:
  // read_write creates the file and makes every commit durable (WAL, synchronous=FULL); it never checkpoints by itself.
  // Every page that is read is checked (db/checked_vfs.h). unsealed_copy is for a new file that is to become a copy of
  // a database whose pages have no checksums yet.
  enum class Mode { read_only, read_write, unsealed_copy };
  Connection(const std::filesystem::path& file, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Statement prepare(std::string_view sql);
  // Without results; several statements may be given.
  void execute(const std::string& sql);
  std::int64_t last_insert_id() const;
  bool in_transaction() const;
  // Ends an open transaction, if there is one; what SQLite says about it is of no use any more.
  void rollback() noexcept;
  // SQLite met an I/O error (other than a full disk) or corruption on this connection: do not trust it again.
  bool broken() const;
  sqlite3* raw() const;
  // Every page has a checksum. Not so in a database of Lathe 0.1.
  bool has_checksums() const;
  // The next VACUUM, or the first page of a new file, leaves room for them.
  void make_room_for_checksums();
  // Translates a result code of SQLite.
  [[noreturn]] void fail(int code, std::string_view doing) const;

 private:
  friend class Statement;
  void recycle(sqlite3_stmt* statement) noexcept;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One transaction outside the writer thread: for migrations, tools and tests. Rolled back when `work` throws.
template <class F>
std::invoke_result_t<F, Connection&> transaction(Connection& connection, F work) {
  struct Guard {
    Connection& open;
    ~Guard() { open.rollback(); }
  };
  connection.execute("BEGIN IMMEDIATE");
  Guard guard{connection};
  if constexpr (std::is_void_v<std::invoke_result_t<F, Connection&>>) {
    work(connection);
    connection.execute("COMMIT");
  } else {
    auto value = work(connection);
    connection.execute("COMMIT");
    return value;
  }
}

}  // namespace lathe::db
