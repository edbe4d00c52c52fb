#include "runner/snapshot.h"

#include "cas/materialize.h"

namespace lathe::runner {

base::Result<void> write_snapshot(ServerLink& link, const base::Digest& tree, const std::filesystem::path& folder,
                                  const std::function<base::Result<void>()>& keep_going) {
  LATHE_TRY(std::string manifest, link.fetch_tree(tree));
  if (base::sha256(manifest) != tree) return base::fail(base::Code::corrupt, "the manifest of the snapshot is damaged");
  LATHE_TRY(cas::Tree decoded, cas::decode_tree(manifest));
  LATHE_TRY(auto writer, cas::TreeWriter::create(std::move(decoded), folder));
  if (!writer->wanted().empty()) {
    cas::PackDecoder pack(*writer);
    LATHE_TRY_VOID(link.fetch_pack(tree, [&](std::string_view bytes) -> base::Result<void> {
      LATHE_TRY_VOID(keep_going());
      return pack.feed(bytes);
    }));
    LATHE_TRY_VOID(pack.finish());
  }
  return writer->complete();
}

}  // namespace lathe::runner
