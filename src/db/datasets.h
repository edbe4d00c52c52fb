// Rows of `datasets` (saved definitions) and `dataset_versions` (their registered names).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::datasets {

// What its bytes were when they were last brought into the store.
struct Content {
  base::Digest tree;
  std::int64_t files = 0, bytes = 0;
  bool operator==(const Content&) const = default;
};

struct Saved {
  std::string workspace, id;
  std::string kind;  // "file", "tabular"
  std::string definition_json;
  base::UtcTime created;
  std::optional<Content> content;
  bool operator==(const Saved&) const = default;
};

// False when it was saved before.
bool save(Connection& connection, const Saved& dataset);
std::optional<Saved> find(Connection& connection, std::string_view workspace, std::string_view id);
// Throws not_found.
Saved get(Connection& connection, std::string_view workspace, std::string_view id);
void set_content(Connection& connection, std::string_view workspace, std::string_view id, const Content& content);

struct Version {
  std::string workspace = {}, name = {};
  std::int64_t version = 0;
  bool latest = false;
  std::string dataset = {};  // id
  std::string kind = {}, definition_json = {};
  std::string description = {}, tags_json = "{}";
  base::UtcTime created = {};
  std::string created_by = {};
  bool operator==(const Version&) const = default;
};

// Gives it the next number of its name.
Version register_version(Connection& connection, Version version);
// `version` 0 is the newest.
std::optional<Version> find_version(Connection& connection, std::string_view workspace, std::string_view name,
                                    std::int64_t version = 0);
Version get_version(Connection& connection, std::string_view workspace, std::string_view name,
                    std::int64_t version = 0);
void update_version(Connection& connection, const Version& version);
// Newest first: all versions of a name, or the latest of each name.
Page<Version> list_versions(Connection& connection, std::string_view workspace, std::string_view name, int limit,
                            std::string_view cursor);
Page<Version> list_latest(Connection& connection, std::string_view workspace, int limit, std::string_view cursor);
// "name:version" of each registration of a saved dataset.
std::vector<std::string> registered_as(Connection& connection, std::string_view workspace, std::string_view id);
// How many versions there were.
int remove_name(Connection& connection, std::string_view workspace, std::string_view name);

}  // namespace lathe::db::datasets
