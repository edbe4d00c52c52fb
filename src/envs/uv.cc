#include "envs/uv.h"

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "envs/image.h"
#include "envs/index_environment.h"
#include "envs/tool_variables.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Error;

constexpr std::size_t kComplaintLines = 40;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

fs::path beside_our_binary() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path() / "uv";
}

base::Result<void> run_quietly(const Settings& settings, std::vector<std::string> argv, std::stop_token stop) {
  std::string last;
  sys::CommandRequest request{std::move(argv), tool_environment(settings), {}};
  LATHE_TRY(auto result, sys::run_command(request, [&](std::string_view line) { last = line; }, stop));
  if (result.status != 0) return base::fail(Code::unavailable, "{} failed: {}", request.argv[0], base::printable(last));
  return {};
}

// A virtual environment below the cache with the version that this release was tested with.
base::Result<fs::path> install_uv(const Settings& settings, const LogSink& log, std::stop_token stop) {
  const fs::path venv = settings.cache / "tools" / fmt::format("uv-{}", kUvVersion), program = venv / "bin" / "uv";
  if (is_program(program)) return program;
  log(fmt::format("uv is not on this machine: installing {} from the package index", kUvVersion));
  const std::string python = sys::find_program("python3", variable("PATH"));
  auto made = python.empty() ? base::Result<void>(base::fail(Code::not_found, "there is no python3"))
                             : run_quietly(settings, {python, "-m", "venv", "--clear", venv.string()}, stop);
  if (made)
    made = run_quietly(
        settings,
        {(venv / "bin" / "python").string(), "-m", "pip", "install", "--quiet", fmt::format("uv=={}", kUvVersion)},
        stop);
  if (made && is_program(program)) return program;
  if (!made && made.error().code() == Code::cancelled) return std::unexpected(made.error());
  return base::fail(
      Error(Code::unavailable, fmt::format("uv, which builds environments, is not on this machine and could "
                                           "not be installed{}",
                                           made ? "" : ": " + made.error().message()))
          .hint("install it (pip install uv) and name it in config.yaml as environments: {uv: PATH}"));
}

bool is_disk_complaint(std::string_view complaint) {
  for (const char* sign : {"No space left on device", "os error 28", "Disk quota exceeded", "os error 122"})
    if (complaint.find(sign) != std::string_view::npos) return true;
  return false;
}

Error full_disk(const Settings& settings) {
  return Error(Code::no_space, "the disk of the environment cache is full")
      .hint(fmt::format("free space in {}, remove unused environments (lathe env gc), or name another folder in "
                        "config.yaml as environments: {{cache: PATH}}",
                        settings.cache.string()));
}

}  // namespace

// What is built from source in an image fits that image only.
fs::path package_cache(const Settings& settings) {
  return settings.cache / (settings.image.empty() ? "uv" : "uv-" + settings.image.substr(0, 12));
}

std::vector<std::string> tool_environment(const Settings& settings) {
  auto environment = tool_variables(settings);
  for (const char* name :
       {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "UV_PYTHON", "UV_EXCLUDE_NEWER",
        "UV_SYSTEM_PYTHON", "UV_PROJECT", "UV_WORKING_DIRECTORY", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_RESOLUTION",
        "UV_NO_BINARY", "UV_ONLY_BINARY", "UV_REQUIRE_HASHES", "UV_LINK_MODE", "UV_COMPILE_BYTECODE"})
    sys::unset_variable(environment, name);
  sys::set_variable(environment, "UV_CACHE_DIR", package_cache(settings).string());
  sys::set_variable(environment, "UV_PYTHON_INSTALL_DIR", (settings.cache / "python").string());
  sys::set_variable(environment, "UV_NO_PROGRESS", "1");
  sys::set_variable(environment, "NO_COLOR", "1");
  sys::set_variable(environment, "PYTHONDONTWRITEBYTECODE", "1");
  return environment;
}

