#include "server/given_secrets.h"

#include <algorithm>

#include "base/seal.h"

namespace lathe::server {
namespace {

// What a runner has room for, with its bookkeeping.
constexpr std::size_t kMostSecrets = 1000, kMostBytes = 1 << 20;

}  // namespace

GivenSecrets::~GivenSecrets() {
  for (auto& [id, secret] : secrets_) base::wipe(secret.value);
}

base::Result<void> GivenSecrets::add(const std::string& id, const std::string& value) {
  if (secrets_.contains(id)) return {};
  if (secrets_.size() == kMostSecrets || value.size() > kMostBytes - bytes_)
    return base::fail(base::Error(base::Code::too_large, "the run has read too many secrets")
                          .field("secret")
                          .hint(fmt::format("at most {} of {} bytes together", kMostSecrets, kMostBytes)));
  bytes_ += value.size();
  secrets_[id].value = value;
  return {};
}

std::vector<GivenSecrets::Value> GivenSecrets::exchange(int node, std::span<const std::string> hidden) {
  for (const auto& id : hidden)
    if (auto known = secrets_.find(id); known != secrets_.end()) known->second.hidden_by.insert(node);
  std::vector<Value> out;
  for (const auto& [id, secret] : secrets_)
    if (!secret.hidden_by.contains(node)) out.push_back({id, secret.value});
  return out;
}

bool GivenSecrets::is_hidden(const std::string& id, int node) const {
  auto known = secrets_.find(id);
  return known != secrets_.end() && known->second.hidden_by.contains(node);
}

bool GivenSecrets::hides_all(int node) const {
  return std::ranges::all_of(secrets_, [&](const auto& entry) { return entry.second.hidden_by.contains(node); });
}

}  // namespace lathe::server
