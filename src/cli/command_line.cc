#include "cli/command_line.h"

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/version.h"

namespace lathe::cli {
namespace {

std::string help_for(const Catalogue& all, const Arguments& arguments) {
  if (arguments.command) return command_help(all, *arguments.command);
  return arguments.group.empty() ? overview_help(all) : group_help(all, arguments.group);
}

base::Result<int> dispatch(std::span<const char* const> words, const Programs& programs) {
  Catalogue all = catalogue();
  LATHE_TRY(auto arguments, parse(words, all));
  if (arguments.wants_version) return write_data(fmt::format("lathe {}\n", version())), 0;
  if (arguments.wants_help) return write_data(help_for(all, arguments)), 0;
  LATHE_TRY(auto settings, make_settings(arguments, real_surroundings()));
  Call call(all, arguments, std::move(settings), programs);
  return arguments.command->run(call);
}

}  // namespace

int run_command_line(std::span<const char* const> words, const Programs& programs) {
  base::Result<int> status = 0;
  try {
    status = dispatch(words, programs);
  } catch (const base::Error& error) {
    status = base::fail(base::Error(error));
  } catch (const std::exception& error) {
    status = base::fail(base::Code::internal, "{}", error.what());
  }
  if (status) return *status;
  write_talk(error_text(status.error()));
  return base::exit_status(status.error().code());
}

}  // namespace lathe::cli
