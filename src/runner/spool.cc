#include "runner/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <cerrno>

#include "base/digest.h"
#include "base/strings.h"
#include "runner/bare_folder.h"
#include "runner/retry.h"
#include "sys/clock.h"
#include "sys/small_file.h"
#include "wire/records.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char *kHeader = "spool.json", *kOrder = "order.json", *kExit = "exit", *kDelivered = "delivered";
constexpr const char* kBareHeader = "spool.json.new";  // the header before it has its name, and after it
const std::string kDraft = "draft ";
constexpr int kStandingWidth = 60;
constexpr off_t kReserveBytes = 64 * 1024;
constexpr ino_t kSlots = 64;  // that many things may lie idle between tasks, however many folders come and go

// Into the empty file that an earlier task left, or a new one.
base::Result<sys::Fd> write_empty(const fs::path& path, std::string_view text) {
  sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return base::fail(base::errno_error(errno, fmt::format("writing {}", path.string())));
  return fd;
}

std::string format_header(const SpoolHeader& header) {
  json::object out{{"format", header.format},
                   {"run", header.run},
                   {"attempt", header.attempt},
                   {"node", header.node},
                   {"token", header.token}};
  if (header.box)
    out["box"] = {{"pid", header.box->pid}, {"start", header.box->start}, {"boot", header.box->boot}};
  return json::serialize(out) + "\n";
}

// Whole and locked before it has its name: whoever finds it may rely on both.
base::Result<sys::Fd> write_header(const fs::path& folder, const SpoolHeader& header) {
  const fs::path path = folder / kHeader, draft = folder / kBareHeader;
  LATHE_TRY(sys::Fd fd, write_empty(draft, format_header(header)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    // Whoever looked after the earlier task has not closed its header yet.
    ::unlink(draft.c_str());
    LATHE_TRY(fd, write_empty(draft, format_header(header)));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return base::fail(base::errno_error(errno, "locking the spool"));
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) return base::fail(base::errno_error(errno, "naming the spool"));
  return fd;
}

base::Result<SpoolHeader> parse_header(std::string_view text) {
  try {
    json::object object = json::parse(text).as_object();
    SpoolHeader header;
    header.format = object.at("format").to_number<int>();
    if (header.format > kSpoolFormat)
      return base::fail(
          base::Error(base::Code::unsupported,
                      fmt::format("the spool has format {}, this version reads up to {}", header.format, kSpoolFormat))
              .hint("adopt it with the version of lathe that wrote it, or a later one"));
    header.run = std::string(object.at("run").as_string());
    header.attempt = object.at("attempt").to_number<int>();
    header.node = object.at("node").to_number<int>();
    header.token = std::string(object.at("token").as_string());
    if (const json::value* box = object.if_contains("box"))
      header.box = {box->at("pid").to_number<pid_t>(), std::string(box->at("start").as_string()),
                    std::string(box->at("boot").as_string())};
    return header;
  } catch (const std::exception& error) {
    return base::fail(base::Code::corrupt, "spool.json is damaged: {}", error.what());
  }
}

// One that an earlier task left bare serves as well.
base::Result<void> make_folder(const fs::path& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return base::fail(base::errno_error(errno, fmt::format("making {}", path.string())));
}

}  // namespace

std::string task_label(const SpoolHeader& header) {
  return fmt::format("lathe-{}-{}-{}-{}", header.run.substr(0, 80), header.attempt, header.node,
                     base::sha256(header.token).hex().substr(0, 12));
}

base::Result<void> Spool::make_folders(const fs::path& work) {
  if (auto made = make_folder(work / "spool", 0700); !made && made.error().code() == base::Code::not_found) {
    std::error_code failed;
    fs::create_directories(work, failed);
    LATHE_TRY_VOID(make_folder(work / "spool", 0700));
  } else if (!made) {
    return base::fail(std::move(made).error());
  }
  LATHE_TRY_VOID(make_folder(work / "run", 0700));
  return make_folder(work / "metrics", 0700);
}

