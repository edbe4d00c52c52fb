// What the datastore commands share.
#pragma once

#include "cli/call.h"
#include "cli/json.h"

namespace lathe::cli {

// --datastore, or the workspace's default.
inline base::Result<std::string> chosen_datastore(Call& call) {
  if (auto named = call.arguments.find("datastore")) return *named;
  LATHE_TRY(auto text, call.api().get(call.workspace_path({"default-datastore"})));
  LATHE_TRY(auto value, parse_json(text, "the default datastore"));
  return text_at(value, "/name");
}

}  // namespace lathe::cli
