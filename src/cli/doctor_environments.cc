#include <unistd.h>

#include <array>
#include <set>

#include "base/strings.h"
#include "cli/doctor.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

std::string find_on_path(const std::string& path_variable, std::string_view program) {
  for (auto folder : base::split(path_variable, ':')) {
    fs::path candidate = fs::path(folder) / program;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

// "python3.11" on the PATH and "3.6.15" of pyenv, in the order of versions.
std::vector<std::string> find_pythons(const BuildSurroundings& surroundings) {
  std::set<std::pair<int, std::string>> found;
  constexpr int kOldest = 6, kNewest = 15;
  for (int minor = kOldest; minor <= kNewest; ++minor)
    if (!find_on_path(surroundings.path, fmt::format("python3.{}", minor)).empty())
      found.emplace(minor, fmt::format("3.{}", minor));
  std::error_code failed;
  for (fs::directory_iterator entry(fs::path(surroundings.home) / ".pyenv" / "versions", failed);
       !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    auto name = entry->path().filename().string();
    auto parts = base::split(name, '.');
    if (parts.size() < 2 || parts[0] != "3" || ::access((entry->path() / "bin" / "python").c_str(), X_OK) != 0)
      continue;
    found.emplace(static_cast<int>(base::parse_u64(parts[1]).value_or(0)), name);
  }
  std::vector<std::string> out;
  for (const auto& [minor, name] : found) out.push_back(name);
  return out;
}

Finding examine_pythons(const BuildSurroundings& surroundings) {
  auto found = find_pythons(surroundings);
  if (!found.empty()) return {"Pythons for environments", Verdict::ok, fmt::format("{}", fmt::join(found, ", ")), ""};
  return {"Pythons for environments", Verdict::missing, "no python3.N on the PATH nor with pyenv",
          "apt install python3 python3-venv, or pyenv install 3.11"};
}

Finding examine_uv(const BuildSurroundings& surroundings) {
  auto found = ::access(surroundings.uv.c_str(), X_OK) == 0 ? surroundings.uv : find_on_path(surroundings.path, "uv");
  if (!found.empty()) return {"uv", Verdict::ok, found, ""};
  return {"uv", Verdict::missing, "no uv on the PATH nor in LATHE_UV",
          "the first build installs it into the cache; or: pip install uv"};
}

struct Program {
  std::string_view what;
  std::array<std::string_view, 2> files;
  std::string_view advice;
};
constexpr std::array kPrograms{
    Program{"Open MPI headers", {"mpicc", ""}, "only to build Horovod: apt install libopenmpi-dev"},
    Program{"compiler", {"g++", "c++"}, "only for packages that are built from source: apt install build-essential"},
    Program{"container engine", {"podman", "docker"}, "only for images: apt install podman"},
};

Finding examine_program(const BuildSurroundings& surroundings, const Program& program) {
  for (auto file : program.files)
    if (auto found = file.empty() ? std::string() : find_on_path(surroundings.path, file); !found.empty())
      return {std::string(program.what), Verdict::ok, found, ""};
  return {std::string(program.what), Verdict::missing, fmt::format("no {} on the PATH", program.files[0]),
          std::string(program.advice)};
}

}  // namespace

std::vector<Finding> examine_environments(const BuildSurroundings& surroundings) {
  std::vector<Finding> out{examine_pythons(surroundings), examine_uv(surroundings)};
  for (const auto& program : kPrograms) out.push_back(examine_program(surroundings, program));
  return out;
}

}  // namespace lathe::cli
