#include "cli/missing_blobs.h"

#include "base/strings.h"
#include "cli/json.h"

namespace lathe::cli {
namespace {

constexpr std::size_t kAskAtOnce = 10'000;

using Wanted = std::map<base::Digest, std::uint64_t>;

base::Result<void> note(std::string_view answer, const Wanted& wanted, MissingBlobs& out) {
  LATHE_TRY(auto value, parse_json(answer, "the list of missing blobs"));
  const auto* object = value.if_object();
  const auto* missing = object ? object->if_contains("missing") : nullptr;
  if (!missing || !missing->is_array()) return base::fail(base::Code::corrupt, "the server's answer lacks 'missing'");
  for (const auto& item : missing->get_array()) {
    LATHE_TRY(auto digest, base::Digest::parse(text_at(item, "")));
    if (auto found = wanted.find(digest); found != wanted.end()) out.blobs.push_back({digest, found->second});
  }
  if (const auto* partial = object->if_contains("partial"); partial && partial->is_object())
    for (const auto& pair : partial->get_object()) {
      LATHE_TRY(auto digest, base::Digest::parse(pair.key()));
      out.partial[digest] = base::parse_u64(text_at(pair.value(), "")).value_or(0);
    }
  return {};
}

}  // namespace

base::Result<MissingBlobs> find_missing(ApiClient& api, const std::vector<cas::BlobInfo>& blobs) {
  Wanted wanted;
  for (const auto& blob : blobs) wanted.emplace(blob.digest, blob.size);
  MissingBlobs missing;
  json::array digests;
  std::size_t index = 0;
  for (const auto& [digest, size] : wanted) {
    digests.emplace_back(digest.hex());
    if (++index % kAskAtOnce != 0 && index != wanted.size()) continue;
    LATHE_TRY(auto text, api.send("POST", api_path({"blobs", "missing"}),
                                  json::serialize(json::object{{"digests", std::exchange(digests, {})}})));
    LATHE_TRY_VOID(note(text, wanted, missing));
  }
  return missing;
}

}  // namespace lathe::cli
