#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/folder_copy.h"
#include "cli/json.h"
#include "cli/references.h"
#include "cli/server_lock.h"
#include "cli/terminal.h"
#include "db/backup.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kArguments{
    Argument{.name = "DIR", .help = "a folder that lathe backup made", .completes = Completes::folder}};
constexpr std::array kFields{Column{"state", "/state"}, Column{"runs", "/runs"}, Column{"blobs", "/blobs"},
                             Column{"bytes", "/bytes", Shown::bytes}};

base::Result<void> check_target(const fs::path& state) {
  if (auto process = lock_holder(state))
    return base::fail(
        base::Error(base::Code::conflict, fmt::format("a server (process {}) runs on {}", *process, state.string()))
            .hint("stop it with lathe down, or name another folder with --state"));
  std::error_code error;
  if (fs::exists(state, error) && !fs::is_empty(state, error))
    return base::fail(base::Error(base::Code::conflict, fmt::format("{} is not empty", state.string()))
                          .hint("move it away, or name another folder with --state"));
  return {};
}

// Everything into `fresh`, verified; nothing is visible under the state folder's name before it is whole.
base::Result<json::object> copy_all(const fs::path& from, const fs::path& fresh) {
  LATHE_TRY(auto report, db::check_database(from / "lathe.db"));
  if (::mkdir(fresh.c_str(), 0700) != 0) return base::fail(base::errno_error(errno, fresh.string()));
  LATHE_TRY(auto blobs, copy_blobs_verified(from / "store", fresh / "store"));
  LATHE_TRY_VOID(copy_folder(from / "live", fresh / "live"));
  std::error_code error;
  for (const char* name : {"token", "config.yaml", "lathe.db"})
    if (fs::exists(from / name, error)) LATHE_TRY_VOID(copy_one_file(from / name, fresh / name));
  LATHE_TRY_VOID(check_references(fresh));
  LATHE_TRY_VOID(sync_folder(fresh));
  return json::object{{"runs", report.runs}, {"blobs", blobs.files}, {"bytes", blobs.bytes}};
}

base::Result<int> restore(Call& call) {
  fs::path from = (fs::current_path() / call.argument(0)).lexically_normal();
  const fs::path& state = call.settings.state;
  std::error_code error;
  if (!fs::exists(from / "backup.json", error))
    return base::fail(base::Error(base::Code::not_found, fmt::format("{} is no whole backup", from.string()))
                          .hint("name a folder that lathe backup made"));
  LATHE_TRY_VOID(check_target(state));
  fs::create_directories(state.parent_path(), error);
  fs::path fresh = state.parent_path() /
                   fmt::format("{}.restore-{}", state.filename().string(), base::to_hex(base::random_bytes(4)));
  auto copied = copy_all(from, fresh);
  if (copied) {
    ::rmdir(state.c_str());
    if (::rename(fresh.c_str(), state.c_str()) != 0) copied = base::fail(base::errno_error(errno, state.string()));
  }
  if (!copied) {
    fs::remove_all(fresh, error);
    return base::fail(std::move(copied).error());
  }
  (*copied)["state"] = state.string();
  say("restored; start the server with lathe up");
  return call.print_one(json::serialize(*copied), kFields);
}

}  // namespace

constinit const Command kRestore{
    .path = "restore",
    .summary = "Make a state folder from a backup",
    .details =
        "The state folder must not exist or be empty. Every blob is verified on the way, and\n"
        "that none is missing which a run, a log or a snapshot names.",
    .arguments = kArguments,
    .run = restore};

}  // namespace lathe::cli
