// NameSource: the names of a datastore in pieces, for a mount that lists nothing before somebody looks. Thread-safe and
// blocking.
#pragma once

#include <vector>

#include "cas/blob_store.h"

namespace lathe::mount {

struct NamedBlob {
  std::string path;
  // Of a file that nobody has hashed the digest is only a name, for this size and time of change of it.
  cas::BlobInfo blob;
  bool hashed = true;
};

struct NamePage {
  std::vector<NamedBlob> files;  // in the order of their paths
  bool more = false;
};

class NameSource {
 public:
  virtual ~NameSource() = default;
  // Those that begin with `prefix`, from behind `after` on; at most `limit`.
  virtual base::Result<NamePage> list(const std::string& prefix, const std::string& after, int limit) = 0;
};

}  // namespace lathe::mount
