#include "server/environment_credentials.h"

#include <map>

#include "base/strings.h"
#include "db/secrets.h"
#include "model/names.h"
#include "server/secret_keys.h"

namespace lathe::server {

namespace {

void add(std::vector<std::string>& urls, const std::vector<std::string>& more) {
  urls.insert(urls.end(), more.begin(), more.end());
}

// A bare value is a token, as indexes of package forges take it with any name.
envs::Credential read_credential(const std::string& value) {
  auto colon = value.find(':');
  if (colon == std::string::npos) return {"__token__", value};
  return {value.substr(0, colon), value.substr(colon + 1)};
}

}  // namespace

std::string credential_name(std::string_view url) {
  auto from = url.find("://");
  if (from == std::string_view::npos) return {};
  auto host = url.substr(from + 3);
  host = host.substr(0, host.find_first_of("/:?#"));
  auto name = "pip-index-" + base::to_lower(host);
  return host.empty() || !model::check_secret_name(name) ? std::string() : name;
}

std::vector<std::string> index_urls(const envs::Spec& spec) {
  std::vector<std::string> urls{spec.options.index};
  add(urls, spec.options.extra_indexes);
  add(urls, spec.options.find_links);
  return urls;
}

std::vector<std::string> index_urls(const envs::Lock& lock) {
  std::vector<std::string> urls{lock.content.sources.index};
  add(urls, lock.content.sources.extra_indexes);
  add(urls, lock.content.sources.find_links);
  return urls;
}

rt::Task<IndexCredentials> index_credentials(Core& core, std::string workspace, std::vector<std::string> urls) {
  std::map<std::string, db::secrets::Secret> rows;
  urls.push_back(core.site.environments.index);
  add(urls, core.site.environments.extra_indexes);
  co_await core.database.read([&](db::Connection& connection) {
    for (const auto& url : urls)
      if (auto name = credential_name(url); !name.empty())
        if (auto row = db::secrets::find(connection, workspace, name)) rows.emplace(name, std::move(*row));
  });
  std::map<std::string, envs::Credential> known;
  if (!rows.empty())
    co_await core.files.run(core.home, [&] {
      const SecretKeys keys(core.site.key_folder);
      for (const auto& [name, row] : rows)
        known[name] = read_credential(open_secret(keys, workspace, name, {row.key_id, row.wrapped_key, row.sealed}));
    });
  co_return [known](std::string_view url) -> std::optional<envs::Credential> {
    auto found = known.find(credential_name(url));
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace lathe::server
