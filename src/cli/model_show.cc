#include "cli/call.h"
#include "cli/commands.h"
#include "cli/model_fields.h"

namespace lathe::cli {
namespace {

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(model_path(call, call.argument(0))));
  return call.print_one(text, kModelFields);
}

}  // namespace

constinit const Command kModelShow{
    .path = "model show", .summary = "Show a model", .arguments = kVersionArgument, .run = show};

}  // namespace lathe::cli
