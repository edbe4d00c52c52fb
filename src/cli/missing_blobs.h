// Asking the server which blobs it lacks, many at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/error.h"
#include "cas/blob_store.h"
#include "cli/api_client.h"

namespace lathe::cli {

struct MissingBlobs {
  std::vector<cas::BlobInfo> blobs;               // in the order of their digests
  std::map<base::Digest, std::uint64_t> partial;  // how much the server has of those that were begun
};
base::Result<MissingBlobs> find_missing(ApiClient& api, const std::vector<cas::BlobInfo>& wanted);

}  // namespace lathe::cli
