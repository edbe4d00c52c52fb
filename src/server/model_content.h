// What a model is made of: the tree that a registration means, and what can be said about it. Home thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cas/tree.h"
#include "server/core.h"
#include "server/trees.h"

namespace lathe::server {

// Exactly one of: run and path, datastore and path, tree, blob and file_name.
struct ModelOrigin {
  std::string workspace, run, datastore, path;
  std::optional<base::Digest> tree, blob;
  std::string file_name;
};

struct ModelContent {
  base::Digest digest;
  cas::Tree tree;
};

// The bytes are those that are in the store already: only a manifest is written. A folder keeps its last name, a file
// its own. Throws invalid or not_found when there is no such content.
rt::Task<ModelContent> resolve_model_content(Core& core, TreeChecks& trees, const ModelOrigin& origin);

struct ModelInspection {
  boost::json::value inspection;  // null when it is not of a form that we know
  std::vector<std::string> warnings;
};

// Looks into a model of the framework TensorFlow; others are taken as they are.
rt::Task<ModelInspection> inspect_model(Core& core, const cas::Tree& tree, const std::string& framework);

}  // namespace lathe::server
