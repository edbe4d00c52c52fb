#include "cli/call.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/texts.h"
#include "cli/version.h"

namespace lathe::cli {
namespace {

base::Result<int> man(Call& call) { return write_data(man_page(call.catalogue, version())), 0; }

}  // namespace

constinit const Command kMan{
    .path = "man", .summary = "Print the man page (roff); try: lathe man | man -l -", .run = man};

}  // namespace lathe::cli
