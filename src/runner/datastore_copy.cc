#include "runner/datastore_copy.h"

#include "cas/materialize.h"

namespace lathe::runner {
namespace {

constexpr int kPage = 500;
constexpr std::uint64_t kPiece = cas::ChunkIndex::kChunkBytes;

base::Result<cas::Tree> list_all(mount::NameSource& names, const std::string& path,
                                 const std::function<base::Result<void>()>& keep_going) {
  const std::string prefix = path.empty() ? "" : path + "/";
  cas::Tree tree;
  for (bool more = true; more;) {
    LATHE_TRY_VOID(keep_going());
    LATHE_TRY(auto page, names.list(prefix, tree.entries.empty() ? "" : prefix + tree.entries.back().path, kPage));
    for (auto& file : page.files)
      tree.entries.push_back({file.path.substr(prefix.size()), file.blob.digest, file.blob.size, false, ""});
    more = page.more;
  }
  return tree;
}

}  // namespace

base::Result<void> copy_datastore(ServerLink& link, mount::NameSource& names, const std::string& path,
                                  const std::filesystem::path& folder,
                                  const std::function<base::Result<void>()>& keep_going) {
  LATHE_TRY(cas::Tree tree, list_all(names, path, keep_going));
  LATHE_TRY(auto writer, cas::TreeWriter::create(std::move(tree), folder));
  for (const auto& blob : writer->wanted()) {
    LATHE_TRY_VOID(writer->begin(blob.digest));
    for (std::uint64_t at = 0; at < blob.size; at += kPiece) {
      LATHE_TRY_VOID(keep_going());
      LATHE_TRY(std::string piece, link.fetch_range(blob.digest, at, std::min(kPiece, blob.size - at)));
      LATHE_TRY_VOID(writer->write(piece));
    }
    LATHE_TRY_VOID(writer->finish());
  }
  return writer->complete();
}

}  // namespace lathe::runner
