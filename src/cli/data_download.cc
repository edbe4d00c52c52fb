#include "cli/call.h"
#include "cli/commands.h"
#include "cli/data_fields.h"
#include "cli/file_download.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

base::Result<int> download(Call& call) {
  LATHE_TRY(auto text, call.api().get(data_path(call, call.argument(0))));
  LATHE_TRY(auto dataset, parse_json(text, "the dataset"));
  auto path = call.workspace_path({"datasets", "by-id", text_at(dataset, "/id"), "materialize"});
  // Files of the web may take their time to come.
  auto patient = call.new_client(std::chrono::hours(12));
  LATHE_TRY(auto answer, patient->send("POST", path));
  LATHE_TRY(auto made, parse_json(answer, "the dataset's bytes"));
  return download_tree(call, text_at(made, "/tree"));
}

}  // namespace

constinit const Command kDataDownload{.path = "data download",
                                      .summary = "Fetch the files of a dataset",
                                      .options = kToOption,
                                      .arguments = kVersionArgument,
                                      .run = download};

}  // namespace lathe::cli
