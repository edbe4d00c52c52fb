#include <unistd.h>

#include <filesystem>

#include "base/strings.h"
#include "envs/realiser.h"

namespace lathe::envs {

base::Result<Realised> UserManaged::realise(const model::EnvironmentRef& environment) {
  Realised realised{environment.interpreter, environment.variables};
  if (environment.interpreter.empty()) return realised;
  const std::filesystem::path path(environment.interpreter);
  auto refuse = [&](base::Code code, std::string_view why, std::string hint) {
    return base::fail(
        base::Error(code, fmt::format("the interpreter {} {}", base::printable(environment.interpreter), why))
            .hint(std::move(hint)));
  };
  if (!path.is_absolute())
    return refuse(base::Code::invalid, "is not an absolute path", "use the output of: command -v python3");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return refuse(base::Code::not_found, "does not exist on this node",
                  "it must be installed at the same path on every node");
  if (std::filesystem::is_directory(path, ignored) || ::access(path.c_str(), X_OK) != 0)
    return refuse(base::Code::forbidden, "cannot be executed",
                  "name the program itself, e.g. …/bin/python3, and check its permissions");
  return realised;
}

}  // namespace lathe::envs