base::Result<Uv> Uv::find(const Settings& settings, const LogSink& log, std::stop_token stop) {
  if (!settings.uv.empty()) {
    if (is_program(settings.uv)) return Uv(settings, settings.uv);
    return base::fail(Error(Code::not_found, fmt::format("environments.uv: {} is not a program", settings.uv.string()))
                          .hint("name the program itself, e.g. the output of: command -v uv"));
  }
  for (const fs::path& path :
       {fs::path(variable("LATHE_UV")), beside_our_binary(), fs::path(sys::find_program("uv", variable("PATH")))})
    if (is_program(path)) return Uv(settings, path);
  LATHE_TRY(auto program, install_uv(settings, log, stop));
  return Uv(settings, program);
}

Uv Uv::with(const PipOptions& options) const {
  Uv out = *this;
  out.options_ = options;
  return out;
}

Uv Uv::in(fs::path folder) const {
  Uv out = *this;
  out.folder_ = std::move(folder);
  return out;
}

base::Result<Uv::Answer> Uv::run(std::vector<std::string> arguments, const LogSink& log, std::stop_token stop,
                                 const std::vector<std::string>& variables) const {
  sys::CommandRequest request{{program_.string()}, tool_environment(settings_), {}};
  std::ranges::move(arguments, std::back_inserter(request.argv));
  auto secrets = set_indexes(request.environment, settings_, options_);
  if (auto way_out = split_credential(settings_.proxy).credential) secrets.push_back(way_out->password);
  for (const auto& one : variables) {
    sys::unset_variable(request.environment, one.substr(0, one.find('=')));
    request.environment.push_back(one);
  }
  // A folder without project files, so that none of them changes what uv does.
  std::error_code ignored;
  fs::create_directories(settings_.cache / "tmp", ignored);
  request.directory = (folder_.empty() ? settings_.cache / "tmp" : folder_).string();
  std::vector<std::string> tail;
  auto take = [&](std::string_view raw) {
    std::string line = without_secrets(raw, secrets);
    if (tail.size() == kComplaintLines) tail.erase(tail.begin());
    tail.push_back(line);
    if (log) log(line);
  };
  LATHE_TRY(auto result, run_tool(settings_, std::move(request), take, stop));
  Answer answer{result.status, std::move(result.output), {}};
  for (const auto& line : tail) answer.complaint += line + "\n";
  if (!answer.ok() && is_disk_complaint(answer.complaint)) return base::fail(full_disk(settings_));
  return answer;
}

std::string folder_link(const fs::path& folder) {
  const std::string path = folder.string();
  if (path.find(',') == std::string::npos) return path;
  std::string out = "file://";
  for (char c : path) out += std::string_view(",%#? ").contains(c) ? fmt::format("%{:02X}", c) : std::string(1, c);
  return out;
}

std::vector<std::string> source_arguments(const Settings& settings, const PipOptions& options) {
  std::vector<std::string> out;
  if (!settings.wheelhouse.empty()) out.insert(out.end(), {"--find-links", folder_link(settings.wheelhouse)});
  for (const auto& link : options.find_links) {
    const bool is_url = link.find("://") != std::string::npos;
    out.insert(out.end(), {"--find-links", is_url ? link : folder_link(settings.source_folder / link)});
  }
  for (const auto& name : options.no_binary) out.insert(out.end(), {"--no-binary", name});
  for (const auto& name : options.only_binary) out.insert(out.end(), {"--only-binary", name});
  if (options.prereleases) out.insert(out.end(), {"--prerelease", "allow"});
  if (options.no_index) out.emplace_back("--no-index");
  // pip looks at all indexes that a definition names and takes the best version; uv would stop at the first.
  if (!options.extra_indexes.empty()) out.insert(out.end(), {"--index-strategy", "unsafe-best-match"});
  if (settings.offline) out.emplace_back("--offline");
  return out;
}

bool is_network_complaint(std::string_view complaint) {
  for (const char* sign : {"Failed to fetch", "error sending request", "dns error", "Connection refused", "timed out",
                           "client error (Connect)", "tcp connect error", "Request failed after"})
    if (complaint.find(sign) != std::string_view::npos) return true;
  return false;
}

}  // namespace lathe::envs
