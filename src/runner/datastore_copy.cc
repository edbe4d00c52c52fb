#include "runner/datastore_copy.h"

#include <unordered_map>

#include "cas/materialize.h"

namespace lathe::runner {
namespace {

constexpr int kPage = 500;
constexpr std::uint64_t kPiece = cas::ChunkIndex::kChunkBytes;

using KeepGoing = std::function<base::Result<void>()>;

class Copier {
 public:
  Copier(mount::BlobSource& source, const KeepGoing& keep_going) : source_(source), keep_going_(keep_going) {}

  base::Result<cas::Tree> list_all(mount::NameSource& names, const std::string& path) {
    const std::string prefix = path.empty() ? "" : path + "/";
    cas::Tree tree;
    for (bool more = true; more;) {
      LATHE_TRY_VOID(keep_going_());
      LATHE_TRY(auto page, names.list(prefix, tree.entries.empty() ? "" : prefix + tree.entries.back().path, kPage));
      for (auto& file : page.files) {
        LATHE_TRY(base::Digest digest, digest_of(file.blob));
        tree.entries.push_back({file.path.substr(prefix.size()), digest, file.blob.size, false, ""});
      }
      more = page.more;
    }
    return tree;
  }

  base::Result<void> write_all(cas::TreeWriter& writer) {
    for (const auto& blob : writer.wanted()) {
      LATHE_TRY_VOID(writer.begin(blob.digest));
      auto name = names_.find(blob.digest);
      LATHE_TRY_VOID(read(name == names_.end() ? blob : cas::BlobInfo{name->second, blob.size},
                          [&](std::string_view piece) { return writer.write(piece); }));
      LATHE_TRY_VOID(writer.finish());
    }
    return writer.complete();
  }

 private:
  // One that nobody has hashed is read twice: the writer takes nothing whose digest it does not know.
  base::Result<base::Digest> digest_of(const cas::BlobInfo& blob) {
    if (source_.is_hashed(blob.digest)) return blob.digest;
    base::Sha256 hash;
    LATHE_TRY_VOID(read(blob, [&](std::string_view piece) -> base::Result<void> {
      hash.update(piece);
      return {};
    }));
    const base::Digest digest = hash.finish();
    names_[digest] = blob.digest;
    return digest;
  }

  base::Result<void> read(const cas::BlobInfo& blob, const std::function<base::Result<void>(std::string_view)>& take) {
    for (std::uint64_t at = 0; at < blob.size; at += kPiece) {
      LATHE_TRY_VOID(keep_going_());
      LATHE_TRY(std::string piece, source_.read(blob.digest, at, std::min(kPiece, blob.size - at)));
      LATHE_TRY_VOID(take(piece));
    }
    return {};
  }

  mount::BlobSource& source_;
  const KeepGoing& keep_going_;
  std::unordered_map<base::Digest, base::Digest> names_;  // by which the source knows what it has not hashed
};

}  // namespace

base::Result<void> copy_datastore(mount::BlobSource& source, mount::NameSource& names, const std::string& path,
                                  const std::filesystem::path& folder, const KeepGoing& keep_going) {
  Copier copier(source, keep_going);
  LATHE_TRY(cas::Tree tree, copier.list_all(names, path));
  LATHE_TRY(auto writer, cas::TreeWriter::create(std::move(tree), folder));
  return copier.write_all(*writer);
}

}  // namespace lathe::runner
