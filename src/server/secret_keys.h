// SecretKeys: the keys that wrap the data keys of secrets (docs/formats/secrets.md). Each is a file of 32 random bytes,
// `<id>.key`, readable by its owner only, in a folder apart from the database: whoever gets a copy of the state folder
// or a backup has no secret. New secrets use the key whose id is the last in the alphabet (ids begin with their date),
// so that a new file in the folder replaces it; older keys stay for what they wrap, and for backups and other servers
// that share the folder: nothing here removes one. Blocking, for the pool; the first
// use makes a key when there is none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace lathe::server {

class SecretKeys {
 public:
  // An empty folder is the default: $LATHE_KEY_FOLDER, $XDG_CONFIG_HOME/lathe/keys or ~/.config/lathe/keys.
  explicit SecretKeys(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Key {
    std::string id, bytes;
  };
  // Throws io or invalid when the folder or a key cannot be made or others could read it.
  Key current(base::UtcTime now) const;
  // A new key, which current() returns from now on: it is on disk.
  Key make_next(base::UtcTime now) const;
  // Ids of all keys, oldest first.
  std::vector<std::string> ids() const;
  // Throws not_found for a key that is not here.
  Key get(const std::string& id) const;

  // Where they are.
  std::filesystem::path folder() const;

 private:
  std::filesystem::path folder_;
};

// The sealed forms of one secret.
struct SealedSecret {
  std::string key_id, wrapped_key, sealed;
};
SealedSecret seal_secret(const SecretKeys& keys, const std::string& workspace, const std::string& name,
                         const std::string& value, base::UtcTime now);
// The data key of a secret, wrapped in another key.
std::string rewrap_secret(const SecretKeys& keys, const SecretKeys::Key& next, const std::string& workspace,
                          const std::string& name, const std::string& key_id, const std::string& wrapped_key);
std::string open_secret(const SecretKeys& keys, const std::string& workspace, const std::string& name,
                        const SealedSecret& secret);

}  // namespace lathe::server
