// Rows of `script_tokens`: the hash of the token that the script of an attempt has. An attempt of a release that gave the
// runner's token to the script has none.
#pragma once

#include <map>
#include <optional>

#include "db/sqlite.h"

namespace lathe::db::script_tokens {

void put(Connection& connection, std::int64_t run, int attempt, const base::Digest& hash);
std::optional<base::Digest> find(Connection& connection, std::int64_t run, int attempt);
// Of the current attempts of all runs that are not over, by the run's sequence.
std::map<std::int64_t, base::Digest> of_live_runs(Connection& connection);

}  // namespace lathe::db::script_tokens
