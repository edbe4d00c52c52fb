// Rows of `runs` and `run_tags`. Every change is a compare-and-set on the generation.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::runs {

// Gives the run its sequence and, from its parent, its root; counts it in its experiment (which must exist:
// experiments::ensure). Throws conflict when the id is taken.
void insert(Connection& connection, model::RunRecord& run);

std::optional<model::RunRecord> find(Connection& connection, const model::RunId& id);
// Both throw not_found.
model::RunRecord get(Connection& connection, const model::RunId& id);
model::RunRecord get(Connection& connection, std::int64_t sequence);

// True when the stored run `id` was submitted to this workspace with exactly this content, whatever its tags are now.
bool is_same_submit(Connection& connection, const model::RunId& id, std::string_view workspace,
                    const model::RunSpec& spec);

// Writes what differs. Throws conflict ("stale") when the row is no longer `before`. `after` must have a greater
// generation; of the specification only tags and properties may change.
void store(Connection& connection, const model::RunRecord& before, const model::RunRecord& after);

// Every run that is not over, or those of them in this state, in order of submission.
std::vector<model::RunRecord> live(Connection& connection, std::optional<model::RunState> state = {});

// How many runs of this submitter are not over; counts to `most` at the furthest.
std::int64_t count_live_of(Connection& connection, std::string_view submitted_by, std::int64_t most);

// Whether a run that is not over names this compute target.
bool is_compute_in_use(Connection& connection, std::string_view workspace, std::string_view compute);
// With its tags, attempts, events, metrics, log and artifact rows. Throws conflict unless the run is over and has no
// children.
void remove(Connection& connection, const model::RunRecord& run);

// All that have this run among their ancestors, the newest first: never a parent before its children.
std::vector<model::RunRecord> descendants(Connection& connection, const model::RunId& id);
// Whether `id` is `ancestor` or has it among its ancestors.
bool belongs_to(Connection& connection, const model::RunId& id, const model::RunId& ancestor);

// The client's own description of the run; empty when it gave none.
void store_definition(Connection& connection, std::int64_t run, std::string_view definition);
std::string definition(Connection& connection, std::int64_t run);

// Costs what the live runs cost, not all.
struct Counts {
  std::int64_t total = 0;
  std::map<model::RunState, std::int64_t> live;
};
Counts counts(Connection& connection);

// For the sibling files of this aggregate: the columns in the order of read().
inline constexpr std::string_view kColumns =
    "r.sequence, r.id, r.workspace, r.state, r.generation, r.spec_json, r.attempt, r.infrastructure_failures,"
    " r.user_failures, r.notes_json, r.error_code, r.error_message, r.usage_json, r.created, r.started, r.ended,"
    " r.archived, r.submitted_by, r.error_details, r.root, (SELECT count(*) FROM runs AS c WHERE c.parent = r.id)";
model::RunRecord read(const Statement& row);
// A WITH clause whose one parameter is a run's id: `family` holds the ids of all its descendants.
inline constexpr std::string_view kFamily =
    "WITH RECURSIVE family(id) AS (SELECT id FROM runs WHERE parent = ? UNION"
    " SELECT r.id FROM family JOIN runs AS r ON r.parent = family.id)";

}  // namespace lathe::db::runs
