// A whole datastore, or a folder of it, as a private copy: for machines where it cannot be mounted.
#pragma once

#include <filesystem>
#include <functional>

#include "mount/blob_source.h"
#include "mount/name_source.h"

namespace lathe::runner {

// Into an empty folder. `keep_going` is asked between pieces; its error ends the copy.
base::Result<void> copy_datastore(mount::BlobSource& source, mount::NameSource& names, const std::string& path,
                                  const std::filesystem::path& folder,
                                  const std::function<base::Result<void>()>& keep_going);

}  // namespace lathe::runner
