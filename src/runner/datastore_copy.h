// A whole datastore, or a folder of it, as a private copy: for machines where it cannot be mounted.
#pragma once

#include <filesystem>

#include "mount/name_source.h"
#include "runner/server_link.h"

namespace lathe::runner {

// Into an empty folder. `keep_going` is asked between pieces; its error ends the copy.
base::Result<void> copy_datastore(ServerLink& link, mount::NameSource& names, const std::string& path,
                                  const std::filesystem::path& folder,
                                  const std::function<base::Result<void>()>& keep_going);

}  // namespace lathe::runner
