// What this machine offers and lacks, as a list of findings. Each check looks at one thing and changes nothing (the
// disk check writes and removes one small file).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::cli {

enum class Verdict { ok, missing, warning };

struct Finding {
  std::string what = {};
  Verdict verdict = Verdict::ok;
  std::string detail = {};
  std::string advice = {};  // what to do; empty when ok
};

// Every python3 on the PATH, podman, uv, Open MPI, Slurm.
std::vector<Finding> examine_programs(const std::string& path_variable);
// What building of environments uses: Pythons by version, uv, the headers of Open MPI, a compiler, a container engine.
struct BuildSurroundings {
  std::string path, uv, home;  // $PATH, $LATHE_UV, $HOME
};
std::vector<Finding> examine_environments(const BuildSurroundings& surroundings);
// Control groups, user namespaces, FUSE, GPUs, open files, clock.
std::vector<Finding> examine_kernel();
// Space and fsync time of the state folder, or of its nearest parent that exists.
std::vector<Finding> examine_disk(const std::filesystem::path& state);

}  // namespace lathe::cli
