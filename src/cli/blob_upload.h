// Sends blobs that the server lacks: it is asked first, small ones go many to a request, large ones resumably.
// After a broken connection it asks again and goes on where the server stands.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "cas/pack.h"
#include "cli/api_client.h"

namespace lathe::cli {

struct UploadSummary {
  std::uint64_t sent_blobs = 0, sent_bytes = 0;
};

// `open` gives the bytes of a blob, possibly several times.
base::Result<UploadSummary> upload_blobs(ApiClient& api, const std::vector<cas::BlobInfo>& blobs,
                                         const cas::BlobOpener& open);

}  // namespace lathe::cli
