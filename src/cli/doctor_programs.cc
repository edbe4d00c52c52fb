#include <unistd.h>

#include <set>

#include "base/strings.h"
#include "cli/doctor.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> find_on_path(const std::string& path_variable, std::string_view program) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (auto folder : base::split(path_variable, ':')) {
    if (folder.empty()) continue;
    fs::path candidate = fs::path(folder) / program;
    std::error_code error;
    if (::access(candidate.c_str(), X_OK) == 0 && seen.insert(fs::weakly_canonical(candidate, error).string()).second)
      out.push_back(candidate.string());
  }
  return out;
}

struct Program {
  std::string_view what, file, advice;
};
constexpr std::array kPrograms{
    Program{"Python", "python3", "apt install python3, or give --python PATH to lathe run submit"},
    Program{"Open MPI", "mpirun", "only for MPI runs: apt install openmpi-bin"},
    Program{"Slurm", "sbatch", "only for compute targets on a Slurm cluster: apt install slurm-client"},
};

}  // namespace

std::vector<Finding> examine_programs(const std::string& path_variable) {
  std::vector<Finding> out;
  for (const auto& program : kPrograms) {
    auto found = find_on_path(path_variable, program.file);
    if (found.empty()) {
      out.push_back({std::string(program.what), Verdict::missing, fmt::format("no {} on the PATH", program.file),
                     std::string(program.advice)});
      continue;
    }
    std::string detail;
    for (const auto& file : found) detail += fmt::format("{}{}", detail.empty() ? "" : ", ", file);
    out.push_back({std::string(program.what), Verdict::ok, detail, ""});
  }
  return out;
}

}  // namespace lathe::cli
