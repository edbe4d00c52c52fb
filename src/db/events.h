// Rows of `events`: every change of a run in commit order. Ids only grow and are never used again, also after deletes,
// so that a client can always say what it saw last.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"
#include "model/run.h"

namespace lathe::db::events {

struct Event {
  std::int64_t id = 0;
  std::string workspace;
  std::int64_t run = 0;
  model::RunId run_id;
  std::string kind;                                   // "state", "tags", "artifacts", "attempt", "deleted", …
  std::optional<model::RunState> from = {}, to = {};  // of kind "state" only
  std::string reason;
  base::UtcTime at;
};

// Gives the event its id, and returns it.
std::int64_t append(Connection& connection, Event& event);
// One event of kind "state" for each move; returns them with their ids.
std::vector<Event> append_moves(Connection& connection, const model::RunRecord& run,
                                std::span<const model::RunMove> moves);
// A change that is not a move.
Event append_change(Connection& connection, const model::RunRecord& run, std::string_view kind, std::string_view reason,
                    base::UtcTime at);

// The same, instead of earlier events of this kind: for what happens all the time, of which only the last matters.
Event replace_change(Connection& connection, const model::RunRecord& run, std::string_view kind,
                     std::string_view reason, base::UtcTime at);

// A build of an environment has come to this state. Its number stands where those of runs have an id.
inline constexpr std::string_view kBuildKind = "environment-build";
void append_build(Connection& connection, std::string_view workspace, std::int64_t build, std::string_view state,
                  base::UtcTime at);

// Oldest first.
std::vector<Event> list(Connection& connection, std::int64_t run);
std::vector<Event> list_after(Connection& connection, std::string_view workspace, std::int64_t after, int limit);
// The greatest id ever given, 0 when none was.
std::int64_t last_id(Connection& connection);

}  // namespace lathe::db::events
