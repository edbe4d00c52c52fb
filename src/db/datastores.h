// Rows of `datastores`, `default_datastores` and `datastore_files`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::datastores {

struct Datastore {
  std::string workspace, name;
  std::string kind;  // "store", "local", "cloud"
  std::string type;
  std::string path;  // local: the folder
  bool writable = false;
  std::string definition_json = "{}";
  base::UtcTime created;
  bool operator==(const Datastore&) const = default;
};

// True when it is new; else everything but `created` is replaced.
bool insert_or_update(Connection& connection, const Datastore& datastore);
std::optional<Datastore> find(Connection& connection, std::string_view workspace, std::string_view name);
// By name: those after `after`, at most `limit`.
std::vector<Datastore> list_after(Connection& connection, std::string_view workspace, std::string_view after,
                                  int limit);
// With its files, and as default; false when there was none.
bool remove(Connection& connection, std::string_view workspace, std::string_view name);

std::optional<std::string> find_default(Connection& connection, std::string_view workspace);
void set_default(Connection& connection, std::string_view workspace, std::string_view name);

// Which datastore's files are meant.
struct Place {
  std::string_view workspace, datastore;
};

struct File {
  std::string path;
  base::Digest digest;
  std::int64_t size = 0;
  base::UtcTime modified;
  std::optional<std::string> written_by = std::string();  // the run that wrote it, "" for a user; nothing: not known
  bool operator==(const File&) const = default;
};

// False when the path is there already and `overwrite` is not wished.
bool put_file(Connection& connection, const Place& place, const File& file, bool overwrite);
std::optional<File> find_file(Connection& connection, const Place& place, std::string_view path);
// By path, only those that begin with `prefix`.
Page<File> list_files(Connection& connection, const Place& place, std::string_view prefix, int limit,
                      std::string_view cursor = {});
// The same from behind a path, without a cursor; at most `limit`.
std::vector<File> files_after(Connection& connection, const Place& place, std::string_view prefix,
                              std::string_view after, int limit);
std::int64_t remove_files(Connection& connection, const Place& place, std::string_view prefix);

}  // namespace lathe::db::datastores
