#include "db/checked_vfs.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "db/log_format.h"
#include "db/page_checksum.h"

namespace lathe::db {

namespace {

using PageBuffer = std::array<unsigned char, kPageSize>;
constexpr int kSmallestPage = 512;  // of SQLite: what is shorter is a look at the header
constexpr int kReserveByte = 20;    // of the header of a database: how many bytes of each page are not SQLite's

thread_local std::string damage;

int damaged(std::string what) {
  damage = std::move(what);
  return SQLITE_IOERR_DATA;
}

// SQLite gives the memory; the machine's own file lies behind it.
struct File {
  sqlite3_file base{};
  const char* name = nullptr;  // SQLite keeps it as long as the file
  bool sealed = false;         // of a database
  // Of a log, writer only: frames that have no right sum yet, because a page was written again inside of an open
  // transaction: that one, and those that came after it (their headers have zeros instead). SQLite writes the headers of
  // all of them anew before the commit; until then nobody else reads them.
  std::set<std::int64_t> unsummed;
  std::int64_t begun = 0;  // the frame whose header was written last

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods& under() { return *real()->pMethods; }
};

File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
int read_real(File& file, void* to, int size, sqlite3_int64 at) {
  return file.under().xRead(file.real(), to, size, at);
}

// The database ---------------------------------------------------------------------------------------------------

int read_database(sqlite3_file* handle, void* to, int size, sqlite3_int64 at) {
  File& file = of(handle);
  const int code = read_real(file, to, size, at);
  if (!file.sealed || size < kSmallestPage || (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)) return code;
  const auto number = static_cast<std::uint32_t>(at / kPageSize + 1);
  if (code == SQLITE_IOERR_SHORT_READ) return damaged(fmt::format("page {} of {} is cut off", number, file.name));
  if (size != kPageSize || at % kPageSize != 0)
    return damaged(fmt::format("the header of {} names a wrong page size, {}", file.name, size));
  if (is_whole_page(static_cast<unsigned char*>(to), number)) return SQLITE_OK;
  return damaged(fmt::format("page {} of {} does not match its checksum", number, file.name));
}

int write_database(sqlite3_file* handle, const void* from, int size, sqlite3_int64 at) {
  File& file = of(handle);
  const auto* bytes = static_cast<const unsigned char*>(from);
  if (at == 0 && size > kReserveByte && (bytes[kReserveByte] == kPageTrailer) != file.sealed) return SQLITE_IOERR_WRITE;
  if (!file.sealed) return file.under().xWrite(file.real(), from, size, at);
  if (size != kPageSize || at % kPageSize != 0) return SQLITE_IOERR_WRITE;
  PageBuffer page;
  std::memcpy(page.data(), from, page.size());
  seal_page(page.data(), static_cast<std::uint32_t>(at / kPageSize + 1));
  return file.under().xWrite(file.real(), page.data(), size, at);
}

int decide_sealed(File& file) {
  sqlite3_int64 size = 0;
  if (const int code = file.under().xFileSize(file.real(), &size); code != SQLITE_OK) return code;
  PageBuffer page{};
  const int code = read_real(file, page.data(), kPageSize, 0);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  file.sealed = size == 0 || page[kReserveByte] == kPageTrailer || has_page_mark(page.data());
  return SQLITE_OK;
}

// The log --------------------------------------------------------------------------------------------------------

int read_log(sqlite3_file* handle, void* to, int size, sqlite3_int64 at) {
  File& file = of(handle);
  const int code = read_real(file, to, size, at);
  const std::int64_t frame = size == kPageSize ? log_format::frame_of_page(at) : 0;
  if (code != SQLITE_OK || frame == 0 || file.unsummed.contains(frame)) return code;
  unsigned char before[8], header[log_format::kFrameHeader];
  if (int rc = read_real(file, before, sizeof before, log_format::sum_before(frame)); rc != SQLITE_OK) return rc;
  if (int rc = read_real(file, header, sizeof header, log_format::frame_offset(frame)); rc != SQLITE_OK) return rc;
  const log_format::Bytes page(static_cast<const unsigned char*>(to), kPageSize);
  if (log_format::is_whole_frame(log_format::load_sum(before), header, page)) return SQLITE_OK;
  return damaged(fmt::format("page {} in frame {} of {} does not match its checksum", log_format::load_big(header),
                             frame, file.name));
}

bool is_unsummed(const unsigned char* frame_header) {
  return std::all_of(frame_header + 8, frame_header + log_format::kFrameHeader, [](auto byte) { return byte == 0; });
}

void note_log_write(File& file, const void* bytes, int size, sqlite3_int64 at) {
  if (size == log_format::kFrameHeader) {
    file.begun = log_format::frame_of_page(at + log_format::kFrameHeader);
    if (is_unsummed(static_cast<const unsigned char*>(bytes)))
      file.unsummed.insert(file.begun);
    else
      file.unsummed.erase(file.begun);
  } else if (size == kPageSize) {
    const std::int64_t frame = log_format::frame_of_page(at);
    if (frame != file.begun) file.unsummed.insert(frame);
    file.begun = 0;
  } else if (at == 0) {
    file.unsummed.clear();  // a new log
  }
}

int write_log(sqlite3_file* handle, const void* from, int size, sqlite3_int64 at) try {
  File& file = of(handle);
  note_log_write(file, from, size, at);
  return file.under().xWrite(file.real(), from, size, at);
} catch (const std::bad_alloc&) {
  return SQLITE_IOERR_NOMEM;
}

// What goes straight through -------------------------------------------------------------------------------------

int close_file(sqlite3_file* handle) {
  File& file = of(handle);
  const int code = file.under().xClose(file.real());
  file.~File();
  return code;
}

template <auto Method, class... Args>
int forward(sqlite3_file* handle, Args... args) {
  File& file = of(handle);
  return (file.under().*Method)(file.real(), args...);
}

void barrier(sqlite3_file* handle) { of(handle).under().xShmBarrier(of(handle).real()); }

// Version 2: with shared memory, without mapping of the file, which would bypass us.
sqlite3_io_methods make_methods(decltype(sqlite3_io_methods::xRead) read, decltype(sqlite3_io_methods::xWrite) write) {
  using M = sqlite3_io_methods;
  M methods{};
  methods.iVersion = 2;
  methods.xClose = close_file;
  methods.xRead = read;
  methods.xWrite = write;
  methods.xTruncate = forward<&M::xTruncate, sqlite3_int64>;
  methods.xSync = forward<&M::xSync, int>;
  methods.xFileSize = forward<&M::xFileSize, sqlite3_int64*>;
  methods.xLock = forward<&M::xLock, int>;
  methods.xUnlock = forward<&M::xUnlock, int>;
  methods.xCheckReservedLock = forward<&M::xCheckReservedLock, int*>;
  methods.xFileControl = forward<&M::xFileControl, int, void*>;
  methods.xSectorSize = forward<&M::xSectorSize>;
  methods.xDeviceCharacteristics = forward<&M::xDeviceCharacteristics>;
  methods.xShmMap = forward<&M::xShmMap, int, int, int, void volatile**>;
  methods.xShmLock = forward<&M::xShmLock, int, int, int>;
  methods.xShmBarrier = barrier;
  methods.xShmUnmap = forward<&M::xShmUnmap, int>;
  return methods;
}

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* memory, int flags, int* flags_out) {
  static const sqlite3_io_methods database = make_methods(read_database, write_database);
  static const sqlite3_io_methods log = make_methods(read_log, write_log);
  sqlite3_vfs* const machine = sqlite3_vfs_find(nullptr);  // asked each time: a test may put another one there
  if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0)
    return machine->xOpen(machine, name, memory, flags, flags_out);
  auto* file = new (memory) File;
  file->name = name;
  const bool is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  int code = machine->xOpen(machine, name, file->real(), flags, flags_out);
  if (code == SQLITE_OK && is_database) code = decide_sealed(*file);
  if (code == SQLITE_OK) {
    file->base.pMethods = is_database ? &database : &log;
    return code;
  }
  if (file->real()->pMethods != nullptr) file->under().xClose(file->real());
  file->~File();
  memory->pMethods = nullptr;  // so that SQLite does not close it
  return code;
}

}  // namespace

const char* checked_vfs() {
  static sqlite3_vfs vfs;
  static std::once_flag once;
  std::call_once(once, [] {
    vfs = *sqlite3_vfs_find(nullptr);
    vfs.pNext = nullptr;
    vfs.zName = "lathe";
    vfs.szOsFile += static_cast<int>(sizeof(File));
    vfs.xOpen = open_file;
    sqlite3_vfs_register(&vfs, 0);
  });
  return vfs.zName;
}

std::string take_damage() { return std::exchange(damage, {}); }

}  // namespace lathe::db
