// SecretRotation: gives all secrets a new key. The new key is on disk before a row names it, each row changes from one
// to the other in one transaction, and old keys stay: a kill at any moment leaves every secret readable, and rotating
// again finishes what was left. Home thread.
#pragma once

#include <string>
#include <vector>

#include "db/secrets.h"
#include "server/core.h"
#include "server/secret_keys.h"

namespace lathe::server {

class SecretRotation {
 public:
  explicit SecretRotation(Core& core) : core_(core) {}

  struct Rotated {
    std::string key;
    int secrets = 0;                  // that it wraps now and did not before
    int unopened = 0;                 // whose own key is lost or whose row is damaged: left as they are
    std::vector<std::string> unused;  // keys in the folder that wrap nothing of this server any more
  };
  // conflict while another one is under way.
  rt::Task<Rotated> rotate(Caller caller);

  // Whether a secret that was sealed with this key a while ago may stay so.
  bool is_current(const std::string& key_id) const { return newest_.empty() || key_id >= newest_; }

 private:
  rt::Task<Rotated> rotate_all(Caller caller);
  // The rows behind `after` that are not wrapped by `next` yet; moves `after` to the last one.
  rt::Task<int> rewrap_some(const SecretKeys::Key& next, db::secrets::Wrapped& after, Rotated& counts);
  rt::Task<std::vector<std::string>> unused_keys();

  Core& core_;
  std::string newest_;  // made by a rotation of this process
  bool busy_ = false;
};

}  // namespace lathe::server
