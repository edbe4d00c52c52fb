// Backup while the server works: the collection of garbage is held off, then the database is copied as of one moment,
// then every blob. Live log segments are copied before and after the database, so that one that is sealed in between is
// in the copy either way.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cas/gc.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/folder_copy.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "db/backup.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kArguments{
    Argument{.name = "DIR",
             .help = "where the backup goes: a new folder, or an earlier backup to bring up to date",
             .completes = Completes::folder}};
constexpr std::array kFields{Column{"backup", "/backup"}, Column{"blobs", "/blobs"},
                             Column{"new bytes", "/bytes", Shown::bytes}};

// A folder with kWhole is a whole backup, one with kUnfinished is being made or was interrupted: never both meanings.
constexpr const char* kWhole = "backup.json";
constexpr const char* kUnfinished = "backup.unfinished";

base::Result<void> prepare_target(const fs::path& target) {
  std::error_code error;
  bool earlier = fs::exists(target / kWhole, error) || fs::exists(target / kUnfinished, error);
  if (!earlier && fs::exists(target, error) && !fs::is_empty(target, error))
    return base::fail(
        base::Error(base::Code::conflict, fmt::format("{} is not empty and is no backup", target.string()))
            .hint("name a new folder, or one that lathe backup made"));
  fs::create_directories(target.parent_path(), error);
  // 0700: the copy holds the admin token.
  if (::mkdir(target.c_str(), 0700) != 0 && errno != EEXIST)
    return base::fail(base::errno_error(errno, target.string()));
  ::chmod(target.c_str(), 0700);
  LATHE_TRY_VOID(replace_file(target / kUnfinished, "being made by lathe backup; run it again to finish\n", 0600));
  if (::unlink((target / kWhole).c_str()) != 0 && errno != ENOENT)
    return base::fail(base::errno_error(errno, target.string()));
  return sync_folder(target);  // before anything in it is replaced
}

base::Result<void> declare_whole(const fs::path& target, const json::object& summary) {
  LATHE_TRY_VOID(sync_folder(target));
  LATHE_TRY_VOID(replace_file(target / kWhole, pretty_json(summary), 0600));
  ::unlink((target / kUnfinished).c_str());
  return sync_folder(target);
}

base::Result<void> replace_database(const fs::path& state, const fs::path& target) {
  fs::path fresh = target / "lathe.db.new";
  ::unlink(fresh.c_str());
  LATHE_TRY_VOID(db::backup_database(state / "lathe.db", fresh));
  if (::rename(fresh.c_str(), (target / "lathe.db").c_str()) != 0)
    return base::fail(base::errno_error(errno, fresh.string()));
  return {};
}

base::Result<int> backup(Call& call) {
  const fs::path& state = call.settings.state;
  fs::path target = (fs::current_path() / call.argument(0)).lexically_normal();
  std::error_code error;
  if (!fs::exists(state / "lathe.db", error))
    return base::fail(base::Error(base::Code::not_found, fmt::format("{} holds no server's state", state.string()))
                          .hint("name it: --state DIR"));
  LATHE_TRY_VOID(prepare_target(target));
  LATHE_TRY(auto hold, cas::GcHold::acquire(cas::StoreLayout((state / "store").string())));
  LATHE_TRY_VOID(copy_folder(state / "live", target / "live"));
  LATHE_TRY_VOID(replace_database(state, target));
  LATHE_TRY_VOID(copy_folder(state / "live", target / "live"));
  LATHE_TRY(auto blobs, copy_blobs(state / "store", target / "store"));
  for (const char* name : {"token", "config.yaml"})
    if (fs::exists(state / name, error)) LATHE_TRY_VOID(copy_one_file(state / name, target / name));
  json::object summary{{"backup", target.string()},
                       {"version", json::string_view(version().data(), version().size())},
                       {"blobs", blobs.files + blobs.already},
                       {"bytes", blobs.bytes}};
  LATHE_TRY_VOID(declare_whole(target, summary));
  return call.print_one(json::serialize(summary), kFields);
}

}  // namespace

constinit const Command kBackup{.path = "backup",
                                .summary = "Copy the server's state into a folder, while it works",
                                .details =
                                    "Works on the state folder directly. On the same file system blobs are linked, so "
                                    "that they cost no space; keep one\n"
                                    "backup on another disk. Naming an earlier backup brings it up to date.",
                                .arguments = kArguments,
                                .run = backup};

}  // namespace lathe::cli
