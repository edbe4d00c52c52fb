// ArtifactUploader: brings files of the run folder to the server, each once for as long as it does not change. Used by
// one thread at a time. A file that changes while it is read is sent as it was read or left for the next time, never as
// a mixture under a wrong digest.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/run_folder.h"
#include "runner/server_link.h"

namespace lathe::runner {

class ArtifactUploader {
 public:
  explicit ArtifactUploader(const RunFolder& folder) : folder_(folder) {}

  // Those of `paths` that are not uploaded as they are now.
  std::vector<std::string> changed(std::span<const std::string> paths) const;
  // Uploads them; `skipped` gets a line for each that could not be read, kept changing or was refused. Errors are
  // those of the link that concern all files; what was acknowledged before stays known.
  base::Result<void> upload(ServerLink& link, std::span<const std::string> paths, std::vector<std::string>& skipped);

 private:
  struct Pending {
    Artifact artifact;
    FileStamp stamp;
    std::string bytes;  // of a small file
    bool is_small = false;
  };
  base::Result<Pending> read(const std::string& path) const;
  base::Result<void> flush(ServerLink& link, std::vector<Pending>& batch, std::vector<std::string>& skipped);
  base::Result<void> name_files(ServerLink& link, std::vector<Pending>& batch, std::vector<std::string>& skipped);
  base::Result<void> send_missing(ServerLink& link, std::vector<Pending>& batch, std::vector<std::string>& skipped);

  const RunFolder& folder_;
  std::map<std::string, FileStamp> uploaded_;
};

}  // namespace lathe::runner
