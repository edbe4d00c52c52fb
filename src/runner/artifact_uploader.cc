#include "runner/artifact_uploader.h"

#include <unistd.h>

#include <cerrno>
#include <unordered_set>

#include "base/strings.h"
#include "runner/retry.h"

namespace lathe::runner {
namespace {

constexpr std::size_t kSmallBytes = 1 << 20, kBatchBytes = 16 << 20, kBatchFiles = 500;

// The server has looked at this very thing and does not take it; the others may be fine.
bool is_refusal(const base::Error& error) { return !is_temporary(error) && !ends_attempt(error); }

}  // namespace

std::vector<std::string> ArtifactUploader::changed(std::span<const std::string> paths) const {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    auto known = uploaded_.find(path);
    auto file = known == uploaded_.end() ? base::fail(base::Code::not_found, "") : folder_.open_file(path);
    if (!file || file->stamp != known->second) out.push_back(path);
  }
  return out;
}

base::Result<ArtifactUploader::Pending> ArtifactUploader::read(const std::string& path) const {
  LATHE_TRY(OpenFile file, folder_.open_file(path));
  Pending pending{.artifact = {path, {}, 0, file.executable},
                  .stamp = file.stamp,
                  .bytes = {},
                  .is_small = file.stamp.size <= kSmallBytes};
  base::Sha256 hash;
  std::string buffer(std::min<std::uint64_t>(kSmallBytes, file.stamp.size + 1), '\0');
  for (ssize_t n; (n = ::read(file.fd.get(), buffer.data(), buffer.size())) != 0;) {
    if (n < 0) return base::fail(base::errno_error(errno, "reading it"));
    std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
    hash.update(piece);
    pending.artifact.size += piece.size();
    if (pending.is_small) pending.bytes += piece;
    // It grew under our hands; past this it would never end. The rest comes when it is quiet.
    if (pending.artifact.size > file.stamp.size) break;
  }
  pending.artifact.digest = hash.finish();
  return pending;
}

base::Result<void> ArtifactUploader::upload(ServerLink& link, std::span<const std::string> paths,
                                            std::vector<std::string>& skipped) {
  std::vector<Pending> batch;
  std::size_t bytes = 0;
  for (const auto& path : changed(paths)) {
    auto pending = read(path);
    if (!pending) {
      if (pending.error().code() != base::Code::not_found) skipped.push_back(path + ": " + pending.error().message());
      continue;
    }
    bytes += pending->bytes.size();
    batch.push_back(std::move(*pending));
    if (bytes < kBatchBytes && batch.size() < kBatchFiles) continue;
    LATHE_TRY_VOID(flush(link, batch, skipped));
    bytes = 0;
  }
  return flush(link, batch, skipped);
}

base::Result<void> ArtifactUploader::flush(ServerLink& link, std::vector<Pending>& batch,
                                           std::vector<std::string>& skipped) {
  if (!batch.empty()) LATHE_TRY_VOID(send_missing(link, batch, skipped));
  if (!batch.empty()) LATHE_TRY_VOID(name_files(link, batch, skipped));
  batch.clear();
  return {};
}

base::Result<void> ArtifactUploader::name_files(ServerLink& link, std::vector<Pending>& batch,
                                                std::vector<std::string>& skipped) {
  std::vector<Artifact> artifacts;
  for (const auto& pending : batch) artifacts.push_back(pending.artifact);
  auto put = link.put_artifacts(artifacts);
  if (put || !is_refusal(put.error())) {
    for (auto& pending : batch)
      if (put) uploaded_[pending.artifact.path] = pending.stamp;
    return put;
  }
  // A script may name its files as it likes; one name that the server does not take must not cost the others.
  base::Result<void> outcome;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto one = link.put_artifacts(std::span(artifacts).subspan(i, 1));
    if (!one && !is_refusal(one.error())) return one;
    if (!one) {
      // Not the name but the bytes: the store has lost them since they were sent. They are here, so they go again.
      LATHE_TRY(auto lost, link.missing_blobs(std::span(&artifacts[i].digest, 1)));
      if (!lost.empty()) {
        outcome =
            base::fail(base::Code::unavailable, "the server lost the bytes of {}", base::printable(artifacts[i].path));
        continue;
      }
      skipped.push_back(batch[i].artifact.path + ": " + one.error().message());
    }
    uploaded_[batch[i].artifact.path] = batch[i].stamp;  // not again, either way
  }
  return outcome;
}

base::Result<void> ArtifactUploader::send_missing(ServerLink& link, std::vector<Pending>& batch,
                                                  std::vector<std::string>& skipped) {
  std::vector<base::Digest> digests;
  for (const auto& pending : batch) digests.push_back(pending.artifact.digest);
  LATHE_TRY(auto answer, link.missing_blobs(digests));
  std::unordered_set<base::Digest> missing(answer.begin(), answer.end());
  std::vector<SmallBlob> small;
  for (auto& pending : batch)
    if (pending.is_small && missing.erase(pending.artifact.digest) > 0)
      small.push_back({pending.artifact.digest, std::move(pending.bytes)});
  if (!small.empty()) LATHE_TRY_VOID(link.upload_pack(small));
  std::vector<Pending> arrived;
  for (auto& pending : batch) {
    if (!pending.is_small && missing.erase(pending.artifact.digest) > 0) {
      auto file = folder_.open_file(pending.artifact.path);
      auto sent = file ? link.upload_file(pending.artifact.digest, pending.artifact.size, file->fd.get())
                       : base::Result<void>(base::fail(base::Code::corrupt, "it is gone"));
      if (!sent && !is_refusal(sent.error())) return sent;
      if (!sent) {  // one file never costs the others
        skipped.push_back(
            pending.artifact.path + ": " +
            (sent.error().code() == base::Code::corrupt ? "it changed while it was uploaded" : sent.error().message()));
        continue;
      }
    }
    arrived.push_back(std::move(pending));
  }
  batch = std::move(arrived);
  return {};
}

}  // namespace lathe::runner
