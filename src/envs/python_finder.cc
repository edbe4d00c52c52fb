#include "envs/python_finder.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/strings.h"
#include "envs/image.h"
#include "envs/version.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// root/*/bin, newest name first, so that 3.6.15 comes before 3.6.2.
void add_versions(std::vector<fs::path>& out, const fs::path& root) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(root, ignored)) found.push_back(entry.path());
  std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
    return compare_versions(a.filename().string(), b.filename().string()) > 0;
  });
  for (const auto& path : found) out.push_back(path / "bin");
}

std::vector<fs::path> search_folders(const Settings& settings) {
  std::vector<fs::path> out = settings.pythons;
  if (out.empty()) {
    for (auto folder : base::split(variable("PATH"), ':'))
      // pyenv's shims are scripts that work only for the version chosen in a folder.
      if (folder.starts_with('/') && !folder.ends_with("/shims")) out.emplace_back(folder);
    out.emplace_back("/usr/bin");
    out.emplace_back("/usr/local/bin");
    const std::string home = variable("HOME"), pyenv = variable("PYENV_ROOT");
    add_versions(out, fs::path(pyenv.empty() ? home + "/.pyenv" : pyenv) / "versions");
    add_versions(out, fs::path(home) / ".local/share/uv/python");
  }
  add_versions(out, settings.cache / "python");
  return out;
}

std::optional<std::string> minor_of(std::string_view file_name) {
  if (!file_name.starts_with("python3.")) return std::nullopt;
  auto number = base::parse_u64(file_name.substr(8));
  return number && *number < 100 ? std::optional(fmt::format("3.{}", *number)) : std::nullopt;
}

// The one that `python3` means first, then from new to old. A virtual environment's python is a link to the one that it
// was made from, which is what we want.
std::vector<Interpreter> in_folder(const fs::path& folder) {
  std::error_code ignored;
  std::vector<Interpreter> out;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    auto minor = minor_of(entry.path().filename().string());
    if (!minor || ::access(entry.path().c_str(), X_OK) != 0) continue;
    if (fs::path path = fs::canonical(entry.path(), ignored); !path.empty()) out.push_back({*minor, path});
  }
  const fs::path main = fs::canonical(folder / "python3", ignored);
  std::ranges::sort(out, [&](const Interpreter& a, const Interpreter& b) {
    if ((a.path == main) != (b.path == main)) return a.path == main;
    return compare_versions(a.minor, b.minor) > 0;
  });
  return out;
}

bool works(const Settings& settings, const Interpreter& python, std::stop_token stop) {
  sys::CommandRequest request{{python.path.string(), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"},
                              tool_environment(settings),
                              {}};
  auto result = run_tool(settings, std::move(request), {}, stop);
  return result && result->status == 0 && base::trim(result->output) == python.minor;
}

}  // namespace

std::vector<Interpreter> find_interpreters(const Settings& settings) {
  if (!settings.image.empty()) return interpreters_in_image(settings);
  std::vector<Interpreter> out;
  std::set<fs::path> seen;
  for (const auto& folder : search_folders(settings))
    for (auto& python : in_folder(folder))
      if (seen.insert(python.path).second) out.push_back(std::move(python));
  return out;
}

std::optional<Interpreter> find_python(const Settings& settings, std::string_view minor, std::stop_token stop) {
  for (const auto& python : find_interpreters(settings))
    if (python.minor == minor && works(settings, python, stop)) return python;
  return std::nullopt;
}

}  // namespace lathe::envs
