#include "cli/call.h"
#include "cli/commands.h"
#include "cli/datastore_tools.h"
#include "cli/local_files.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kAtOnce = 5'000;

constexpr std::array kArguments{
    Argument{.name = "PATH", .help = "a file or folder of this machine", .completes = Completes::file}};
constexpr std::array kOptions{
    Option{.name = "datastore", .value = "NAME", .help = "where it goes", .fallback = "the workspace's default"},
    Option{.name = "to", .value = "FOLDER", .help = "the folder in the datastore", .fallback = "its root"},
    Option{.name = "overwrite", .help = "replace files that are there; else they are skipped"}};
constexpr std::array kExamples{Example{"lathe datastore upload ./data --to mnist", "send a folder"}};
constexpr std::array kFields{Column{"datastore", "/datastore"}, Column{"written", "/written"},
                             Column{"skipped", "/skipped"}, Column{"sent", "/sent_bytes", Shown::bytes}};

base::Result<int> upload(Call& call) {
  LATHE_TRY(auto datastore, chosen_datastore(call));
  LATHE_TRY(auto files, read_local_files(call.argument(0)));
  LATHE_TRY(auto sent, send_files(call.api(), files));
  std::string folder = call.arguments.value_or("to", "");
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  std::size_t written = 0, skipped = 0;
  for (std::size_t start = 0; start < files.files.size(); start += kAtOnce) {
    json::array entries;
    for (std::size_t i = start; i < std::min(start + kAtOnce, files.files.size()); ++i)
      entries.push_back({{"path", folder + files.files[i].path},
                         {"digest", files.files[i].blob.digest.hex()},
                         {"size", files.files[i].blob.size}});
    json::object body{{"files", std::move(entries)}, {"overwrite", call.arguments.has("overwrite")}};
    auto path = call.workspace_path({"datastores", datastore, "files"});
    LATHE_TRY(auto text, call.api().send("POST", path, json::serialize(body)));
    LATHE_TRY(auto answer, parse_json(text, "the server's answer"));
    written += answer.at("written").as_array().size();
    skipped += answer.at("skipped").as_array().size();
  }
  json::object out{
      {"datastore", datastore}, {"written", written}, {"skipped", skipped}, {"sent_bytes", sent.sent_bytes}};
  return call.print_one(json::serialize(out), kFields);
}

}  // namespace

constinit const Command kDatastoreUpload{.path = "datastore upload",
                                         .summary = "Send a file or folder into a datastore",
                                         .options = kOptions,
                                         .arguments = kArguments,
                                         .examples = kExamples,
                                         .run = upload};

}  // namespace lathe::cli
