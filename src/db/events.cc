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

std::vector<Event> list(Connection& connection, std::int64_t run) {
  Statement row = connection.prepare(fmt::format("{} WHERE run = ? ORDER BY id", kSelect));
  row.bind(run);
  return read_all(std::move(row));
}

std::vector<Event> list_after(Connection& connection, std::string_view workspace, std::int64_t after, int limit) {
  Statement row = connection.prepare(
      fmt::format("{} INDEXED BY events_by_workspace WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?", kSelect));
  row.bind_all(workspace, after, limit);
  return read_all(std::move(row));
}

std::int64_t last_id(Connection& connection) {
  Statement row = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
  return row.step() ? row.integer(0) : 0;
}

}  // namespace lathe::db::events
