// Rows of `attempts`: the tries of a run, by the run's sequence and their number.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::attempts {

// Throws conflict when the number is taken.
void insert(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt);
// Throws not_found.
void store(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt);
// insert or store.
void upsert(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt);

std::optional<model::AttemptRecord> find(Connection& connection, std::int64_t run, int number);
// The attempts that were placed and are not over, by the sequence of their run: one look for all of them.
std::map<std::int64_t, model::AttemptRecord> open_ones(Connection& connection);
// In order of their numbers.
std::vector<model::AttemptRecord> list(Connection& connection, std::int64_t run);

// Whose token is this? Also those of attempts that are over: the caller decides what they may do.
struct Owner {
  model::RunId run;
  std::int64_t sequence = 0;
  std::string workspace;
  model::AttemptRecord attempt;
};
std::optional<Owner> find_by_token_hash(Connection& connection, const base::Digest& hash);

}  // namespace lathe::db::attempts
