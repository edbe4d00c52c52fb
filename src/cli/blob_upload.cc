#include "cli/blob_upload.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>

#include "cli/missing_blobs.h"
#include "cli/terminal.h"

namespace lathe::cli {
namespace {

constexpr std::uint64_t kLarge = 64u << 20;       // from here on a blob travels alone and resumably
constexpr std::uint64_t kPackBytes = 256u << 20;  // one request; what a broken connection can cost
constexpr std::size_t kPackBlobs = 20'000;

class Uploader {
 public:
  Uploader(ApiClient& api, const std::vector<cas::BlobInfo>& blobs, const cas::BlobOpener& open)
      : api_(api), blobs_(blobs), open_(open) {}

  base::Result<UploadSummary> run() {
    LATHE_TRY_VOID(ask());
    std::uint64_t total = 0;
    for (const auto& [digest, blob] : missing_) total += blob.size;
    progress_.emplace("uploading", total);
    for (int retries = 0; !missing_.empty();) {
      const auto left = missing_.size();
      const auto there = partial_bytes();
      auto sent = send_some();
      if (!sent && !is_passing(sent.error())) return base::fail(std::move(sent).error());
      if (!sent) {
        if (retries > kRetries) return base::fail(std::move(sent).error());
        LATHE_TRY_VOID(api_.back_off(retries++));
        LATHE_TRY_VOID(ask());
        // Also while another connection brings a large blob: waiting for it is not in vain.
        if (missing_.size() < left || partial_bytes() > there) retries = 0;
      }
    }
    return summary_;
  }

 private:
  static constexpr int kRetries = 20;

  base::Result<void> ask() {
    LATHE_TRY(auto found, find_missing(api_, blobs_));
    missing_.clear();
    for (const auto& blob : found.blobs) missing_.emplace(blob.digest, blob);
    partial_ = std::move(found.partial);
    return {};
  }

  std::uint64_t partial_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [digest, bytes] : partial_) sum += bytes;
    return sum;
  }

  base::Result<void> send_some() {
    std::vector<cas::BlobInfo> pack;
    std::uint64_t bytes = 0;
    for (const auto& [digest, blob] : missing_) {
      if (blob.size >= kLarge) continue;
      if (pack.size() == kPackBlobs || (!pack.empty() && bytes + blob.size > kPackBytes)) break;
      pack.push_back(blob);
      bytes += blob.size;
    }
    return pack.empty() ? send_large(missing_.begin()->second) : send_pack(pack, bytes);
  }

  base::Result<void> send_pack(const std::vector<cas::BlobInfo>& pack, std::uint64_t bytes) {
    cas::PackEncoder encoder(pack, open_);
    LATHE_TRY_VOID(api_.exchange_once([&](net::HttpClient& http) {
      return http.upload(
          "POST", api_path({"blobs", "pack"}), encoder.total_bytes(),
          [&](char* buffer, std::size_t size) {
            auto n = encoder.read({buffer, size});
            if (n) progress_->add(*n);
            return n;
          },
          "application/octet-stream");
    }));
    for (const auto& blob : pack) missing_.erase(blob.digest);
    count(pack.size(), bytes);
    return {};
  }

  base::Result<void> send_large(const cas::BlobInfo blob) {
    std::uint64_t offset = partial_[blob.digest];
    LATHE_TRY(auto file, open_(blob));
    auto target = fmt::format("{}?offset={}&size={}", api_path({"blobs", blob.digest.hex()}), offset, blob.size);
    std::uint64_t at = offset;
    auto sent = api_.exchange_once([&](net::HttpClient& http) {
      return http.upload(
          "PUT", target, blob.size - offset,
          [&](char* buffer, std::size_t size) -> base::Result<std::size_t> {
            ssize_t n =
                ::pread(file.fd(), buffer, std::min<std::uint64_t>(size, blob.size - at), static_cast<off_t>(at));
            if (n < 0) return base::fail(base::errno_error(errno, "reading a large file"));
            if (n == 0 && at < blob.size)
              return base::fail(base::Code::conflict, "a file changed while it was being sent");
            at += static_cast<std::uint64_t>(n);
            progress_->add(static_cast<std::uint64_t>(n));
            return static_cast<std::size_t>(n);
          },
          "application/octet-stream");
    });
    // Another upload moved the partial on: ask where it stands, like after a broken connection.
    if (!sent && sent.error().field() == "offset")
      return base::fail(base::Error(base::Code::unavailable, sent.error().message()));
    if (!sent) return base::fail(std::move(sent).error());
    missing_.erase(blob.digest);
    count(1, blob.size - offset);
    return {};
  }

  void count(std::uint64_t blobs, std::uint64_t bytes) { summary_.sent_blobs += blobs, summary_.sent_bytes += bytes; }

  ApiClient& api_;
  const std::vector<cas::BlobInfo>& blobs_;
  const cas::BlobOpener& open_;
  std::map<base::Digest, cas::BlobInfo> missing_;
  std::map<base::Digest, std::uint64_t> partial_;
  UploadSummary summary_;
  std::optional<Progress> progress_;
};

}  // namespace

base::Result<UploadSummary> upload_blobs(ApiClient& api, const std::vector<cas::BlobInfo>& blobs,
                                         const cas::BlobOpener& open) {
  return Uploader(api, blobs, open).run();
}

}  // namespace lathe::cli
