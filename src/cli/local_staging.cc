#include "cli/local_staging.h"

#include <thread>

#include "base/log.h"
#include "base/strings.h"
#include "cas/blob_file.h"
#include "cli/json.h"
#include "cli/missing_blobs.h"

namespace lathe::cli {
namespace {

// Below these a pack costs less than the two questions of the shortcut.
constexpr std::uint64_t kManyFiles = 256, kManyBytes = 4u << 20;
constexpr std::size_t kCommitAtOnce = 50'000;
constexpr unsigned kThreads = 2;

}  // namespace

bool LocalStaging::begin() {
  if (writer_ || failed_) return is_usable();
  auto open = [&]() -> base::Result<void> {
    LATHE_TRY(bool local, api_.is_local());
    if (!local) return base::fail(base::Code::unsupported, "the server is not reached over its Unix socket");
    LATHE_TRY(auto text, api_.send("POST", api_path({"staging"})));
    LATHE_TRY(auto answer, parse_json(text, "the staging folder"));
    id_ = text_at(answer, "/staging");
    LATHE_TRY(writer_, cas::StagingWriter::open(text_at(answer, "/path")));
    return {};
  };
  if (auto opened = open(); !opened) give_up(opened.error());
  return is_usable();
}

void LocalStaging::give_up(const base::Error& why) {
  if (!failed_.exchange(true)) base::log::debug("no-local-staging", {{"why", why.text()}});
}

cas::FileDigester LocalStaging::choose_digester(std::uint64_t files, std::uint64_t bytes) {
  if ((files < kManyFiles && bytes < kManyBytes) || !begin())
    return [](int fd, std::uint64_t size) { return cas::hash_file(fd, size); };
  return [this](int fd, std::uint64_t size) { return take(fd, size); };
}

base::Result<base::Digest> LocalStaging::take(int fd, std::uint64_t size) {
  if (failed_) return cas::hash_file(fd, size);
  auto taken = writer_->take(fd, size);
  if (taken || taken.error().code() == base::Code::corrupt) return taken;
  give_up(taken.error());
  return cas::hash_file(fd, size);
}

std::optional<UploadSummary> LocalStaging::send(const std::vector<cas::BlobInfo>& blobs, const cas::BlobOpener& open) {
  auto try_to = [&]() -> base::Result<UploadSummary> {
    std::vector<cas::BlobInfo> sent, rest;
    for (const auto& blob : blobs) (writer_ && writer_->holds(blob.digest) ? sent : rest).push_back(blob);
    LATHE_TRY(auto asked, find_missing(api_, rest));
    const auto& missing = asked.blobs;
    std::uint64_t bytes = 0;
    for (const auto& blob : missing) bytes += blob.size;
    if (!writer_ && ((missing.size() < kManyFiles && bytes < kManyBytes) || !begin()))
      return base::fail(base::Code::unsupported, "it does not pay");
    LATHE_TRY_VOID(stage(missing, open));
    sent.insert(sent.end(), missing.begin(), missing.end());
    return commit(sent);
  };
  std::optional<UploadSummary> done;
  if (!failed_) {
    auto sent = try_to();
    if (sent)
      done = *sent;
    else
      give_up(sent.error());
  }
  writer_.reset();  // what was copied in vain takes no room from the upload
  return done;
}

// What the stat cache knew, so that it was not read before.
base::Result<void> LocalStaging::stage(const std::vector<cas::BlobInfo>& blobs, const cas::BlobOpener& open) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  base::Result<void> outcome;
  auto stage_one = [&](const cas::BlobInfo& blob) -> base::Result<void> {
    LATHE_TRY(auto file, open(blob));
    LATHE_TRY(auto digest, writer_->take(file.fd(), blob.size));
    if (digest != blob.digest) return base::fail(base::Code::conflict, "a file is not what the cache says");
    return {};
  };
  auto work = [&] {
    for (std::size_t i; (i = next++) < blobs.size();) {
      auto staged = stage_one(blobs[i]);
      if (staged) continue;
      std::lock_guard lock(mutex);
      outcome = std::move(staged);
      next = blobs.size();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < kThreads && t < blobs.size(); ++t) helpers.emplace_back(work);
    work();
  }
  return outcome;
}

base::Result<UploadSummary> LocalStaging::commit(const std::vector<cas::BlobInfo>& blobs) {
  UploadSummary summary;
  for (std::size_t at = 0; at < blobs.size();) {
    json::object digests;
    for (const auto end = std::min(blobs.size(), at + kCommitAtOnce); at < end; ++at)
      digests[blobs[at].digest.hex()] = blobs[at].size;
    LATHE_TRY(auto text, api_.send("POST", api_path({"staging", id_, "commit"}),
                                   json::serialize(json::object{{"blobs", std::move(digests)}})));
    LATHE_TRY(auto answer, parse_json(text, "what was stored"));
    summary.sent_blobs += base::parse_u64(text_at(answer, "/stored")).value_or(0);
    summary.sent_bytes += base::parse_u64(text_at(answer, "/bytes")).value_or(0);
  }
  return summary;
}

}  // namespace lathe::cli
