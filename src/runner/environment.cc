#include "runner/environment.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "envs/cache.h"
#include "envs/container_engine.h"
#include "envs/engine_arguments.h"
#include "envs/index_environment.h"
#include "sys/gpu.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::uint64_t kMostBytes = 4ull << 30;

envs::Settings settings_of(const wire::RealiseOrder& order) {
  envs::Settings settings;
  settings.cache = order.cache;
  settings.uv = order.uv;
  settings.engine = order.engine;
  settings.index = order.index;
  settings.extra_indexes = order.extra_indexes;
  settings.channels = order.channels;
  settings.wheelhouse = order.wheelhouse;
  settings.offline = order.offline;
  settings.python_downloads = order.python_downloads;
  settings.engine_arguments = order.engine_arguments;
  settings.engine_host_arguments = order.engine_host_arguments;
  for (const auto& folder : order.pythons) settings.pythons.emplace_back(folder);
  settings.has_gpu = sys::machine_may_have_gpu();
  return settings;
}

base::Result<std::string> fetch_blob(ServerLink& link, const base::Digest& digest) {
  LATHE_TRY(auto chunks, link.fetch_chunks(digest));
  if (chunks.blob_size > kMostBytes) return base::fail(base::Code::too_large, "the file {} is too large", digest.hex());
  std::string bytes;
  if (chunks.blob_size > 0) {
    LATHE_TRY(bytes, link.fetch_range(digest, 0, chunks.blob_size));
  }
  if (base::sha256(bytes) != digest) return base::fail(base::Code::corrupt, "what came is not {}", digest.hex());
  return bytes;
}

}  // namespace

base::Result<envs::Realised> Environment::deliver(const std::function<base::Result<void>()>& keep_going) {
  notes_.clear();
  if (!order_.lock) return envs::UserManaged().realise(order_.environment);
  auto settings = settings_of(order_.realise);
  auto realised = hold(settings);
  if (!realised) {
    LATHE_TRY_VOID(build(settings, keep_going));
    notes_.push_back(fmt::format("the environment was built on node {}: it was not there", order_.node));
    realised = hold(settings);
    if (!realised) return realised;
  }
  LATHE_TRY_VOID(envs::check_allowed(settings, realised->engine_arguments));
  // What the run says goes before what the environment says.
  for (const auto& [name, value] : order_.environment.variables) realised->variables[name] = value;
  return realised;
}

base::Result<void> Environment::protect(const envs::Realised& realised, sys::Mounts& mounts,
                                        const std::string& why_not) {
  if (realised.prefix.empty()) return {};
  auto mounted = why_not.empty() ? mounts.bind_read_only(realised.prefix, realised.prefix)
                                 : base::Result<void>(base::fail(base::Code::unsupported, "{}", why_not));
  if (!mounted && mounted.error().code() != base::Code::unsupported) return mounted;
  if (!mounted)
    notes_.push_back(fmt::format("the environment is not protected against writing: {}", mounted.error().text()));
  return {};
}

std::string image_of(const Order& order) {
  if (!order.lock) return {};
  auto found = envs::Cache(settings_of(order.realise)).find(*order.lock);
  return found ? found->image : std::string();
}

// The hold comes first: what is found then stays.
base::Result<envs::Realised> Environment::hold(const envs::Settings& settings) {
  const envs::Cache cache(settings);
  LATHE_TRY(held_, cache.hold(*order_.lock));
  auto found = cache.find(*order_.lock);
  if (found && !found->image.empty()) {
    LATHE_TRY(auto engine, envs::ContainerEngine::find(settings.engine));
    if (!engine.has_image(found->image, {})) found.reset();  // somebody removed it
  }
  if (!found) return base::fail(base::Code::not_found, "the environment {} is not here", order_.lock->hex());
  return std::move(*found);
}

base::Result<void> Environment::build(envs::Settings settings, const std::function<base::Result<void>()>& keep_going) {
  std::atomic<bool> done = false;
  base::Result<void> outcome;
  std::jthread worker([&](std::stop_token stop) {
    outcome = build_here(std::move(settings), std::move(stop));
    done = true;
    done.notify_all();
  });
  base::Result<void> wanted;
  while (!done && wanted) {
    std::this_thread::sleep_for(kLook);
    wanted = keep_going();
  }
  if (!wanted) worker.request_stop();
  worker.join();
  return wanted ? outcome : wanted;
}

base::Result<void> Environment::build_here(envs::Settings settings, std::stop_token stop) const {
  auto link = make_link_();
  LATHE_TRY(std::string text, fetch_blob(*link, *order_.lock));
  LATHE_TRY(envs::Lock lock, envs::parse_lock(text));
  const auto& content = lock.content;
  if (!content.sdk_version.empty()) {
    const auto name = fmt::format("lathe_sdk-{}-py3-none-any.whl", content.sdk_version);
    LATHE_TRY(auto path, fetch(*link, content.sdk_sha256, name));
    settings.sdk = {path, content.sdk_version, content.sdk_sha256};
  }
  LATHE_TRY(auto credentials, link->index_credentials());
  std::map<std::string, envs::Credential> known;
  for (auto& one : credentials) known[one.name] = {std::move(one.user), std::move(one.password)};
  settings.credentials = envs::credentials_by_name(std::move(known));
  settings.fetch_file = [&](const base::Digest& digest, const std::string& name) { return fetch(*link, digest, name); };
  std::ofstream log(log_, std::ios::app);
  auto say = [&](std::string_view line) { log << line << std::endl; };
  auto built = envs::Cache(settings).ensure(lock, say, std::move(stop));
  if (!built) return base::fail(std::move(built).error().during("building the environment on this node"));
  return {};
}

base::Result<fs::path> Environment::fetch(ServerLink& link, const base::Digest& digest, const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
    return base::fail(base::Code::invalid, "'{}' is not the name of a file", base::printable(name));
  LATHE_TRY(std::string bytes, fetch_blob(link, digest));
  const fs::path folder = folder_ / digest.hex();
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::ofstream out(folder / name, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (failed || !out) return base::fail(base::errno_error(failed ? failed.value() : EIO, "writing " + name));
  return folder / name;
}

}  // namespace lathe::runner
