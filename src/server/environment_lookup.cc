#include "server/environment_lookup.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/strings.h"
#include "db/environments.h"
#include "server/curated_environments.h"
#include "server/outbound_rules.h"
#include "server/registry_tools.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace json = boost::json;

Definition make_definition(const json::object& definition) {
  auto text = wire::canonical_environment(definition);
  auto digest = base::sha256(text);
  return {"", "", std::move(text), digest};
}

Definition plain_definition() { return make_definition({}); }

Definition find_definition(db::Connection& connection, const std::string& workspace, const std::string& name,
                           std::int64_t number) {
  Definition found;
  if (auto row = db::environments::find(connection, workspace, name, number)) {
    found = make_definition(stored_json(row->definition_json).as_object());
    found.version = fmt::format("{}", row->version);
  } else if (auto curated = curated_environments().find(name); curated != curated_environments().end()) {
    found = make_definition(curated->second);
    found.version = fmt::format("{}", std::max<std::int64_t>(number, 1));
  } else {
    throw Error(Code::not_found,
                number > 0 ? fmt::format("there is no environment '{}' with version {}", base::printable(name), number)
                           : fmt::format("there is no environment '{}'", base::printable(name)))
        .field("environment")
        .hint("lathe env list shows those that are here, curated ones among them");
  }
  found.name = name;
  return found;
}

namespace {

[[noreturn]] void refuse(const Error& error) {
  throw Error(error.code(), error.text())
      .field(error.field().empty() ? "environment.definition" : "environment.definition." + error.field())
      .hint(error.hint());
}

}  // namespace

envs::Spec read_definition(const Definition& definition) {
  auto spec = envs::parse_definition(definition.text);
  if (!spec) refuse(spec.error());
  return std::move(*spec);
}

envs::Spec read_new_definition(const SiteConfig& site, const Definition& definition) {
  auto spec = read_definition(definition);
  if (auto checked = OutboundRules(site).check(spec); !checked) refuse(checked.error());
  return spec;
}

bool names_files(const envs::Spec& spec) {
  auto is_path = [](const std::string& text) {
    return text.find("://") == std::string::npos &&
           (text.starts_with('.') || text.ends_with(".whl") || text.ends_with(".tar.gz") || text.ends_with(".zip"));
  };
  auto is_folder = [](const std::string& text) { return text.find("://") == std::string::npos; };
  return !spec.options.requirement_files.empty() || !spec.options.constraint_files.empty() ||
         std::ranges::any_of(spec.pip, is_path) || std::ranges::any_of(spec.options.find_links, is_folder);
}

base::Digest build_key(const base::Digest& definition, const std::optional<base::Digest>& source) {
  return source ? base::sha256(fmt::format("{}\n{}\n", definition.hex(), source->hex())) : definition;
}

}  // namespace lathe::server
