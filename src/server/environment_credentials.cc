#include "server/environment_credentials.h"

#include "base/strings.h"
#include "db/secrets.h"
#include "envs/index_environment.h"
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

rt::Task<KnownCredentials> known_credentials(Core& core, std::string workspace, std::vector<std::string> urls) {
  std::map<std::string, db::secrets::Secret> rows;
  urls.push_back(core.site.environments.index);
  add(urls, core.site.environments.extra_indexes);
  co_await core.database.read([&](db::Connection& connection) {
    for (const auto& url : urls)
      if (auto name = envs::credential_name(url); !name.empty())
        if (auto row = db::secrets::find(connection, workspace, name)) rows.emplace(name, std::move(*row));
  });
  KnownCredentials known;
  if (!rows.empty())
    co_await core.files.run(core.home, [&] {
      const SecretKeys keys(core.site.key_folder);
      for (const auto& [name, row] : rows)
        known[name] = read_credential(open_secret(keys, workspace, name, {row.key_id, row.wrapped_key, row.sealed}));
    });
  co_return known;
}

rt::Task<IndexCredentials> index_credentials(Core& core, std::string workspace, std::vector<std::string> urls) {
  co_return envs::credentials_by_name(co_await known_credentials(core, std::move(workspace), std::move(urls)));
}

}  // namespace lathe::server
