#include "server/environment_site.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "server/sdk_files.h"

namespace lathe::server {

using base::Code;
using base::Error;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostSdkBytes = 64u << 20;

envs::Settings settings_of(Core& core) {
  const auto& rules = core.site.environments;
  envs::Settings settings;
  settings.cache = rules.cache.empty() ? envs::default_cache() : rules.cache;
  settings.uv = rules.uv;
  settings.engine = rules.engine;
  settings.index = rules.index;
  settings.extra_indexes = rules.extra_indexes;
  settings.wheelhouse = rules.wheelhouse;
  settings.offline = rules.offline;
  settings.channels = rules.channels;
  settings.substitutions = rules.substitutions;
  settings.strict = rules.strict;
  settings.era = rules.era;
  settings.pythons = rules.pythons;
  settings.python_downloads = rules.python_downloads;
  settings.engine_arguments = rules.engine_arguments;
  settings.engine_host_arguments = rules.engine_host_arguments;
  settings.variables = rules.variables;
  settings.has_gpu = !core.provider.capacity().gpus.empty();
  return settings;
}

const SdkFile& sdk_file() {
  for (const auto& file : sdk_files())
    if (file.name.starts_with("lathe_sdk-")) return file;
  throw Error(Code::internal, "this server carries no SDK");
}

// "lathe_sdk-0.1.0-py3-none-any.whl" → "0.1.0"
std::string version_of(std::string_view name) {
  auto from = name.find('-') + 1;
  return std::string(name.substr(from, name.find('-', from) - from));
}

void write_file(const fs::path& file, std::string_view bytes) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) throw base::errno_error(failed.value(), "make " + file.parent_path().string());
  auto fresh = file;
  fresh += fmt::format(".{}", ::getpid());
  std::ofstream stream(fresh, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream || ::rename(fresh.c_str(), file.c_str()) != 0) {
    const int number = errno;
    ::unlink(fresh.c_str());
    throw base::errno_error(number, "write " + file.string());
  }
}

}  // namespace

EnvironmentSite::EnvironmentSite(Core& core)
    : core_(core), settings_(settings_of(core)), cache_(settings_), outbound_(core.site) {
  settings_.check_url = [this](std::string_view url) { return outbound_.check_url(url); };
}

std::unique_ptr<net::ForwardProxy> EnvironmentSite::open_way_out(envs::Settings& settings,
                                                                 const envs::LogSink& log) const {
  if (settings.offline) return nullptr;
  auto proxy = base::value_or_throw(net::ForwardProxy::start(outbound_.for_proxy(), log));
  settings.proxy = proxy->url();
  return proxy;
}

std::string_view EnvironmentSite::sdk_bytes() { return sdk_file().bytes; }

// By digest, so that servers of several versions can share the folder.
envs::SdkWheel EnvironmentSite::place_sdk(std::string_view bytes, const std::string& version) const {
  envs::SdkWheel wheel;
  wheel.digest = base::sha256(bytes);
  wheel.version = version;
  wheel.path = settings_.cache / "sdk" / wheel.digest.hex() / fmt::format("lathe_sdk-{}-py3-none-any.whl", version);
  std::error_code failed;
  auto size = fs::file_size(wheel.path, failed);
  if (failed || size != bytes.size()) write_file(wheel.path, bytes);
  return wheel;
}

envs::Settings EnvironmentSite::for_locking() const {
  auto settings = settings_;
  settings.sdk = place_sdk(sdk_bytes(), version_of(sdk_file().name));
  return settings;
}

envs::Settings EnvironmentSite::for_lock(const envs::Lock& lock) const {
  auto settings = for_locking();
  const auto& wanted = lock.content.sdk_sha256;
  if (settings.sdk.digest == wanted || lock.content.sdk_version.empty()) return settings;
  auto bytes = core_.store.read(wanted, kMostSdkBytes);
  if (!bytes)
    throw Error(Code::not_found,
                fmt::format("the lock names the SDK {} with the digest {}, which this server never had",
                            lock.content.sdk_version, wanted.hex().substr(0, 12)))
        .hint("lock it anew with this server's SDK: lathe env build NAME --refresh");
  settings.sdk = place_sdk(*bytes, lock.content.sdk_version);
  return settings;
}

envs::Lock EnvironmentSite::with_known_sdk(envs::Lock lock) const {
  const auto own = base::sha256(sdk_bytes());
  const auto& named = lock.content.sdk_sha256;
  if (lock.content.sdk_version.empty() || named == own || core_.store.find(named)) return lock;
  lock.content.sdk_version = version_of(sdk_file().name);
  lock.content.sdk_sha256 = own;
  return envs::write_lock(std::move(lock.content));
}

wire::RealiseOrder EnvironmentSite::realise_order() const {
  wire::RealiseOrder order;
  order.cache = settings_.cache.string();
  order.uv = settings_.uv.string();
  order.engine = settings_.engine.string();
  order.index = settings_.index;
  order.extra_indexes = settings_.extra_indexes;
  order.channels = settings_.channels;
  for (const auto& folder : settings_.pythons) order.pythons.push_back(folder.string());
  order.wheelhouse = settings_.wheelhouse.string();
  order.offline = settings_.offline;
  order.python_downloads = settings_.python_downloads;
  order.engine_arguments = settings_.engine_arguments;
  order.engine_host_arguments = settings_.engine_host_arguments;
  return order;
}

}  // namespace lathe::server
