// Call: one invocation of a command: what was typed, the settings, the API, and how answers are printed.
// Made by run_command_line(); lives on the main thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/api_client.h"
#include "cli/arguments.h"
#include "cli/programs.h"
#include "cli/settings.h"
#include "cli/table.h"

namespace lathe::cli {

class Call {
 public:
  Call(const Catalogue& catalogue, const Arguments& arguments, Settings settings, const Programs& programs)
      : catalogue(catalogue), arguments(arguments), settings(std::move(settings)), programs(programs) {}

  const Catalogue& catalogue;
  const Arguments& arguments;
  const Settings settings;
  const Programs& programs;

  ApiClient& api();
  // A second connection, e.g. for a thread of its own. `silence` is how long the server may think about an answer.
  std::unique_ptr<ApiClient> new_client(base::Duration silence = std::chrono::seconds(60)) const;

  // "/api/v1/workspaces/<workspace>/…"
  std::string workspace_path(std::initializer_list<std::string_view> parts) const;
  // The n-th positional argument; it must be a required one.
  const std::string& argument(std::size_t n) const;
  // The n-th positional argument, or a default.
  std::string argument_or(std::size_t n, std::string_view fallback) const;

  // Fetches pages of a list until `limit` items (nothing: all of them, and no page size is asked for); prints a table,
  // or an array with -o json.
  base::Result<int> print_list(std::string_view target, std::span<const Column> columns,
                               std::optional<std::int64_t> limit = {});
  // Prints one answer as fields, or as it is with -o json.
  base::Result<int> print_one(std::string_view json_text, std::span<const Column> fields);

 private:
  std::unique_ptr<ApiClient> api_;
};

}  // namespace lathe::cli
