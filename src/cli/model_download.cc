#include "cli/call.h"
#include "cli/commands.h"
#include "cli/file_download.h"
#include "cli/json.h"
#include "cli/model_fields.h"

namespace lathe::cli {
namespace {

constexpr std::array kOptions{Option{
    .name = "to", .value = "DIR", .help = "where the files go", .fallback = ".", .completes = Completes::folder}};

base::Result<int> download(Call& call) {
  LATHE_TRY(auto text, call.api().get(model_path(call, call.argument(0))));
  LATHE_TRY(auto model, parse_json(text, "the model"));
  LATHE_TRY(auto files, files_of_tree(call, text_at(model, "/tree")));
  return download_files(call, files, call.arguments.value_or("to", "."));
}

}  // namespace

constinit const Command kModelDownload{.path = "model download",
                                       .summary = "Fetch the files of a model",
                                       .options = kOptions,
                                       .arguments = kVersionArgument,
                                       .run = download};

}  // namespace lathe::cli
