#include "server/datastore_writes.h"

namespace lathe::server {

using base::Code;
using base::Error;

void require_file_blobs(Core& core, const std::vector<db::datastores::File>& files) {
  for (const auto& file : files) {
    auto size = core.store.find(file.digest);
    if (!size || *size != static_cast<std::uint64_t>(file.size))
      throw Error(Code::invalid, fmt::format("the blob of '{}' is not in the store", file.path))
          .field("files")
          .hint("send it first: POST /api/v1/blobs/missing, then /api/v1/blobs/pack");
  }
}

void require_writable(const db::datastores::Datastore& datastore) {
  if (datastore.writable) return;
  throw Error(Code::conflict, fmt::format("the datastore '{}' is only read", datastore.name))
      .field("datastore")
      .hint("an administrator can register it with \"writable\": true");
}

rt::Task<WrittenFiles> write_local_files(Core& core, const db::datastores::Datastore& datastore,
                                         const std::vector<db::datastores::File>& files, bool overwrite) {
  require_writable(datastore);
  co_return co_await core.files.run(core.home, [&] {
    WrittenFiles done;
    auto folder = open_local(core, datastore);
    for (const auto& file : files) {
      auto blob = base::value_or_throw(core.store.open(file.digest));
      bool written = base::value_or_throw(folder.write_file(file.path, blob, overwrite));
      (written ? done.written : done.skipped).push_back(boost::json::string(file.path));
    }
    return done;
  });
}

}  // namespace lathe::server
