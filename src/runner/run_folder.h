// RunFolder: reads files below the folder of a run while (or after) its script changes it. No path is ever followed out
// of the folder: the kernel resolves each one beneath the folder's descriptor (openat2), so swapping a directory for a
// link at the wrong moment gains nothing. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::runner {

// Changes whenever the bytes may have.
struct FileStamp {
  std::uint64_t inode = 0, size = 0;
  std::int64_t modified = 0, changed = 0;  // nanoseconds
  bool operator==(const FileStamp&) const = default;
};

struct OpenFile {
  sys::Fd fd;
  FileStamp stamp;
  bool executable = false;
};

struct Listing {
  std::vector<std::string> files;    // relative to the run folder: "outputs/model.h5"
  std::vector<std::string> folders;  // "outputs", "outputs/checkpoints"
  std::vector<std::string> skipped;  // "outputs/x: a link that leaves the run folder"
};

// In the run folder, when the run is preempted; the script has its path in LATHE_PREEMPTION_FILE.
inline constexpr const char* kPreemptionFile = ".lathe-preempted";

class RunFolder {
 public:
  static base::Result<RunFolder> open(const std::filesystem::path& path);

  // Everything below `top` ("outputs"); nothing when it is not a folder. Links to files that stay inside are listed as
  // files; links to folders are skipped.
  Listing list(const std::string& top) const;
  // A regular file. forbidden when the path leaves the folder, not_found, or unsupported for pipes, devices and
  // folders.
  base::Result<OpenFile> open_file(const std::string& path) const;
  base::Result<sys::Fd> open_folder(const std::string& path) const;
  // A new small file at the top, for the script to read; one that is there already stays as it is.
  base::Result<void> put_file(const std::string& name, std::string_view text) const;

 private:
  explicit RunFolder(sys::Fd folder) : folder_(std::move(folder)) {}
  void list_folder(const std::string& path, int depth, Listing& listing) const;
  sys::Fd folder_;
};

}  // namespace lathe::runner
