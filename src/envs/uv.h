// Uv: the program that resolves and installs. Found once; each call is one process with an environment of its own: our
// cache folder, the site's and the definition's indexes, credentials by variables only. What it says goes to the log
// without secrets.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "envs/settings.h"
#include "envs/spec.h"
#include "sys/command.h"

namespace lathe::envs {

inline constexpr std::string_view kUvVersion = "0.13.7";  // what we install where there is none

class Uv {
 public:
  // Looks as `environments: uv` says, then $LATHE_UV, beside our binary, on PATH; else installs one below the cache.
  static base::Result<Uv> find(const Settings& settings, const LogSink& log, std::stop_token stop);

  // A child's result, whatever its status; stderr goes to the log and its end into `complaint`. A full disk is an error
  // of its own, `no_space`, whatever uv makes of it.
  struct Answer {
    int status = 0;
    std::string output, complaint;
    bool ok() const { return status == 0; }
  };
  base::Result<Answer> run(std::vector<std::string> arguments, const LogSink& log, std::stop_token stop,
                           const std::vector<std::string>& variables = {}) const;

  // Indexes that a definition names, on top of the site's.
  Uv with(const PipOptions& options) const;
  // Runs there instead of in an empty folder; a uv.toml in it counts.
  Uv in(std::filesystem::path folder) const;

  const std::filesystem::path& program() const { return program_; }

 private:
  Uv(Settings settings, std::filesystem::path program) : settings_(std::move(settings)), program_(std::move(program)) {}
  Settings settings_;
  PipOptions options_;
  std::filesystem::path program_, folder_;
};

// uv's arguments that follow from the definition and the site: wheelhouse, links, binaries, strategy.
std::vector<std::string> source_arguments(const Settings& settings, const PipOptions& options);

// A folder as --find-links wants it: uv takes a comma for the end of a path, but not in a URL.
std::string folder_link(const std::filesystem::path& folder);

// The variables of a tool's process: of ours what it may have (tool_variables.h) and does not lead it astray, and our
// cache.
std::vector<std::string> tool_environment(const Settings& settings);

// uv's own cache: the node's, or that of the image in which it runs.
std::filesystem::path package_cache(const Settings& settings);

// Whether uv complained that it could not reach something, so that the cache is worth a try.
bool is_network_complaint(std::string_view complaint);

}  // namespace lathe::envs
