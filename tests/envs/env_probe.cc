// usage: env_probe SETTINGS.json lock DEFINITION.json       prints the lock
//        env_probe SETTINGS.json realise LOCK [files]       prints prefix and interpreter; "files" checks every file
//        env_probe SETTINGS.json compile LOCK               byte code
//        env_probe SETTINGS.json explain LOCK
//        env_probe SETTINGS.json hold LOCK                  until its input ends
//        env_probe SETTINGS.json gc SECONDS                 prints what was removed
// The log goes to stderr; an error is its last line, as "error CODE: MESSAGE" and "hint: …".
#include <fmt/format.h>

#include <boost/json.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "envs/cache.h"
#include "envs/locker.h"

namespace {

using namespace lathe;
namespace json = boost::json;

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

template <class T>
T need(base::Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return;
    else
      return std::move(*result);
  }
  fmt::print(stderr, "error {}: {}\nhint: {}\n", base::code_name(result.error().code()), result.error().text(),
             result.error().hint());
  std::exit(1);
}

envs::Settings settings_from(const json::object& object) {
  auto text = [&](const char* key) {
    const auto* found = object.if_contains(key);
    return found ? std::string(found->as_string()) : std::string();
  };
  auto flag = [&](const char* key, bool otherwise) {
    const auto* found = object.if_contains(key);
    return found ? found->as_bool() : otherwise;
  };
  envs::Settings out;
  out.cache = text("cache");
  out.uv = text("uv");
  out.index = text("index");
  out.wheelhouse = text("wheelhouse");
  out.engine = text("engine");
  out.source_folder = text("source_folder");
  out.substitutions = text("substitutions");
  out.offline = flag("offline", false);
  out.strict = flag("strict", false);
  out.era = flag("era", true);
  out.has_gpu = flag("has_gpu", false);
  out.python_downloads = flag("python_downloads", false);
  if (const auto* list = object.if_contains("pythons"))
    for (const auto& item : list->as_array()) out.pythons.emplace_back(std::string(item.as_string()));
  if (const auto* list = object.if_contains("channels"))
    for (const auto& item : list->as_array()) out.channels.emplace_back(item.as_string());
  out.sdk.path = text("sdk");
  out.sdk.version = text("sdk_version");
  if (!out.sdk.path.empty()) out.sdk.digest = base::sha256(read(out.sdk.path));
  std::string user = text("user"), password = text("password");
  if (!user.empty())
    out.credentials = [=](std::string_view) { return std::optional(envs::Credential{user, password}); };
  return out;
}

int run(const std::vector<std::string>& arguments) {
  const auto settings = settings_from(json::parse(read(arguments.at(1))).as_object());
  const std::string& what = arguments.at(2);
  auto log = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  envs::Cache cache(settings);
  if (what == "lock") {
    auto spec = need(envs::parse_definition(read(arguments.at(3))));
    fmt::print("{}", need(envs::make_lock(settings, spec, log, {})).text);
    return 0;
  }
  if (what == "gc") {
    auto gone = need(cache.collect({std::chrono::seconds(std::stoi(arguments.at(3))), std::nullopt}, false));
    for (const auto& entry : gone.removed) fmt::print("{}\n", entry.lock.hex());
    return 0;
  }
  const auto lock = need(envs::parse_lock(read(arguments.at(3))));
  if (what == "explain") fmt::print("{}", envs::explain(lock));
  if (what == "compile") need(cache.compile_bytecode(lock.digest, log, {}));
  if (what == "realise") {
    const bool files = arguments.size() > 4;
    auto made = need(cache.ensure(lock, log, {}, files ? envs::Check::files : envs::Check::marker));
    fmt::print("{}\n{}\n", made.prefix, made.interpreter);
  }
  if (what == "hold") {
    auto held = need(cache.hold(lock.digest));
    fmt::print("held\n");
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) continue;
  }
  return 0;
}

}  // namespace

int main(int count, char** values) { return run(std::vector<std::string>(values, values + count)); }
