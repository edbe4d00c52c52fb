#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/datastore_tools.h"
#include "cli/file_download.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{
    Argument{.name = "PREFIX", .help = "only files that begin so, e.g. mnist/", .required = false}};
constexpr std::array kOptions{
    Option{.name = "datastore", .value = "NAME", .help = "where they are", .fallback = "the workspace's default"},
    Option{.name = "to", .value = "DIR", .help = "where they go", .fallback = ".", .completes = Completes::folder}};

base::Result<int> download(Call& call) {
  LATHE_TRY(auto datastore, chosen_datastore(call));
  auto base = call.workspace_path({"datastores", datastore, "files"});
  std::vector<RemoteFile> files;
  std::string cursor;
  do {
    auto target = base + "?limit=500&prefix=" + net::encode_segment(call.argument_or(0, ""));
    if (!cursor.empty()) target += "&cursor=" + net::encode_segment(cursor);
    LATHE_TRY(auto text, call.api().get(target));
    LATHE_TRY(auto page, parse_json(text, "the list of files"));
    for (const auto& item : page.at("items").as_array()) {
      auto path = text_at(item, "/path");
      files.push_back({path, base + "/content?path=" + net::encode_segment(path), text_at(item, "/digest"),
                       base::parse_u64(text_at(item, "/size")).value_or(0), false});
    }
    cursor = text_at(page, "/next");
  } while (!cursor.empty());
  if (files.empty())
    return base::fail(base::Error(base::Code::not_found, fmt::format("'{}' has no such files", datastore))
                          .hint("lathe datastore list " + datastore));
  return download_files(call, files, call.arguments.value_or("to", "."));
}

}  // namespace

constinit const Command kDatastoreDownload{.path = "datastore download",
                                           .summary = "Fetch files of a datastore",
                                           .options = kOptions,
                                           .arguments = kArguments,
                                           .run = download};

}  // namespace lathe::cli
