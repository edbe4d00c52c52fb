#include "server/datastores.h"

#include <array>

#include "base/strings.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::datastores::Datastore;
using rt::Task;

namespace {

struct Builtin {
  std::string_view name, type;
};
constexpr std::array kBuiltin{Builtin{"workspaceartifactstore", "AzureBlob"}, Builtin{kDefaultDatastore, "AzureBlob"},
                              Builtin{"workspacefilestore", "AzureFile"}};

Datastore make_builtin(std::string_view workspace, const Builtin& builtin) {
  Datastore datastore;
  datastore.workspace = workspace;
  datastore.name = builtin.name;
  datastore.kind = "store";
  datastore.type = builtin.type;
  datastore.writable = true;
  return datastore;
}

}  // namespace

std::vector<Datastore> builtin_datastores(std::string_view workspace) {
  std::vector<Datastore> all;
  for (const auto& builtin : kBuiltin) all.push_back(make_builtin(workspace, builtin));
  return all;
}

bool is_builtin_datastore(std::string_view name) {
  return std::ranges::any_of(kBuiltin, [&](const Builtin& builtin) { return builtin.name == name; });
}

Datastore get_datastore(db::Connection& connection, std::string_view workspace, std::string_view name,
                        std::string_view field) {
  for (const auto& builtin : kBuiltin)
    if (builtin.name == name) return make_builtin(workspace, builtin);
  if (auto found = db::datastores::find(connection, workspace, name)) return *found;
  throw Error(Code::not_found, fmt::format("there is no datastore '{}'", base::printable(name)))
      .field(std::string(field))
      .hint("see: lathe datastore list");
}

std::string default_datastore(db::Connection& connection, std::string_view workspace) {
  return db::datastores::find_default(connection, workspace).value_or(std::string(kDefaultDatastore));
}

void require_readable(const Datastore& datastore) {
  if (datastore.kind != "cloud") return;
  throw Error(Code::unsupported,
              fmt::format("the datastore '{}' ({}) is kept as a definition only", datastore.name, datastore.type))
      .field("datastore")
      .hint("reading and writing cloud storage needs the feature 'object stores', which this version does not have");
}

LocalFolder open_local(const Core& core, const Datastore& datastore) {
  return base::value_or_throw(LocalFolder::open(datastore.path, core.site.datastore_roots));
}

Task<std::vector<StoredFile>> files_after(Core& core, const Datastore& datastore, std::string prefix, std::string after,
                                          int limit) {
  require_readable(datastore);
  std::vector<StoredFile> files;
  if (datastore.kind == "local") {
    auto found = co_await core.files.run(core.home, [&] {
      return base::value_or_throw(open_local(core, datastore).list(prefix, after, static_cast<std::size_t>(limit)));
    });
    for (auto& file : found) files.push_back({std::move(file.path), file.size, std::nullopt, file.modified});
    co_return files;
  }
  auto rows = co_await core.database.read([&](db::Connection& connection) {
    return db::datastores::files_after(connection, {datastore.workspace, datastore.name}, prefix, after, limit);
  });
  for (auto& row : rows)
    files.push_back({std::move(row.path), static_cast<std::uint64_t>(row.size), row.digest, row.modified});
  co_return files;
}

Task<std::optional<StoredFile>> find_file(Core& core, const Datastore& datastore, std::string path) {
  require_readable(datastore);
  if (datastore.kind == "local") {
    // The path itself is the first of those that begin with it.
    auto found = co_await core.files.run(
        core.home, [&] { return base::value_or_throw(open_local(core, datastore).list(path, "", 1)); });
    if (found.empty() || found[0].path != path) co_return std::nullopt;
    co_return StoredFile{path, found[0].size, std::nullopt, found[0].modified};
  }
  auto row = co_await core.database.read([&](db::Connection& connection) {
    return db::datastores::find_file(connection, {datastore.workspace, datastore.name}, path);
  });
  if (!row) co_return std::nullopt;
  co_return StoredFile{path, static_cast<std::uint64_t>(row->size), row->digest, row->modified};
}

Task<std::vector<bool>> are_files(Core& core, const Datastore& datastore, std::vector<std::string> paths) {
  require_readable(datastore);
  std::vector<bool> found;
  if (datastore.kind == "local") {
    co_await core.files.run(core.home, [&] {
      auto folder = open_local(core, datastore);
      for (const auto& path : paths) found.push_back(folder.open_file(path).has_value());
    });
    co_return found;
  }
  co_await core.database.read([&](db::Connection& connection) {
    const db::datastores::Place place{datastore.workspace, datastore.name};
    for (const auto& path : paths) found.push_back(db::datastores::find_file(connection, place, path).has_value());
  });
  co_return found;
}

}  // namespace lathe::server
