// Spec: what an environment definition asks for, taken apart and checked. A value without I/O: nothing is looked up.
// parse_definition() reads the JSON object that the SDK's Environment serialises; it refuses what cannot work (editable
// installs, credentials in URLs, unknown pip options) with the field and a hint.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::envs {

using Variables = std::map<std::string, std::string>;

// One entry of a conda file's `dependencies`, e.g. "conda-forge::numpy=1.18=py36_0".
struct CondaPackage {
  std::string name;     // lower case
  std::string version;  // a MatchSpec's version as written: "1.18", "==1.18.5", ">=1,<2"; empty: any
  std::string build, channel;
  bool operator==(const CondaPackage&) const = default;
  std::string text() const;
};

// What pip's option lines say.
struct PipOptions {
  std::string index;                       // --index-url; empty: the site's
  std::vector<std::string> extra_indexes;  // --extra-index-url
  std::vector<std::string> find_links;     // -f, --find-links: URLs, or folders inside of the source folder
  std::vector<std::string> no_binary, only_binary;
  std::vector<std::string> requirement_files, constraint_files;  // -r, -c: paths inside of the source folder
  bool prereleases = false;                                      // --pre
  bool no_index = false;
};

struct ImageRequest {
  std::string reference;                    // base image; empty: none
  std::string dockerfile;                   // text of base_dockerfile; empty: none
  bool enabled = false;                     // docker.enabled as the definition says
  std::vector<std::string> arguments = {};  // for the engine, with the size of the shared memory
  bool wanted() const { return enabled || !dockerfile.empty(); }
};

struct Spec {
  std::string name;
  std::string python;            // "3.6.2", "3.6" or a conda range; empty: any
  std::vector<std::string> pip;  // requirements (PEP 508), git+ URLs and paths of wheels inside of the source folder
  PipOptions options;
  std::vector<CondaPackage> conda;  // without python and pip
  std::vector<std::string> channels;
  std::vector<std::string> sdk_names;  // the azureml-* requirements that our SDK stands for
  Variables variables;
  bool user_managed = false;
  std::string interpreter;  // of a user-managed one, as written
  ImageRequest image;
  std::string as_of;  // variable LATHE_AS_OF: "2020-12-31", "off" or empty

  // Brings nothing to install: python of the site with our SDK only.
  bool is_plain() const { return pip.empty() && conda.empty() && options.requirement_files.empty(); }
};

base::Result<Spec> parse_definition(std::string_view json);

// A conda MatchSpec string.
base::Result<CondaPackage> parse_conda_package(std::string_view text);

// "Foo_Bar[gpu]>=1" → "foo-bar": the normalised distribution name of a requirement (PEP 503).
std::string distribution_name(std::string_view requirement);
// "name==1.2.3" without a wildcard → its version.
std::optional<std::string> exact_pin(std::string_view requirement);

}  // namespace lathe::envs
