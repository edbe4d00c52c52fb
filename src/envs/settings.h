// Settings: what a site decides about environments, and what this node has. Made once by main/ or the server from the
// site rules `environments:`; plain values, shared read-only by all threads.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::envs {

using LogSink = std::function<void(std::string_view line)>;  // whole lines, without the line's end

struct Credential {
  std::string user, password;
};

// Our SDK as a file on this node; every environment gets it in place of azureml-*.
struct SdkWheel {
  std::filesystem::path path;
  std::string version;
  base::Digest digest;
};

struct Settings {
  std::filesystem::path cache;  // empty: default_cache()
  std::filesystem::path uv;     // empty: $LATHE_UV, beside the binary, PATH, else installed below the cache

  std::string index;  // empty: what UV_*/PIP_* of our environment say, else PyPI
  std::vector<std::string> extra_indexes;
  std::filesystem::path wheelhouse;   // a folder of wheels and source packages that is asked before any index
  bool offline = false;               // never use the network
  std::vector<std::string> channels;  // conda channels instead of those that definitions name

  std::string substitutions;  // YAML text; empty: the built-in table
  bool strict = false;        // refuse what would be replaced
  bool era = true;            // resolve old pins as of their own date

  std::vector<std::filesystem::path>
      pythons;                   // folders where interpreters are looked for; empty: PATH, pyenv, uv's own
  bool python_downloads = true;  // `uv python install` when the machine has none that suits

  std::filesystem::path engine;  // podman or docker; empty: of PATH; "none": images are refused
  bool engine_arguments = true;        // whether definitions may give it arguments
  bool engine_host_arguments = false;  // also such as reach the machine: mounts, devices, privileges
  std::string image;             // id of the image in which uv and Python are run; empty: on the node itself

  // The only way out for tools, "http://user:password@127.0.0.1:port"; empty: they go as the environment says.
  std::string proxy;
  std::vector<std::string> variables;  // names, or beginnings with a star, that tools get of our environment besides

  SdkWheel sdk;
  bool has_gpu = false;
  std::filesystem::path source_folder;  // of the run, for -r files and wheels inside of it; empty: they are refused

  // User and password for an index URL (without credentials in it), from the workspace's secrets; may be empty.
  std::function<std::optional<Credential>(std::string_view url)> credentials;
  // Whether a definition may name this URL (also one of a file of the source folder); empty: any.
  std::function<base::Result<void>(std::string_view url)> check_url;
  // A file of a lock (a wheel out of a source folder) that this node lacks, by its digest; may be empty.
  std::function<base::Result<std::filesystem::path>(const base::Digest&, const std::string& name)> fetch_file;
};

// $XDG_CACHE_HOME/lathe/environments, else ~/.cache/lathe/environments.
std::filesystem::path default_cache();

}  // namespace lathe::envs
