#include "cli/references.h"

#include <unistd.h>

#include <unordered_set>

#include "cas/store_layout.h"
#include "cas/tree.h"
#include "cli/files.h"
#include "db/artifacts.h"

namespace lathe::cli {
namespace {

using Digests = std::unordered_set<base::Digest>;

base::Result<void> read_named(const std::filesystem::path& database, Digests& named, Digests& trees) try {
  db::Connection connection(database, db::Connection::Mode::read_only);
  db::artifacts::visit_references(connection, [&](const base::Digest& digest, bool is_tree) {
    named.insert(digest);
    if (is_tree) trees.insert(digest);
  });
  return {};
} catch (const base::Error& error) {
  return base::fail(error);
}

}  // namespace

base::Result<void> check_references(const std::filesystem::path& state) {
  const cas::StoreLayout layout((state / "store").string());
  const auto is_here = [&](const base::Digest& digest) { return ::access(layout.blob(digest).c_str(), F_OK) == 0; };
  Digests named, trees;
  LATHE_TRY_VOID(read_named(state / "lathe.db", named, trees));
  for (const auto& digest : trees) {
    if (!is_here(digest)) continue;  // counted below
    LATHE_TRY(auto bytes, read_small_file(layout.blob(digest), cas::kMaxTreeBytes));
    LATHE_TRY(auto tree, cas::decode_tree(bytes));
    for (const auto& entry : tree.entries)
      if (entry.link_target.empty()) named.insert(entry.digest);
  }
  const auto missing = std::ranges::count_if(named, [&](const auto& digest) { return !is_here(digest); });
  if (missing == 0) return {};
  return base::fail(
      base::Error(base::Code::corrupt,
                  fmt::format("{} of the {} blobs that the database names are missing", missing, named.size()))
          .hint("take another backup, or make a new one"));
}

}  // namespace lathe::cli
