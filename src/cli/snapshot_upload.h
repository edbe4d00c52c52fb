// A source folder as a snapshot on the server: reads it (obeying .amlignore or .gitignore), sends what the server
// lacks.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "cli/api_client.h"

namespace lathe::cli {

struct UploadedSnapshot {
  base::Digest digest;  // of the tree manifest
  std::uint64_t files = 0, bytes = 0, sent_bytes = 0;
};

// A stat cache in the user's cache folder spares reading an unchanged folder again.
base::Result<UploadedSnapshot> upload_snapshot(ApiClient& api, const std::filesystem::path& folder);

}  // namespace lathe::cli
