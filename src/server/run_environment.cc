#include "server/run_environment.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/registry_tools.h"
#include "sys/command.h"

namespace lathe::server {

using base::Code;
using base::Error;

namespace {

Definition wanted_definition(db::Connection& connection, const std::string& workspace, const model::RunSpec& spec,
                             const std::string& text) {
  const auto& environment = spec.environment;
  if (!text.empty()) {
    auto given = make_definition(stored_json(text).as_object());
    given.name = environment.name;
    given.version = environment.version;
    return given;
  }
  if (environment.name.empty()) return plain_definition();
  std::int64_t number = environment.version.empty() ? 0 : parse_version(environment.version);
  try {
    return find_definition(connection, workspace, environment.name, number);
  } catch (const Error& error) {
    throw Error(Code::invalid, error.text()).field("environment.name").hint(error.hint());
  }
}

// A user-managed environment names its interpreter as a person types it.
std::string find_interpreter(const std::string& asked) {
  if (asked.starts_with('/')) return asked;
  const char* path = ::getenv("PATH");
  for (const std::string& name : {asked, std::string("python3")})
    if (auto found = sys::find_program(name.empty() ? "python3" : name, path ? path : ""); !found.empty()) return found;
  return {};
}

}  // namespace

bool may_be_built(const model::RunSpec& spec) {
  return spec.kind == model::RunKind::script && spec.environment.interpreter.empty() &&
         (!spec.command.script.empty() || !spec.environment.name.empty() || spec.environment.definition);
}

EnvironmentPlan plan_environment(db::Connection& connection, const SiteConfig& site, const std::string& workspace,
                                 const model::RunSpec& spec, const std::string& text) {
  EnvironmentPlan plan;
  if (!may_be_built(spec)) return plan;
  if (const auto& interpreter = site.environments.interpreter; !interpreter.empty()) {
    plan.notes.push_back(fmt::format("the interpreter is the site's: {}", interpreter.string()));
    return plan;
  }
  plan.definition = wanted_definition(connection, workspace, spec, text);
  plan.row.name = plan.definition->name;
  plan.row.version = plan.definition->version;
  plan.row.definition = plan.definition->digest;
  const auto read = read_new_definition(site, *plan.definition);
  plan.is_built = !read.user_managed || read.image.wanted();
  if (plan.is_built) return plan;
  auto interpreter = find_interpreter(read.interpreter);
  if (interpreter.empty())
    throw Error(Code::invalid, fmt::format("there is no interpreter '{}' here", base::printable(read.interpreter, 200)))
        .field("environment.definition.python.interpreterPath")
        .hint("give its absolute path, or let Lathe build the environment: userManagedDependencies false");
  plan.notes.push_back(fmt::format("the interpreter is the user's: {}", interpreter));
  return plan;
}

rt::Task<void> look_for_environment(EnvironmentBuilds& builds, std::string workspace, const model::RunSpec& spec,
                                    EnvironmentPlan& plan) {
  if (!plan.is_built) co_return;
  auto wish = build_wish(workspace, spec, *plan.definition);
  auto ready = co_await builds.find_ready(workspace, build_key(wish.definition.digest, wish.source));
  if (!ready) co_return;
  plan.row.lock = ready->lock;
  plan.row.substitutions_json = std::move(ready->substitutions_json);
  for (auto& note : replacement_notes(plan.row.substitutions_json)) plan.notes.push_back(std::move(note));
}

void order_environment(const EnvironmentSite& builds, const SiteConfig& site, const model::RunSpec& spec,
                       const std::optional<db::run_environments::RunEnvironment>& row, const std::string& definition,
                       wire::RunnerOrder& order) {
  order.environment = spec.environment;
  if (!may_be_built(spec)) return;
  if (!row) {
    order.environment.interpreter = site.environments.interpreter.string();
    return;
  }
  if (row->lock) {
    order.lock = row->lock;
    order.realise = builds.realise_order();
    return;
  }
  const auto read = read_definition({.name = {}, .version = {}, .text = definition, .digest = {}});
  order.environment.interpreter = find_interpreter(read.interpreter);
  order.environment.variables.insert(read.variables.begin(), read.variables.end());
}

std::vector<std::string> replacement_notes(const std::string& substitutions_json) {
  std::vector<std::string> notes;
  const auto all = stored_json(substitutions_json);
  for (const auto& each : all.as_array()) {
    auto text = [&](const char* key) { return std::string(std::string_view(each.at(key).as_string())); };
    notes.push_back(
        base::printable(fmt::format("{} instead of {}: {}", text("given"), text("asked"), text("why")), 1000));
  }
  return notes;
}

wire::BuiltEnvironment show_environment(const db::run_environments::RunEnvironment& row) {
  return {row.name, row.version, row.lock, row.build, row.substitutions_json};
}

EnvironmentBuilds::Wish build_wish(std::string workspace, const model::RunSpec& spec, Definition definition) {
  EnvironmentBuilds::Wish wish;
  wish.workspace = std::move(workspace);
  if (names_files(read_definition(definition))) wish.source = spec.snapshot;
  wish.definition = std::move(definition);
  return wish;
}

}  // namespace lathe::server
