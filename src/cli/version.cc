#include "cli/version.h"

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

base::Result<int> show(Call& call) {
  if (call.settings.json)
    write_data(pretty_json(json::object{{"version", json::string_view(version().data(), version().size())}}));
  else
    write_data(fmt::format("lathe {}\n", version()));
  return 0;
}

}  // namespace

std::string_view version() { return LATHE_VERSION; }

constinit const Command kVersion{.path = "version", .summary = "Print the version", .run = show};

}  // namespace lathe::cli
