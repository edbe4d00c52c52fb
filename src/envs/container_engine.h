// ContainerEngine: podman, or docker, as a program that we drive. It fetches and builds images and says how a process
// is started inside of one. Processes of podman are below the one that started it, so whoever ends that tree ends them;
// docker's belong to its daemon and end by remove(). Blocking; a value, safe on any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "envs/settings.h"

namespace lathe::envs {

// A folder or file of this node that the container sees at the same path.
struct Bind {
  std::filesystem::path path;
  bool read_only = true;
};

struct ContainerRun {
  std::string image;  // its id
  std::string name;   // empty: one of the engine's choice
  std::vector<Bind> binds;
  std::string directory;  // where it starts; empty: the image's own
  std::vector<std::string>
      variables;  // names, whose values come from the engine's own environment: no secret is an argument
  std::vector<std::string> argv;
  std::vector<std::string> arguments = {};  // of a definition, as engine_arguments() gives them
  bool all_gpus = false;
  // Without capabilities, new privileges and the node's shared memory.
  bool is_confined = false;
  std::string user = {};            // "UID:GID" of its processes; empty: whoever the engine makes them
  std::filesystem::path home = {};  // of that user; one of the binds
  std::int64_t processes = 0;       // most at once; 0: the engine's own limit
  bool is_kept = false;     // until remove(); else it goes with its process
  std::string cgroup = {};  // the group below which it gets its own; empty: one of the engine's choice
};

// The engine's argument for it.
std::string mount_argument(const Bind& bind);

// False for variables of the node that mean something else, or nothing, inside of an image: paths, home folders,
// loaders.
bool has_meaning_in_images(std::string_view variable);

struct ImageFacts {
  std::string id;        // of its content, the same on every node
  std::string manifest;  // digest under which a registry has it; may be empty
};

class ContainerEngine {
 public:
  // `wanted`: a path, or "none"; empty: podman, else docker, of PATH.
  static base::Result<ContainerEngine> find(const std::filesystem::path& wanted);
  // The same, which fetches with these variables, proxies among them, instead of all of ours.
  ContainerEngine with(std::vector<std::string> environment) const;

  // The image of this name or id, pulled when it is not here.
  base::Result<ImageFacts> get_image(const std::string& reference, const LogSink& log, std::stop_token stop) const;
  // From the text of a Dockerfile, which has no files beside it. `folder` is for our own, and emptied by the caller.
  base::Result<ImageFacts> build_image(const std::string& dockerfile, const std::filesystem::path& folder,
                                       const LogSink& log, std::stop_token stop) const;
  bool has_image(const std::string& id, std::stop_token stop) const;

  // argv of the process that runs it: signals and output pass through, its status is the program's.
  std::vector<std::string> command(const ContainerRun& run) const;
  // Whatever is left of a container of this name: now, or as a command for later.
  std::vector<std::string> remove_command(const std::string& name) const {
    return {program_.string(), "rm", "--force", "--volumes", name};
  }
  void remove(const std::string& name) const;

  const std::filesystem::path& program() const { return program_; }

 private:
  explicit ContainerEngine(std::filesystem::path program);
  base::Result<std::string> ask(std::vector<std::string> arguments, const LogSink& log, std::stop_token stop) const;
  base::Result<ImageFacts> inspect(const std::string& reference, std::stop_token stop) const;

  std::filesystem::path program_;
  bool is_podman_ = true;
  std::optional<std::vector<std::string>> environment_;
};

}  // namespace lathe::envs
