#include "server/run_environment.h"

namespace lathe::server {

namespace {

bool wants_site_interpreter(const model::RunSpec& spec) {
  return spec.kind == model::RunKind::script && spec.environment.interpreter.empty() &&
         (!spec.command.script.empty() || !spec.environment.name.empty());
}

}  // namespace

std::vector<std::string> check_interpreter(const SiteConfig& site, const model::RunSpec& spec) {
  if (!wants_site_interpreter(spec)) return {};
  if (!site.interpreter.empty()) return {fmt::format("the interpreter is the site's: {}", site.interpreter.string())};
  if (spec.command.script.empty()) return {};  // a command of its own, which may need no Python
  throw base::Error(base::Code::invalid, "environment.interpreter is missing: a script needs a Python")
      .field("environment.interpreter")
      .hint(
          "give its path, e.g. /usr/bin/python3, or set 'environments: {interpreter: PATH}' in the server's "
          "config.yaml");
}

model::EnvironmentRef resolve_environment(const SiteConfig& site, const model::RunSpec& spec) {
  auto environment = spec.environment;
  if (wants_site_interpreter(spec)) environment.interpreter = site.interpreter.string();
  return environment;
}

}  // namespace lathe::server
