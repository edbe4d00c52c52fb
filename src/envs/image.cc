#include "envs/image.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "envs/tool_variables.h"
#include "envs/work_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;
using base::Result;

Result<ImageFacts> build_from(const ContainerEngine& engine, const std::string& dockerfile, const Settings& settings,
                              const LogSink& log, std::stop_token stop) {
  LATHE_TRY(auto work, WorkFolder::make(settings.cache, "image"));
  return engine.build_image(dockerfile, work.path(), log, std::move(stop));
}

Result<ContainerEngine> find_engine(const Settings& settings) {
  LATHE_TRY(auto engine, ContainerEngine::find(settings.engine));
  return engine.with(tool_variables(settings));
}

// Certificates and folders of packages that variables of ours name.
std::vector<Bind> named_by_variables(const std::vector<std::string>& environment) {
  std::set<fs::path> found;
  for (const auto& one : environment)
    for (std::string_view name :
         {"SSL_CERT_FILE=", "SSL_CERT_DIR=", "REQUESTS_CA_BUNDLE=", "PIP_CERT=", "UV_FIND_LINKS=", "PIP_FIND_LINKS="})
      if (one.starts_with(name))
        for (auto path : base::split(std::string_view(one).substr(name.size()), ' ')) found.emplace(path);
  std::vector<Bind> out;
  std::error_code ignored;
  for (const auto& path : found)
    if (path.is_absolute() && fs::exists(path, ignored)) out.push_back({path, true});
  return out;
}

}  // namespace

Result<LockedImage> lock_image_of(const ImageRequest& request, const Settings& settings, const LogSink& log,
                                  std::stop_token stop) {
  LATHE_TRY(auto engine, find_engine(settings));
  if (!request.dockerfile.empty()) {
    LATHE_TRY(auto facts, build_from(engine, request.dockerfile, settings, log, stop));
    return LockedImage{"", facts.id, "", request.dockerfile};
  }
  if (request.reference.empty() || request.reference.starts_with('-'))
    return base::fail(Error(Code::invalid, "docker.enabled asks for an image, but none is named")
                          .field("docker.baseImage")
                          .hint("set env.docker.base_image, or leave docker.enabled off"));
  LATHE_TRY(auto facts, engine.get_image(request.reference, log, stop));
  log(fmt::format("image {}: {}", request.reference, facts.id.substr(0, 12)));
  return LockedImage{request.reference, facts.id, facts.manifest, ""};
}

Result<void> ensure_image(const LockedImage& image, const Settings& settings, const LogSink& log,
                          std::stop_token stop) {
  LATHE_TRY(auto engine, find_engine(settings));
  if (engine.has_image(image.id, stop)) return {};
  ImageFacts facts;
  if (!image.dockerfile.empty()) {
    LATHE_TRY(facts, build_from(engine, image.dockerfile, settings, log, stop));
  } else {
    // By its digest: the name may mean another image by now.
    const auto name = image.reference.substr(0, image.reference.find('@'));
    const auto colon = name.rfind(':'), slash = name.rfind('/');
    const bool tagged = colon != name.npos && (slash == name.npos || colon > slash);
    const auto exact = image.manifest.empty()
                           ? image.reference
                           : fmt::format("{}@{}", tagged ? name.substr(0, colon) : name, image.manifest);
    LATHE_TRY(facts, engine.get_image(exact, log, stop));
  }
  if (facts.id == image.id) return {};
  return base::fail(
      Error(Code::conflict, fmt::format("the image {} is not the one that was locked: it is {} now, not {}",
                                        image.reference, facts.id.substr(0, 12), image.id.substr(0, 12)))
          .hint("lock the environment anew: lathe env build NAME --refresh"));
}

Result<sys::CommandResult> run_tool(const Settings& settings, sys::CommandRequest request, const sys::LineSink& errors,
                                    std::stop_token stop) {
  if (settings.image.empty()) return sys::run_command(request, errors, std::move(stop));
  LATHE_TRY(auto engine, ContainerEngine::find(settings.engine));
  ContainerRun run{.image = settings.image,
                   .name = "lathe-tool-" + base::to_hex(base::random_bytes(8)),
                   .binds = {{settings.cache, false}},
                   .directory = request.directory,
                   .variables = {},
                   .argv = request.argv};
  const fs::path program = request.argv.at(0);
  if (program.is_absolute() && program.filename() == "uv") run.binds.push_back({program, true});
  if (!settings.wheelhouse.empty()) run.binds.push_back({settings.wheelhouse, true});
  if (!settings.source_folder.empty()) run.binds.push_back({settings.source_folder, true});
  std::ranges::move(named_by_variables(request.environment), std::back_inserter(run.binds));
  for (const auto& one : request.environment)
    if (auto name = one.substr(0, one.find('=')); has_meaning_in_images(name)) run.variables.push_back(std::move(name));
  request.argv = engine.command(run);
  request.directory.clear();
  request.leaves_daemons = true;
  request.after_kill = engine.remove_command(run.name);  // its monitor is killed, too
  return sys::run_command(request, errors, std::move(stop));
}

std::vector<Interpreter> interpreters_in_image(const Settings& settings) {
  static const std::string kList =
      "for folder in $(echo \"$PATH\" | tr : ' ') /opt/conda/bin /opt/miniconda/bin /usr/local/bin; do "
      "for file in \"$folder\"/python3 \"$folder\"/python3.*; do [ -x \"$file\" ] || continue; "
      "echo \"$(\"$file\" -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])' 2>/dev/null) $file\"; done; done";
  std::vector<Interpreter> out;
  auto listed = run_tool(settings, {{"/bin/sh", "-c", kList}, tool_variables(settings), {}}, {}, {});
  if (!listed || listed->status != 0) return out;
  for (auto line : base::split(listed->output, '\n')) {
    const auto space = line.find(' ');
    if (space == line.npos || !line.starts_with("3.")) continue;
    if (std::ranges::none_of(out, [&](const auto& one) { return one.minor == line.substr(0, space); }))
      out.push_back({std::string(line.substr(0, space)), fs::path(line.substr(space + 1))});
  }
  return out;
}

}  // namespace lathe::envs
