#include "base/strings.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/file_download.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::array kArguments{
    Argument{.name = "RUN", .help = "the run's id"},
    Argument{
        .name = "PATH", .help = "only this file, or the files under this folder", .required = false, .repeated = true}};
constexpr std::array kOptions{Option{.name = "to",
                                     .value = "DIR",
                                     .help = "where the files go",
                                     .fallback = "a new folder named as the run",
                                     .completes = Completes::folder}};
constexpr std::array kExamples{
    Example{"lathe run download mnist_1550603179_109029bb outputs --to model", "fetch the outputs"}};

bool is_wanted(const std::string& path, std::span<const std::string> filters) {
  return filters.empty() || std::ranges::any_of(filters, [&](std::string_view filter) {
           while (filter.ends_with('/')) filter.remove_suffix(1);
           return path == filter || path.starts_with(fmt::format("{}/", filter));
         });
}

base::Result<std::vector<RemoteFile>> list_files(Call& call, const std::string& run,
                                                 std::span<const std::string> filters) {
  std::vector<RemoteFile> out;
  std::string cursor;
  do {
    auto target = call.workspace_path({"runs", run, "files"}) + "?limit=500";
    if (!cursor.empty()) target += "&cursor=" + net::encode_segment(cursor);
    LATHE_TRY(auto text, call.api().get(target));
    LATHE_TRY(auto value, parse_json(text, "the list of files"));
    for (const auto& item : value.at("items").as_array()) {
      std::string path = text_at(item, "/path");
      auto from = call.workspace_path({"runs", run, "files", "content"}) + "?path=" + net::encode_segment(path);
      RemoteFile file{path, from, text_at(item, "/digest"), base::parse_u64(text_at(item, "/size")).value_or(0),
                      text_at(item, "/executable") == "true"};
      if (is_wanted(file.path, filters)) out.push_back(std::move(file));
    }
    cursor = text_at(value, "/next");
  } while (!cursor.empty());
  return out;
}

base::Result<int> download(Call& call) {
  const auto& run = call.argument(0);
  std::span<const std::string> filters(call.arguments.positionals.begin() + 1, call.arguments.positionals.end());
  LATHE_TRY(auto files, list_files(call, run, filters));
  if (files.empty())
    return base::fail(base::Error(base::Code::not_found, "the run has no such files").hint("lathe run files " + run));
  return download_files(call, files, call.arguments.value_or("to", run));
}

}  // namespace

constinit const Command kRunDownload{.path = "run download",
                                     .summary = "Fetch the files of a run",
                                     .options = kOptions,
                                     .arguments = kArguments,
                                     .examples = kExamples,
                                     .run = download};

}  // namespace lathe::cli
