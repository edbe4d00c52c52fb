#include "server/model_content.h"

#include "base/strings.h"
#include "db/artifacts.h"
#include "model/names.h"
#include "server/datastores.h"
#include "server/run_changes.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

constexpr std::size_t kMaxFiles = 1'000'000;
constexpr int kBatch = 500;

// "./outputs/model/" is "outputs/model".
std::string tidy(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  while (path.ends_with('/')) path.remove_suffix(1);
  base::value_or_throw(model::check_artifact_path("path", path));
  return std::string(path);
}

// Files of `path`, which is a file or a folder, named from its last part on.
class Gathering {
 public:
  explicit Gathering(std::string path) : path_(std::move(path)), cut_(path_.rfind('/') + 1) {}
  void add(const std::string& file, const base::Digest& digest, std::uint64_t size, bool executable) {
    if (tree.entries.size() >= kMaxFiles)
      throw Error(Code::too_large, fmt::format("'{}' has more than {} files", path_, kMaxFiles)).field("path");
    tree.entries.push_back({file.substr(cut_), digest, size, executable, ""});
  }
  cas::Tree tree;

 private:
  std::string path_;
  std::size_t cut_;
};

Error nothing_there(const std::string& what, const std::string& path, std::string hint) {
  return Error(Code::not_found, fmt::format("{} has no file or folder '{}'", what, path))
      .field("path")
      .hint(std::move(hint));
}

Task<cas::Tree> of_run(Core& core, const ModelOrigin& origin) {
  auto path = tidy(origin.path);
  auto tree = co_await core.database.read([&](db::Connection& connection) {
    auto run = get_run(connection, origin.workspace, origin.run);
    Gathering gathering(path);
    if (auto file = db::artifacts::find(connection, run.sequence, path))
      gathering.add(file->path, file->digest, static_cast<std::uint64_t>(file->size), file->executable);
    std::string cursor;
    do {
      auto page = db::artifacts::list(connection, run.sequence, path + "/", kBatch, cursor);
      for (const auto& file : page.items)
        gathering.add(file.path, file.digest, static_cast<std::uint64_t>(file.size), file.executable);
      cursor = page.next.value_or("");
    } while (!cursor.empty());
    return std::move(gathering.tree);
  });
  if (tree.entries.empty())
    throw nothing_there(fmt::format("run '{}'", origin.run), path, "lathe run files " + origin.run);
  co_return tree;
}

Task<cas::Tree> of_datastore(Core& core, const ModelOrigin& origin) {
  auto path = tidy(origin.path);
  auto datastore = co_await core.database.read(
      [&](db::Connection& connection) { return get_datastore(connection, origin.workspace, origin.datastore); });
  if (datastore.kind == "local")
    throw Error(Code::unsupported, "a model is not registered from a local folder")
        .field("datastore")
        .hint("upload it first, or give the folder to Model.register");
  Gathering gathering(path);
  if (auto file = co_await find_file(core, datastore, path)) gathering.add(path, *file->digest, file->size, false);
  for (std::string after;;) {
    auto files = co_await files_after(core, datastore, path + "/", after, kBatch);
    for (const auto& file : files) gathering.add(file.path, *file.digest, file.size, false);
    if (files.size() < kBatch) break;
    after = files.back().path;
  }
  if (gathering.tree.entries.empty())
    throw nothing_there(fmt::format("the datastore '{}'", datastore.name), path,
                        "lathe datastore list " + datastore.name);
  co_return std::move(gathering.tree);
}

Task<cas::Tree> of_blob(Core& core, const ModelOrigin& origin) {
  base::value_or_throw(model::check_artifact_path("file_name", origin.file_name));
  if (origin.file_name.contains('/'))
    throw Error(Code::invalid, "file_name is one name without a folder").field("file_name");
  auto size = co_await core.files.run(core.home, [&] { return core.store.find(*origin.blob); });
  if (!size)
    throw Error(Code::invalid, "the blob is not in the store")
        .field("blob")
        .hint("send it first: POST /api/v1/blobs/missing");
  cas::Tree tree;
  tree.entries.push_back({origin.file_name, *origin.blob, *size, false, ""});
  co_return tree;
}

// Writes the manifest; its blobs are here (their leases are renewed on the way).
Task<base::Digest> store_manifest(Core& core, cas::Tree& tree) {
  core.reserve.require_room();
  std::ranges::sort(tree.entries, {}, &cas::TreeEntry::path);
  co_return co_await core.files.run(core.home, [&] {
    for (const auto& entry : tree.entries)
      if (!core.store.find(entry.digest))
        throw Error(Code::corrupt, fmt::format("the bytes of '{}' are not in the store", entry.path))
            .hint("lathe store verify tells more");
    auto batch = core.store.begin_batch();
    auto info = base::value_or_throw(batch->put(cas::encode_tree(tree)));
    base::value_or_throw(batch->commit());
    return info.digest;
  });
}

void require_one_origin(const ModelOrigin& origin) {
  const bool of_path = !origin.path.empty();
  const int given = of_path + origin.tree.has_value() + origin.blob.has_value();
  const bool path_has_place = !of_path || origin.run.empty() != origin.datastore.empty();
  const bool fits = given == 1 && path_has_place && (of_path || origin.datastore.empty()) &&
                    origin.blob.has_value() == !origin.file_name.empty();
  if (fits) return;
  throw Error(Code::invalid,
              "say once what the model is: run and path, datastore and path, tree, or blob and file_name")
      .field(given == 0  ? "path"
             : given > 1 ? "tree"
             : of_path   ? "run"
                         : "file_name");
}

}  // namespace

Task<ModelContent> resolve_model_content(Core& core, TreeChecks& trees, const ModelOrigin& origin) {
  require_one_origin(origin);
  ModelContent content;
  if (origin.tree) {
    if (auto gap = co_await trees.find_gap(*origin.tree))
      throw Error(Code::invalid, fmt::format("the tree {} {}", origin.tree->hex(), *gap))
          .field("tree")
          .hint("ask POST /api/v1/blobs/missing and send what is missing first");
    content.digest = *origin.tree;
    content.tree = co_await read_tree(core, *origin.tree);
    if (content.tree.entries.empty()) throw Error(Code::invalid, "the tree has no files").field("tree");
    co_return content;
  }
  if (origin.blob)
    content.tree = co_await of_blob(core, origin);
  else if (!origin.datastore.empty())
    content.tree = co_await of_datastore(core, origin);
  else
    content.tree = co_await of_run(core, origin);
  content.digest = co_await store_manifest(core, content.tree);
  co_return content;
}

}  // namespace lathe::server
