#include "db/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "db/checked_vfs.h"
#include "db/page_checksum.h"

namespace lathe::db {

using base::Code;
using base::Error;

namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

bool disk_is_full(int code, int system_errno) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  return (code & 0xff) == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT);
}

Code translate(int code, int system_errno) {
  if (disk_is_full(code, system_errno)) return Code::no_space;
  if (code == SQLITE_IOERR_DATA) return Code::corrupt;
  switch (code & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return Code::io;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_CONSTRAINT:
      return Code::conflict;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::unavailable;
    case SQLITE_TOOBIG:
      return Code::too_large;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Code::forbidden;
    default:
      return Code::internal;
  }
}

std::string hint_for(Code code) {
  switch (code) {
    case Code::no_space:
      return "free some space on the disk of the state folder, then try again";
    case Code::corrupt:
      return "stop the server and restore a backup: lathe restore";
    case Code::unavailable:
      return "another process holds the database; try again when it is done";
    default:
      return "";
  }
}

// A statistics mutex around every allocation is of no use to us; must be said before the first open.
void configure_once() {
  static std::once_flag once;
  std::call_once(once, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });
}

// The database holds hashes of tokens and everybody's arguments: nobody else may read it. SQLite gives the same mode
// to -wal and -shm.
void create_private(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw base::errno_error(errno, fmt::format("opening the database {}", file.string()));
  ::close(fd);
}

}  // namespace

struct Connection::Impl {
  sqlite3* handle = nullptr;
  bool broken = false;
  // Idle statements by text; a text that is used twice at the same time has two.
  std::unordered_map<std::string, std::vector<sqlite3_stmt*>, TextHash, std::equal_to<>> idle;
};

