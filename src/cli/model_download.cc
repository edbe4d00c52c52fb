#include "cli/call.h"
#include "cli/commands.h"
#include "cli/file_download.h"
#include "cli/json.h"
#include "cli/model_fields.h"

namespace lathe::cli {
namespace {

base::Result<int> download(Call& call) {
  LATHE_TRY(auto text, call.api().get(model_path(call, call.argument(0))));
  LATHE_TRY(auto model, parse_json(text, "the model"));
  return download_tree(call, text_at(model, "/tree"));
}

}  // namespace

constinit const Command kModelDownload{.path = "model download",
                                       .summary = "Fetch the files of a model",
                                       .options = kToOption,
                                       .arguments = kVersionArgument,
                                       .run = download};

}  // namespace lathe::cli
