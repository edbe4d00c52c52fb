#include "db/events.h"

#include "db/columns.h"

namespace lathe::db::events {

namespace {

constexpr std::string_view kSelect =
    "SELECT id, workspace, run, run_id, kind, from_state, to_state, reason, at FROM events";

std::optional<model::RunState> optional_state(const Statement& row, int column) {
  const auto word = row.optional_text(column);
  return word ? std::optional(columns::decode_state(*word)) : std::nullopt;
}

std::vector<Event> read_all(Statement row) {
  std::vector<Event> all;
  while (row.step()) {
    all.push_back({.id = row.integer(0),
                   .workspace = row.text(1),
                   .run = row.integer(2),
                   .run_id = {row.text(3)},
                   .kind = row.text(4),
                   .from = optional_state(row, 5),
                   .to = optional_state(row, 6),
                   .reason = row.text(7),
                   .at = row.time(8)});
  }
  return all;
}

std::optional<std::string_view> word(const std::optional<model::RunState>& state) {
  return state ? std::optional(model::state_name(*state)) : std::nullopt;
}

}  // namespace

std::int64_t append(Connection& connection, Event& event) {
  connection
      .prepare(
          "INSERT INTO events (workspace, run, run_id, kind, from_state, to_state, reason, at)"
          " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(event.workspace, event.run, event.run_id.value, event.kind, word(event.from), word(event.to),
                event.reason, event.at)
      .run();
  return event.id = connection.last_insert_id();
}

std::vector<Event> append_moves(Connection& connection, const model::RunRecord& run,
                                std::span<const model::RunMove> moves) {
  std::vector<Event> appended;
  for (const model::RunMove& move : moves) {
    appended.push_back({.id = 0,
                        .workspace = run.workspace,
                        .run = run.sequence,
                        .run_id = run.id,
                        .kind = "state",
                        .from = move.from,
                        .to = move.to,
                        .reason = move.reason,
                        .at = move.at});
    append(connection, appended.back());
  }
  return appended;
}

void append_build(Connection& connection, std::string_view workspace, std::int64_t build, std::string_view state,
                  base::UtcTime at) {
  Event event{.id = 0,
              .workspace = std::string(workspace),
              .run = 0,
              .run_id = {fmt::format("{}", build)},
              .kind = std::string(kBuildKind),
              .reason = std::string(state),
              .at = at};
  append(connection, event);
}

Event append_change(Connection& connection, const model::RunRecord& run, std::string_view kind, std::string_view reason,
                    base::UtcTime at) {
  Event event{.id = 0,
              .workspace = run.workspace,
              .run = run.sequence,
              .run_id = run.id,
              .kind = std::string(kind),
              .from = {},
              .to = {},
              .reason = std::string(reason),
              .at = at};
  append(connection, event);
  return event;
}

Event replace_change(Connection& connection, const model::RunRecord& run, std::string_view kind,
                     std::string_view reason, base::UtcTime at) {
  connection.prepare("DELETE FROM events WHERE run = ? AND kind = ?").bind_all(run.sequence, kind).run();
  return append_change(connection, run, kind, reason, at);
}

std::vector<Event> list_after(Connection& connection, std::int64_t run, std::int64_t after, int limit) {
  Statement row = connection.prepare(
      fmt::format("{} INDEXED BY events_by_run WHERE run = ? AND id > ? ORDER BY id LIMIT ?", kSelect));
  row.bind_all(run, after, limit);
  return read_all(std::move(row));
}

std::vector<Event> list_all_after(Connection& connection, std::int64_t after, int limit) {
  Statement row = connection.prepare(fmt::format("{} WHERE id > ? ORDER BY id LIMIT ?", kSelect));
  row.bind_all(after, limit);
  return read_all(std::move(row));
}

std::vector<Event> list_between(Connection& connection, std::string_view workspace, std::string_view run_id, Span span,
                                int limit) {
  if (run_id.empty()) {
    Statement row = connection.prepare(fmt::format(
        "{} INDEXED BY events_by_workspace WHERE workspace = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?", kSelect));
    row.bind_all(workspace, span.after, span.through, limit);
    return read_all(std::move(row));
  }
  Statement known = connection.prepare("SELECT sequence FROM runs WHERE id = ? AND workspace = ?");
  known.bind_all(run_id, workspace);
  const bool is_there = known.step();
  // Of a run that was deleted the last event is still here, but only its id leads to it.
  Statement row = connection.prepare(fmt::format(
      "{} INDEXED BY {} WHERE {} = ? AND id > ? AND id <= ? AND run_id = ? AND kind <> ? ORDER BY id LIMIT ?", kSelect,
      is_there ? "events_by_run" : "events_by_workspace", is_there ? "run" : "workspace"));
  if (is_there)
    row.bind_all(known.integer(0), span.after, span.through, run_id, kBuildKind, limit);
  else
    row.bind_all(workspace, span.after, span.through, run_id, kBuildKind, limit);
  return read_all(std::move(row));
}

Old find_old(Connection& connection, std::int64_t after, base::UtcTime before, int most) {
  Statement row = connection.prepare(
      "SELECT e.id, e.at, r.sequence IS NULL OR (r.terminal = 1 AND r.ended < ?)"
      " FROM events AS e LEFT JOIN runs AS r ON r.sequence = e.run WHERE e.id > ? ORDER BY e.id LIMIT ?");
  row.bind_all(before, after, most);
  Old found;
  int seen = 0;
  for (; row.step(); ++seen) {
    if (row.time(1).micros >= before.micros) {
      found.next.reset();
      return found;
    }
    found.next = row.integer(0);
    if (row.integer(2) != 0) found.ids.push_back(row.integer(0));
  }
  if (seen < most) found.next.reset();
  return found;
}

void remove(Connection& connection, std::span<const std::int64_t> ids) {
  for (const auto id : ids) connection.prepare("DELETE FROM events WHERE id = ?").bind_all(id).run();
}

std::int64_t last_id(Connection& connection) {
  Statement row = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
  return row.step() ? row.integer(0) : 0;
}

}  // namespace lathe::db::events
