// Lock: everything an environment consists of, exactly: a canonical JSON text named by its SHA-256. It says nothing of
// a machine (no paths, no host names with credentials, no secrets), so another server can import and realise it.
// Format: docs/formats/environment-lock.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "envs/spec.h"

namespace lathe::envs {

struct LockedFile {
  std::string name;
  base::Digest sha256;
  bool operator==(const LockedFile&) const = default;
};

enum class PackageSource {
  index,  // a wheel of an index or wheelhouse
  built,  // built here from the source package in `files`
  file,   // a wheel out of the run's source folder
  git,    // built here from a commit
  url,    // one file at a URL that the definition names
};

struct LockedPackage {
  std::string name, version;
  PackageSource source = PackageSource::index;
  std::vector<LockedFile> files;  // any of them may be installed; empty for git
  std::string url, commit;        // of git and url
  bool operator==(const LockedPackage&) const = default;
};

struct LockedConda {
  std::string name, version, build, subdir, channel, file;  // channel: URL, or "local" for a folder of the site
  base::Digest sha256;
  std::string noarch;  // "python", "generic" or empty
  std::int64_t build_number = 0;
  std::vector<std::string> depends;
  bool operator==(const LockedConda&) const = default;
};

// The container image that the processes see as their system; empty: that of the node.
struct LockedImage {
  std::string reference;                    // as the definition names it; empty for a Dockerfile
  std::string id;                           // of its content: what is run is exactly this
  std::string manifest;                     // digest to pull it by; may be empty
  std::string dockerfile;                   // text to build it from
  std::vector<std::string> arguments = {};  // for the engine that runs it
  bool wanted() const { return !id.empty(); }
  bool operator==(const LockedImage&) const = default;
};

struct Era {
  std::string as_of;  // RFC 3339; empty: today's packages
  std::string rule;   // "pins", "asked", "off", "no-pins", "recent-pins"
  std::string because;
  bool operator==(const Era&) const = default;
};

// Where a definition itself says that packages come from, on top of the site's own; never with credentials.
struct Sources {
  std::string index;
  std::vector<std::string> extra_indexes, find_links;
  bool operator==(const Sources&) const = default;
};

struct Substitution {
  std::string rule, asked, given, why;
  bool operator==(const Substitution&) const = default;
};

struct LockContent {
  std::string platform;                 // "linux-x86_64"
  std::string python_asked, python;     // "3.6.2", "3.6"; empty `python` where the user manages it
  std::vector<LockedPackage> packages;  // by name, our SDK not among them
  std::vector<LockedConda> conda;       // in order of installation
  Sources sources;
  LockedImage image;
  Variables variables;
  std::string interpreter;  // of a user-managed environment
  std::string sdk_version;
  base::Digest sdk_sha256;
  Era era;
  std::vector<Substitution> substitutions;
};

struct Lock {
  std::string text;
  base::Digest digest;  // of the text
  LockContent content;
};

Lock write_lock(LockContent content);
// Refuses a text that is not canonical: its digest would not be the name of what it says.
base::Result<Lock> parse_lock(std::string_view text);

// The same lock with another SDK, e.g. after an upgrade of the server: nothing is resolved again.
Lock with_sdk(const Lock& lock, const std::string& version, const base::Digest& sha256);

// For people: Python, era and every replacement with its reason; what `lathe env explain` shows.
std::string explain(const Lock& lock);

}  // namespace lathe::envs
