// GivenSecrets: the secrets that one attempt has asked for, and which of its nodes hide them in their logs. A value is
// given to the script when every node that still runs does. In memory only, as long as the attempt lives. Home thread.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::server {

class GivenSecrets {
 public:
  GivenSecrets() = default;
  GivenSecrets(const GivenSecrets&) = delete;
  GivenSecrets& operator=(const GivenSecrets&) = delete;
  ~GivenSecrets();

  // `id` names this value of the secret. too_large when the attempt has asked for too many.
  base::Result<void> add(const std::string& id, const std::string& value);
  std::size_t size() const { return secrets_.size(); }

  struct Value {
    std::string id, value;
  };
  // This node hides those of `hidden`; the values that it does not hide. Ids that nobody knows (of a server before this
  // one) are passed over.
  std::vector<Value> exchange(int node, std::span<const std::string> hidden);
  bool is_hidden(const std::string& id, int node) const;
  // Whether the node hides all there are.
  bool hides_all(int node) const;

 private:
  struct Secret {
    std::string value;
    std::set<int> hidden_by;
  };
  std::map<std::string, Secret> secrets_;
  std::size_t bytes_ = 0;
};

}  // namespace lathe::server
