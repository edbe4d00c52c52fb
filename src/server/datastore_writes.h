// Naming blobs as files of a datastore: for clients and for the outputs of runs. Home thread.
#pragma once

#include <boost/json.hpp>

#include "server/datastores.h"

namespace lathe::server {

// Nothing may name a blob that is not here. On the pool; throws invalid.
void require_file_blobs(Core& core, const std::vector<db::datastores::File>& files);

// Throws conflict when the folder of a local datastore is only read.
void require_writable(const db::datastores::Datastore& datastore);

struct WrittenFiles {
  boost::json::array written, skipped;
};
// Into the folder of a local datastore; throws conflict when it is only read.
rt::Task<WrittenFiles> write_local_files(Core& core, const db::datastores::Datastore& datastore,
                                         const std::vector<db::datastores::File>& files, bool overwrite);

}  // namespace lathe::server
