// Rows of `events`: every change of a run in commit order. Ids only grow and are never used again, also after deletes,
// so that a client can always say what it saw last.
#pragma once

#include <cstdint>
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

// A page of a run's events, oldest first.
std::vector<Event> list_after(Connection& connection, std::int64_t run, std::int64_t after, int limit);
// Of all workspaces, oldest first.
std::vector<Event> list_all_after(Connection& connection, std::int64_t after, int limit);
// The ids that are meant: more than `after`, at most `through`.
struct Span {
  std::int64_t after = 0, through = INT64_MAX;
};
// Of a workspace, or of one of its runs (by id; not builds), oldest first.
std::vector<Event> list_between(Connection& connection, std::string_view workspace, std::string_view run_id, Span span,
                                int limit);
// For trimming: looks at up to `most` events after the id `after` and before the time `before`, oldest first. Gives
// those whose run is over since then, or is gone, and where to go on; nothing there means that no more are old enough.
struct Old {
  std::vector<std::int64_t> ids;
  std::optional<std::int64_t> next;
};
Old find_old(Connection& connection, std::int64_t after, base::UtcTime before, int most);
void remove(Connection& connection, std::span<const std::int64_t> ids);
// The greatest id ever given, 0 when none was.
std::int64_t last_id(Connection& connection);

}  // namespace lathe::db::events
