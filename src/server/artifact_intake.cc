#include "server/artifact_intake.h"

#include <boost/json.hpp>

#include "model/names.h"
#include "wire/json.h"

namespace lathe::server {

using base::Code;
using base::Error;

namespace {

constexpr std::size_t kMaxFilesPerCall = 10'000;

}  // namespace

std::vector<db::artifacts::Artifact> read_artifacts(const boost::json::value& body, std::string_view key) {
  std::vector<db::artifacts::Artifact> files;
  wire::Fields fields(body);
  fields.need(key).objects(key, [&](wire::Fields& file) {
    db::artifacts::Artifact artifact;
    std::optional<base::Digest> digest;
    file.need("path").need("digest").need("size").text("path", artifact.path).digest("digest", digest);
    file.integer("size", artifact.size).boolean("executable", artifact.executable);
    artifact.digest = digest.value_or(base::Digest{});
    files.push_back(std::move(artifact));
  });
  base::value_or_throw(fields.finish());
  if (files.size() > kMaxFilesPerCall)
    throw Error(Code::too_large, fmt::format("at most {} files in one call", kMaxFilesPerCall)).field(std::string(key));
  for (const auto& file : files)
    base::value_or_throw(model::check_artifact_path(fmt::format("{}.path", key), file.path));
  return files;
}

rt::Task<void> require_blobs(Core& core, const std::vector<db::artifacts::Artifact>& files, std::string_view key) {
  co_await core.files.run(core.home, [&] {
    for (const auto& file : files) {
      auto size = core.store.find(file.digest);
      if (!size || *size != static_cast<std::uint64_t>(file.size))
        throw Error(Code::invalid, fmt::format("the blob of '{}' is not in the store", file.path))
            .field(std::string(key))
            .hint("send it first");
    }
  });
}

}  // namespace lathe::server
