// Rows of `models`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/page.h"
#include "db/sqlite.h"

namespace lathe::db::models {

struct Model {
  std::string workspace = {}, name = {};
  std::int64_t version = 0;
  bool latest = false;
  std::string id = {};               // made by the client
  base::Digest request_digest = {};  // of what was asked for
  base::Digest tree = {};
  std::int64_t files = 0, bytes = 0;
  std::string run = {}, framework = {}, description = {};
  std::string tags_json = "{}", properties_json = "{}", details_json = "{}";
  base::UtcTime created = {};
  std::string created_by = {};
  bool operator==(const Model&) const = default;
};

// Gives it the next number of its name.
Model insert(Connection& connection, Model model);
std::optional<Model> find_by_id(Connection& connection, std::string_view workspace, std::string_view id);
// `version` 0 is the newest. Throws not_found.
Model get(Connection& connection, std::string_view workspace, std::string_view name, std::int64_t version = 0);
// Description, tags and properties.
void update(Connection& connection, const Model& model);
bool remove(Connection& connection, std::string_view workspace, std::string_view name, std::int64_t version);

// "key" or "key=value".
struct Filter {
  std::optional<std::string> name = {}, tag = {}, property = {}, run = {}, framework = {};
  bool latest = false;
};
// Newest first.
Page<Model> list(Connection& connection, std::string_view workspace, const Filter& filter, int limit,
                 std::string_view cursor);

}  // namespace lathe::db::models
