#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

base::Result<int> reference(Call& call) { return write_data(reference_page(call.catalogue)), 0; }

}  // namespace

constinit const Command kReference{
    .path = "reference", .summary = "Print docs/user/cli.md", .hidden = true, .run = reference};

}  // namespace lathe::cli
