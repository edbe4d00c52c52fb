// lathe env lock show, export, import
#include "cli/commands.h"
#include "cli/env_fields.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kMostBytes = 8u << 20;  // of a lock, as the server takes it
constexpr std::array kExportOptions{
    Option{.name = "to", .value = "FILE", .help = "where it goes", .fallback = "stdout", .completes = Completes::file}};
constexpr std::array kImportArguments{
    Argument{.name = "NAME[:VERSION]", .help = "its name, and its version unless it is the newest"},
    Argument{.name = "FILE", .help = "an exported lock", .completes = Completes::file}};
constexpr std::array kExamples{
    Example{"lathe env lock export tf > tf.lock", "on the one server"},
    Example{"lathe env lock import tf tf.lock", "on the other: the same packages, bit by bit"}};
constexpr std::array kFields{Column{"environment", "/name"}, Column{"version", "/version"}, Column{"lock", "/lock"}};

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(environment_path(call, call.argument(0), "lock")));
  LATHE_TRY(auto value, parse_json(text, "the lock"));
  write_data(pretty_json(value));
  return 0;
}

// Byte by byte as it is: its digest is its name.
base::Result<int> export_lock(Call& call) {
  LATHE_TRY(auto text, call.api().get(environment_path(call, call.argument(0), "lock")));
  auto file = call.arguments.find("to");
  if (!file) return write_data(text), 0;
  LATHE_TRY_VOID(replace_file(*file, text));
  return 0;
}

base::Result<int> import_lock(Call& call) {
  LATHE_TRY(auto text, read_small_file(call.argument(1), kMostBytes));
  LATHE_TRY(auto answer, call.api().send("PUT", environment_path(call, call.argument(0), "lock"), text));
  return call.print_one(answer, kFields);
}

}  // namespace

constinit const Command kEnvLockShow{.path = "env lock show",
                                     .summary = "Show every package of an environment with its hashes",
                                     .arguments = kVersionArgument,
                                     .run = show};

constinit const Command kEnvLockExport{.path = "env lock export",
                                       .summary = "Write the lock of an environment, for another server",
                                       .options = kExportOptions,
                                       .arguments = kVersionArgument,
                                       .examples = kExamples,
                                       .run = export_lock};

constinit const Command kEnvLockImport{.path = "env lock import",
                                       .summary = "Use a lock that was made elsewhere",
                                       .arguments = kImportArguments,
                                       .examples = kExamples,
                                       .run = import_lock};

}  // namespace lathe::cli
