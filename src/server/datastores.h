// Datastores as the server uses them: the three that every workspace has, those that somebody made, and their files
// whatever their kind. Home thread; the files of a local folder are looked at on the pool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/datastores.h"
#include "server/core.h"
#include "server/local_folder.h"

namespace lathe::server {

inline constexpr std::string_view kDefaultDatastore = "workspaceblobstore";

// The ones that nobody has to make, in every workspace, by name.
std::vector<db::datastores::Datastore> builtin_datastores(std::string_view workspace);
bool is_builtin_datastore(std::string_view name);
// Throws not_found; `field` names the part of the request that named it.
db::datastores::Datastore get_datastore(db::Connection& connection, std::string_view workspace, std::string_view name,
                                        std::string_view field = "datastore");
std::string default_datastore(db::Connection& connection, std::string_view workspace);

// Throws unsupported for a cloud store, naming the feature that is missing.
void require_readable(const db::datastores::Datastore& datastore);

struct StoredFile {
  std::string path;
  std::uint64_t size = 0;
  std::optional<base::Digest> digest;  // not known in a local folder
  base::UtcTime modified;
};

// In the order of their paths, from behind `after`, only those that begin with `prefix`; at most `limit`.
rt::Task<std::vector<StoredFile>> files_after(Core& core, const db::datastores::Datastore& datastore,
                                              std::string prefix, std::string after, int limit);
rt::Task<std::optional<StoredFile>> find_file(Core& core, const db::datastores::Datastore& datastore, std::string path);
// Which of these paths are files, in one go: a definition may name thousands.
rt::Task<std::vector<bool>> are_files(Core& core, const db::datastores::Datastore& datastore,
                                      std::vector<std::string> paths);
// On the pool.
LocalFolder open_local(const Core& core, const db::datastores::Datastore& datastore);

}  // namespace lathe::server
