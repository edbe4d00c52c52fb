#include "server/run_boxes.h"

#include <unistd.h>

#include <cstdlib>

#include "base/log.h"
#include "envs/settings.h"
#include "server/secret_keys.h"
#include "sys/box.h"

namespace lathe::server {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;

// $XDG_…, or its place below the home; empty when neither is known.
fs::path user_folder(const char* variable, const char* below_home) {
  if (const char* named = std::getenv(variable); named && *named == '/') return fs::path(named) / "lathe";
  if (const char* home = std::getenv("HOME"); home && *home == '/') return fs::path(home) / below_home / "lathe";
  return {};
}

// A box hides folders by their real paths.
void hide(std::vector<std::string>& out, const fs::path& folder) {
  if (folder.empty()) return;
  std::error_code absent;
  const fs::path real = fs::weakly_canonical(folder, absent);
  out.push_back((absent ? folder : real).string());
}

std::vector<std::string> hidden_folders(const SiteConfig& site, const StateDir& state) {
  std::vector<std::string> out;
  hide(out, state.root());
  hide(out, site.work);
  try {
    hide(out, SecretKeys(site.key_folder).folder());
  } catch (const Error&) {
    // A server that does not know where its keys are has none.
  }
  hide(out, user_folder("XDG_CONFIG_HOME", ".config"));
  hide(out, user_folder("XDG_CACHE_HOME", ".cache"));
  hide(out, site.environments.cache.empty() ? envs::default_cache() : site.environments.cache);
  hide(out, site.mount_cache_folder);
  // Whoever speaks with the user's service manager there has processes started outside of every box.
  if (::geteuid() != 0) hide(out, fmt::format("/run/user/{}", ::geteuid()));
  return out;
}

}  // namespace

std::string look_for_boxes(const SiteConfig& site) {
  if (site.box == BoxRule::off) return "config.yaml says 'box: off'";
  const auto why = sys::probe_box();
  if (why.empty()) return why;
  if (site.box == BoxRule::on)
    throw Error(Code::unsupported, "config.yaml demands boxes for runs, and none can be made: " + why)
        .field("providers.local.box")
        .hint("lathe doctor says what is missing; 'box: auto' does without");
  base::log::warn("runs have no box: they can read all that this server can", {{"why", why}});
  return why;
}

wire::BoxRules make_box_rules(const SiteConfig& site, const StateDir& state) {
  wire::BoxRules rules;
  rules.hidden = hidden_folders(site, state);
  rules.shown = {state.socket().parent_path().string()};
  for (const auto& folder : site.box_shows) rules.shown.push_back(folder);
  rules.run_as = site.run_as;
  rules.variables = site.pass_variables;
  rules.processes = site.most_processes;
  return rules;
}

}  // namespace lathe::server
