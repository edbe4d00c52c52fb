// StagingArea: the store's end of the local shortcut. A client of the same user on the same machine copies files into a
// folder of the store itself, named by the digests it found, and only their names travel through the socket. The store
// believes the digests: whoever can write here could write the blobs, too (docs/formats/store.md says more), and open()
// hashes each blob before it is first served, whoever brought it. Blocking and thread-safe.
#pragma once

#include "cas/disk_store.h"

namespace lathe::cas {

struct StagingPlace {
  std::string id;    // unguessable
  std::string path;  // absolute; only the store's own user can enter it
};

// What a commit added to the store.
struct StagingSummary {
  std::uint64_t blobs = 0, bytes = 0;
};

class StagingArea {
 public:
  explicit StagingArea(DiskStore& store) : store_(store) {}

  // A new, empty folder. Removes those that killed clients left.
  base::Result<StagingPlace> open();
  // Makes files of the folder durable and visible, as a batch's commit() does. A blob that the store holds already need
  // not be there; its copy is left where it is. Error(not_found) for an unknown folder or a file that is nowhere;
  // Error(invalid) for one that is not a plain read-only file of ours with one name and this size: then nothing is
  // taken.
  base::Result<StagingSummary> commit(std::string_view id, const std::vector<BlobInfo>& blobs);

 private:
  DiskStore& store_;
};

}  // namespace lathe::cas