Connection::Connection(const std::filesystem::path& file, Mode mode) : impl_(std::make_unique<Impl>()) {
  configure_once();
  if (mode != Mode::read_only) create_private(file);
  const int flags = SQLITE_OPEN_NOMUTEX | (mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  const char* layer = mode == Mode::unsealed_copy ? nullptr : checked_vfs();
  const int code = sqlite3_open_v2(file.c_str(), &impl_->handle, flags, layer);
  if (code != SQLITE_OK) {
    const std::string why = sqlite3_errstr(code);
    sqlite3_close(impl_->handle);
    throw Error(std::filesystem::exists(file) ? Code::io : Code::not_found,
                fmt::format("cannot open the database {}: {}", file.string(), why));
  }
  try {
    sqlite3_extended_result_codes(impl_->handle, 1);
    sqlite3_busy_timeout(impl_->handle, 10'000);
    execute(
        "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=0;"
        "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF;");
    if (mode == Mode::read_write && std::filesystem::file_size(file) == 0) make_room_for_checksums();
    if (mode != Mode::read_only) {
      execute(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-8192;"
          "PRAGMA journal_size_limit=16777216;");
    } else {
      execute("PRAGMA query_only=ON; PRAGMA cache_size=-2048;");
    }
  } catch (...) {
    sqlite3_close(impl_->handle);
    throw;
  }
}

Connection::~Connection() {
  for (auto& [text, statements] : impl_->idle) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close_v2(impl_->handle);
}

Statement Connection::prepare(std::string_view sql) {
  if (auto found = impl_->idle.find(sql); found != impl_->idle.end() && !found->second.empty()) {
    sqlite3_stmt* statement = found->second.back();
    found->second.pop_back();
    return Statement(*this, statement);
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(impl_->handle, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
  return Statement(*this, statement);
}

void Connection::recycle(sqlite3_stmt* statement) noexcept {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  try {
    impl_->idle[sqlite3_sql(statement)].push_back(statement);
  } catch (...) {
    sqlite3_finalize(statement);
  }
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(impl_->handle, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, sql.substr(0, 200));
}

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(impl_->handle); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(impl_->handle) == 0; }
void Connection::rollback() noexcept {
  if (in_transaction()) sqlite3_exec(impl_->handle, "ROLLBACK", nullptr, nullptr, nullptr);
}
bool Connection::broken() const { return impl_->broken; }
sqlite3* Connection::raw() const { return impl_->handle; }

bool Connection::has_checksums() const {
  int bytes = -1;  // asks
  sqlite3_file_control(impl_->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  return bytes == kPageTrailer;
}

void Connection::make_room_for_checksums() {
  int bytes = kPageTrailer;
  sqlite3_file_control(impl_->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

void Connection::fail(int code, std::string_view doing) const {
  const int system_errno = sqlite3_system_errno(impl_->handle);
  const Code meaning = translate(code, system_errno);
  if (meaning == Code::corrupt || (meaning == Code::io && (code & 0xff) == SQLITE_IOERR)) impl_->broken = true;
  std::string message = fmt::format("database: {}", sqlite3_errmsg(impl_->handle));
  if (const std::string found = take_damage(); code == SQLITE_IOERR_DATA && !found.empty())
    message = fmt::format("the database is damaged: {}", found);
  else if ((code & 0xff) == SQLITE_IOERR && system_errno != 0)
    message += fmt::format(" ({})", std::strerror(system_errno));
  throw Error(meaning, std::move(message)).hint(hint_for(meaning)).during(std::string(doing));
}

Statement::Statement(Connection& connection, sqlite3_stmt* statement)
    : connection_(&connection), statement_(statement) {}
Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)), next_(other.next_) {}
Statement::~Statement() {
  if (statement_ != nullptr) connection_->recycle(statement_);
}

void Statement::check_bind(int code) {
  if (code != SQLITE_OK) connection_->fail(code, sqlite3_sql(statement_));
}
Statement& Statement::bind(std::int64_t value) {
  check_bind(sqlite3_bind_int64(statement_, next_++, value));
  return *this;
}
Statement& Statement::bind(double value) {
  check_bind(sqlite3_bind_double(statement_, next_++, value));
  return *this;
}
Statement& Statement::bind(std::string_view text) {
  // A null pointer would bind NULL; an empty text is still a text.
  const char* data = text.data() != nullptr ? text.data() : "";
  check_bind(sqlite3_bind_text64(statement_, next_++, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind(const base::Digest& digest) {
  check_bind(sqlite3_bind_blob(statement_, next_++, digest.bytes.data(), static_cast<int>(digest.bytes.size()),
                               SQLITE_TRANSIENT));
  return *this;
}
Statement& Statement::bind_blob(std::string_view bytes) {
  // Never a null pointer, which SQLite would take for NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  check_bind(sqlite3_bind_blob64(statement_, next_++, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}
Statement& Statement::bind_null() {
  check_bind(sqlite3_bind_null(statement_, next_++));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_->fail(code, sqlite3_sql(statement_));
  return false;
}

int Statement::run() {
  while (step()) {
  }
  return sqlite3_changes(connection_->raw());
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data == nullptr ? std::string() : std::string(data, sqlite3_column_bytes(statement_, column));
}

std::string Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? std::string() : std::string(data, sqlite3_column_bytes(statement_, column));
}

base::Digest Statement::digest(int column) const {
  base::Digest digest;
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr || size != static_cast<int>(digest.bytes.size())) {
    throw Error(Code::corrupt, fmt::format("database: a digest of {} bytes instead of 32", size))
        .hint(hint_for(Code::corrupt));
  }
  std::memcpy(digest.bytes.data(), data, digest.bytes.size());
  return digest;
}

std::optional<std::string> Statement::optional_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}
std::optional<base::UtcTime> Statement::optional_time(int column) const {
  return is_null(column) ? std::nullopt : std::optional(time(column));
}
std::optional<base::Digest> Statement::optional_digest(int column) const {
  return is_null(column) ? std::nullopt : std::optional(digest(column));
}

}  // namespace lathe::db