base::Result<Spool> Spool::create(const fs::path& work, SpoolHeader header, sys::FileSystem& files) {
  Spool spool(work / "spool", files);
  spool.header_ = std::move(header);
  LATHE_TRY_VOID(make_folders(work));
  if (::access((spool.folder_ / kHeader).c_str(), F_OK) == 0)
    return base::fail(base::Code::conflict, "{} holds a spool already", spool.folder_.string());
  LATHE_TRY(spool.lock_, write_header(spool.folder_, spool.header_));
  // Blocks for the exit record are taken now, while there are some. Not every file system can; then it is tried late.
  sys::Fd exit(::open((spool.folder_ / kExit).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!exit) return base::fail(base::errno_error(errno, "making the exit record"));
  if (::fallocate(exit.get(), FALLOC_FL_KEEP_SIZE, 0, kReserveBytes) != 0 && errno == ENOSPC)
    return base::fail(base::errno_error(errno, "reserving room for the exit record"));
  return spool;
}

base::Result<Spool> Spool::adopt(const fs::path& folder, base::Duration patience, sys::FileSystem& files) {
  Spool spool(fs::absolute(folder).lexically_normal(), files);
  if (!spool.folder_.has_filename()) spool.folder_ = spool.folder_.parent_path();
  if (::access((spool.folder_ / "spool" / kHeader).c_str(), F_OK) == 0) spool.folder_ /= "spool";
  spool.lock_.reset(::open((spool.folder_ / kHeader).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!spool.lock_)
    return base::fail(base::Error(base::errno_error(errno, fmt::format("opening the spool {}", spool.folder_.string())))
                          .hint("name the folder that holds spool.json"));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(spool.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline)
      return base::fail(
          base::Error(base::Code::unavailable, "the runner of this spool, or a process of its run, still lives"));
    pause(std::chrono::milliseconds(20), -1);
  }
  LATHE_TRY(std::string text, sys::read_small_file(spool.folder_ / kHeader));
  LATHE_TRY(spool.header_, parse_header(text));
  return spool;
}

std::string Spool::slot() const {
  struct stat status{};
  if (::stat(folder_.c_str(), &status) != 0) return {};
  return fmt::format("{}", status.st_ino % kSlots);
}

base::Result<void> Spool::write_order(const wire::RunnerOrder& order) {
  LATHE_TRY_VOID(write_empty(folder_ / kOrder, wire::encode_order(order)));
  return {};
}

base::Result<std::optional<wire::RunnerOrder>> Spool::read_order() const {
  auto text = sys::read_small_file(folder_ / kOrder);
  if (!text && text.error().code() == base::Code::not_found) return std::optional<wire::RunnerOrder>();
  if (!text) return base::fail(std::move(text).error());
  auto order = wire::decode_order(*text);
  if (!order) return std::optional<wire::RunnerOrder>();
  return std::optional<wire::RunnerOrder>(std::move(*order));
}

base::Result<void> Spool::sync_start() const {
  LATHE_TRY_VOID(files_->sync_file((folder_ / kHeader).string()));
  LATHE_TRY_VOID(files_->sync_file((folder_ / kOrder).string()));
  const fs::path task = folder_.parent_path();
  for (const fs::path& folder : {folder_, task, task.parent_path()})
    LATHE_TRY_VOID(files_->sync_directory(folder.string()));
  return {};
}

bool Spool::has_traces() const {
  if (auto exit = read_exit(); exit && *exit) return true;
  if (::access((folder_ / "log.0").c_str(), F_OK) == 0) return true;
  std::error_code failed;
  for (const fs::path& top : {run_folder(), metrics_folder()})
    for (fs::recursive_directory_iterator entry(top, failed), end; !failed && entry != end; entry.increment(failed))
      if (entry->symlink_status(failed).type() != fs::file_type::directory) return true;
  return false;
}

base::Result<void> Spool::put_exit(const model::ExitRecord& exit, std::string_view standing) {
  std::string text = wire::encode_exit(exit);
  // As wide for a draft as for a record, which is written over it.
  text += fmt::format("\n{}\n{:<{}}\n", base::sha256(text).hex(), standing, kStandingWidth);
  LATHE_TRY(sys::File file, files_->open_or_create((folder_ / kExit).string(), 0600));
  return files_->write(file, text, 0);
}

base::Result<void> Spool::draft_exit(const model::ExitRecord& exit) {
  return put_exit(exit, kDraft + sys::boot_id());
}

base::Result<void> Spool::write_exit(const model::ExitRecord& exit) {
  const std::string path = folder_ / kExit;
  LATHE_TRY_VOID(put_exit(exit, "kept"));
  LATHE_TRY_VOID(files_->sync_file(path));
  return files_->sync_directory(folder_.string());
}

base::Result<std::optional<model::ExitRecord>> Spool::read_exit() const {
  auto text = sys::read_small_file(folder_ / (is_delivered() ? kDelivered : kExit));
  if (!text && text.error().code() == base::Code::not_found) return std::optional<model::ExitRecord>();
  if (!text) return base::fail(std::move(text).error());
  auto lines = base::split(*text, '\n');
  if (lines.size() < 2 || base::sha256(lines[0]).hex() != lines[1]) return std::optional<model::ExitRecord>();
  const auto standing = lines.size() > 2 ? base::trim(lines[2]) : std::string_view();
  if (standing.starts_with(kDraft) && standing != kDraft + sys::boot_id()) return std::optional<model::ExitRecord>();
  LATHE_TRY(auto exit, wire::decode_exit(lines[0]));
  return std::optional(std::move(exit));
}

void Spool::release_reserve() {
  sys::Fd exit(::open((folder_ / kExit).c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status{};
  // To the size that it has: blocks behind the end go back to the file system.
  if (exit && ::fstat(exit.get(), &status) == 0) (void)!::ftruncate(exit.get(), status.st_size);
}

base::Result<void> Spool::mark_delivered() {
  if (::rename((folder_ / kExit).c_str(), (folder_ / kDelivered).c_str()) == 0) return {};
  return base::fail(base::errno_error(errno, "marking the spool delivered"));
}

bool Spool::is_delivered() const { return ::access((folder_ / kDelivered).c_str(), F_OK) == 0; }

void Spool::remove() {
  bool bare = make_bare(run_folder(), kept_folders());
  bare = make_bare(metrics_folder(), {}) && bare;
  bare = make_bare(data_folder(), {}) && bare;
  bare = make_bare(box_folder(), box_folders()) && bare;
  bare = bare && make_files_bare();
  // The last, and only when nothing else is left: as long as it is there the provider takes this for a spool and sweeps
  // all of it.
  const fs::path unnamed = folder_ / kBareHeader;
  if (bare && ::rename((folder_ / kHeader).c_str(), unnamed.c_str()) == 0) (void)!::truncate(unnamed.c_str(), 0);
  lock_.reset();
}

bool Spool::make_files_bare() {
  bool all = !is_delivered() || ::rename((folder_ / kDelivered).c_str(), (folder_ / kExit).c_str()) == 0;
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    const auto name = path.filename();
    if (name == kHeader) continue;
    if (name == kOrder || name == kExit)
      all = ::truncate(path.c_str(), 0) == 0 && all;
    else
      fs::remove_all(path, failed);
  }
  return all && !failed;
}

}  // namespace lathe::runner
