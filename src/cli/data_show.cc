#include "cli/call.h"
#include "cli/commands.h"
#include "cli/data_fields.h"

namespace lathe::cli {
namespace {

base::Result<int> show(Call& call) {
  LATHE_TRY(auto text, call.api().get(data_path(call, call.argument(0))));
  return call.print_one(text, kDataFields);
}

}  // namespace

constinit const Command kDataShow{
    .path = "data show", .summary = "Show a dataset", .arguments = kVersionArgument, .run = show};

}  // namespace lathe::cli
