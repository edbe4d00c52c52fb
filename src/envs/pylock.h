// pylock.toml as `uv pip compile --format pylock.toml` writes it: every package with its files, their hashes and when
// they were uploaded. Only the part of TOML that occurs there is read; anything else is `corrupt`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/time.h"

namespace lathe::envs {

struct PylockFile {
  std::string name;  // last part of the URL or path
  std::string location;
  base::Digest sha256;
  std::optional<base::UtcTime> uploaded;
};

struct PylockPackage {
  std::string name, version;
  std::vector<PylockFile> wheels;  // those that suit the interpreter
  std::optional<PylockFile> sdist;
  std::optional<PylockFile> archive;  // a direct reference to one file
  std::string git_url, git_commit;    // a direct reference to a repository
  std::string directory;              // a direct reference to a folder

  // When the version became available to this interpreter; nothing where the index does not tell.
  std::optional<base::UtcTime> first_upload() const;
};

base::Result<std::vector<PylockPackage>> parse_pylock(std::string_view text);

}  // namespace lathe::envs
