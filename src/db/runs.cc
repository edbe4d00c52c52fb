#include "db/runs.h"

#include "base/check.h"
#include "base/error.h"
#include "base/strings.h"
#include "db/columns.h"
#include "db/experiments.h"

namespace lathe::db::runs {

namespace {

using base::Code;
using base::Error;

std::optional<std::string> error_code(const model::RunRecord& run) {
  return run.error ? std::optional(run.error->code) : std::nullopt;
}
std::optional<std::string> error_message(const model::RunRecord& run) {
  return run.error ? std::optional(run.error->message) : std::nullopt;
}

std::optional<std::string> error_details(const model::RunRecord& run) {
  return run.error && !run.error->details.empty() ? std::optional(run.error->details) : std::nullopt;
}
std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// One without a value is found as one with an empty value.
void insert_tag(Connection& connection, std::int64_t run, const std::string& key,
                const std::optional<std::string>& value) {
  connection.prepare("INSERT OR REPLACE INTO run_tags (run, key, value) VALUES (?, ?, ?)")
      .bind_all(run, key, value.value_or(""))
      .run();
}

void insert_property(Connection& connection, std::int64_t run, const std::string& key, const std::string& value) {
  connection.prepare("INSERT OR REPLACE INTO run_properties (run, key, value) VALUES (?, ?, ?)")
      .bind_all(run, key, value)
      .run();
}

void store_labels(Connection& connection, const model::RunRecord& before, const model::RunRecord& after) {
  if (before.spec.tags == after.spec.tags && before.spec.properties == after.spec.properties) return;
  for (const auto& [key, value] : before.spec.tags) {
    if (after.spec.tags.contains(key)) continue;
    connection.prepare("DELETE FROM run_tags WHERE run = ? AND key = ?").bind_all(after.sequence, key).run();
  }
  for (const auto& [key, value] : after.spec.tags) insert_tag(connection, after.sequence, key, value);
  for (const auto& [key, value] : after.spec.properties) insert_property(connection, after.sequence, key, value);
  connection.prepare("UPDATE runs SET spec_json = ? WHERE sequence = ?")
      .bind_all(columns::encode_spec(after.spec), after.sequence)
      .run();
}

[[noreturn]] void not_found(std::string_view name) {
  throw Error(Code::not_found, fmt::format("there is no run '{}'", base::printable(name)))
      .field("run")
      .hint("see: lathe run list");
}

}  // namespace

void insert(Connection& connection, model::RunRecord& run) {
  if (!run.spec.parent.value.empty()) {
    const auto parent = get(connection, run.spec.parent);
    run.root = parent.root.value.empty() ? parent.id : parent.root;
  }
  const std::string spec = columns::encode_spec(run.spec);
  Statement statement = connection.prepare(
      "INSERT INTO runs (id, workspace, experiment, compute, state, terminal, generation, spec_json, spec_digest, "
      "snapshot,"
      " attempt, infrastructure_failures, user_failures, notes_json, error_code, error_message, usage_json, created,"
      " started, ended, archived, submitted_by, parent, root, run_type, late)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,"
      " ?23, ?24, ?25,"
      " ?18 < coalesce((SELECT max(created) FROM runs INDEXED BY runs_in_order WHERE workspace = ?2 AND late = 0), "
      "?18))");
  statement.bind_all(run.id.value, run.workspace, run.spec.experiment, run.spec.compute, model::state_name(run.state),
                     model::is_terminal(run.state), run.generation, spec, base::sha256(spec), run.spec.snapshot,
                     run.attempt, run.infrastructure_failures, run.user_failures, columns::encode_notes(run.notes),
                     error_code(run), error_message(run), columns::encode_usage(run.usage), run.created, run.started,
                     run.ended, run.archived, run.submitted_by, text_or_null(run.spec.parent.value),
                     text_or_null(run.root.value), text_or_null(run.spec.run_type));
  statement.run();
  run.sequence = connection.last_insert_id();
  for (const auto& [key, value] : run.spec.tags) insert_tag(connection, run.sequence, key, value);
  for (const auto& [key, value] : run.spec.properties) insert_property(connection, run.sequence, key, value);
  experiments::count_inserted(connection, run);
}

model::RunRecord read(const Statement& row) {
  model::RunRecord run;
  run.sequence = row.integer(0);
  run.id = {row.text(1)};
  run.workspace = row.text(2);
  run.state = columns::decode_state(row.text(3));
  run.generation = row.integer(4);
  run.spec = columns::decode_spec(row.text(5));
  run.attempt = static_cast<int>(row.integer(6));
  run.infrastructure_failures = static_cast<int>(row.integer(7));
  run.user_failures = static_cast<int>(row.integer(8));
  run.notes = columns::decode_notes(row.text(9));
  if (!row.is_null(10))
    run.error = {.code = row.text(10), .message = row.text(11), .details = row.optional_text(18).value_or("")};
  run.usage = columns::decode_usage(row.text(12));
  run.created = row.time(13);
  run.started = row.optional_time(14);
  run.ended = row.optional_time(15);
  run.archived = row.integer(16) != 0;
  run.submitted_by = row.text(17);
  run.root = {row.optional_text(19).value_or("")};
  run.children_count = row.integer(20);
  return run;
}

std::optional<model::RunRecord> find(Connection& connection, const model::RunId& id) {
  Statement row = connection.prepare(fmt::format("SELECT {} FROM runs AS r WHERE r.id = ?", kColumns));
  if (!row.bind(id.value).step()) return std::nullopt;
  return read(row);
}

model::RunRecord get(Connection& connection, const model::RunId& id) {
  if (auto run = find(connection, id)) return std::move(*run);
  not_found(id.value);
}

model::RunRecord get(Connection& connection, std::int64_t sequence) {
  Statement row = connection.prepare(fmt::format("SELECT {} FROM runs AS r WHERE r.sequence = ?", kColumns));
  if (!row.bind(sequence).step()) not_found(fmt::format("#{}", sequence));
  return read(row);
}

bool is_same_submit(Connection& connection, const model::RunId& id, std::string_view workspace,
                    const model::RunSpec& spec) {
  Statement row = connection.prepare("SELECT workspace, spec_digest FROM runs WHERE id = ?");
  if (!row.bind(id.value).step()) return false;
  return row.text(0) == workspace && row.digest(1) == base::sha256(columns::encode_spec(spec));
}

void store(Connection& connection, const model::RunRecord& before, const model::RunRecord& after) {
  LATHE_CHECK(before.sequence == after.sequence && after.generation > before.generation, "run {}: generation {} to {}",
              after.id.value, before.generation, after.generation);
  Statement statement = connection.prepare(
      "UPDATE runs SET state = ?, terminal = ?, generation = ?, attempt = ?, infrastructure_failures = ?,"
      " user_failures = ?, notes_json = ?, error_code = ?, error_message = ?, usage_json = ?, started = ?, ended = ?,"
      " archived = ?, error_details = ? WHERE sequence = ? AND generation = ? AND state = ?");
  statement.bind_all(model::state_name(after.state), model::is_terminal(after.state), after.generation, after.attempt,
                     after.infrastructure_failures, after.user_failures, columns::encode_notes(after.notes),
                     error_code(after), error_message(after), columns::encode_usage(after.usage), after.started,
                     after.ended, after.archived, error_details(after), before.sequence, before.generation,
                     model::state_name(before.state));
  if (statement.run() != 1) {
    throw Error(Code::conflict, fmt::format("stale: run {} has changed since it was read", after.id.value))
        .hint("look at the run again, then repeat");
  }
  store_labels(connection, before, after);
}

std::vector<model::RunRecord> live(Connection& connection, std::optional<model::RunState> state) {
  Statement row = connection.prepare(
      fmt::format("SELECT {} FROM runs AS r INDEXED BY runs_live WHERE r.terminal = 0{} ORDER BY r.sequence", kColumns,
                  state ? " AND r.state = ?" : ""));
  if (state) row.bind(std::string(model::state_name(*state)));
  std::vector<model::RunRecord> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

std::int64_t count_live_of(Connection& connection, std::string_view submitted_by, std::int64_t most) {
  Statement row = connection.prepare(
      "SELECT 1 FROM runs INDEXED BY runs_live_by_submitter WHERE terminal = 0 AND submitted_by = ? LIMIT ?");
  row.bind_all(submitted_by, most);
  std::int64_t count = 0;
  while (row.step()) ++count;
  return count;
}

bool is_compute_in_use(Connection& connection, std::string_view workspace, std::string_view compute) {
  return connection
      .prepare("SELECT 1 FROM runs INDEXED BY runs_live WHERE terminal = 0 AND workspace = ? AND compute = ? LIMIT 1")
      .bind_all(workspace, compute)
      .step();
}

void remove(Connection& connection, const model::RunRecord& run) {
  if (connection.prepare("SELECT 1 FROM runs WHERE parent = ? LIMIT 1").bind(run.id.value).step()) {
    throw Error(Code::conflict, fmt::format("run {} has children", run.id.value))
        .field("run")
        .hint("delete them first, or all of them: recursive=true, lathe run delete --recursive");
  }
  if (connection.prepare("DELETE FROM runs WHERE sequence = ? AND terminal = 1").bind(run.sequence).run() != 1) {
    throw Error(Code::conflict, fmt::format("run {} is not over", run.id.value))
        .hint(fmt::format("cancel it first: lathe run cancel {}", run.id.value));
  }
  connection.prepare("DELETE FROM events WHERE run = ?").bind(run.sequence).run();
  experiments::count_removed(connection, run);
}

std::vector<model::RunRecord> descendants(Connection& connection, const model::RunId& id) {
  Statement row = connection.prepare(fmt::format(
      "{} SELECT {} FROM family CROSS JOIN runs AS r ON r.id = family.id ORDER BY r.sequence DESC", kFamily, kColumns));
  row.bind(id.value);
  std::vector<model::RunRecord> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

bool belongs_to(Connection& connection, const model::RunId& id, const model::RunId& ancestor) {
  Statement row = connection.prepare(
      "WITH RECURSIVE line(id) AS (SELECT ? UNION SELECT r.parent FROM line JOIN runs AS r ON r.id = line.id"
      " WHERE r.parent IS NOT NULL) SELECT 1 FROM line WHERE id = ? LIMIT 1");
  return row.bind_all(id.value, ancestor.value).step();
}

void store_definition(Connection& connection, std::int64_t run, std::string_view definition) {
  if (definition.empty()) return;
  connection.prepare("INSERT INTO run_definitions (run, definition) VALUES (?, ?)").bind_all(run, definition).run();
}

std::string definition(Connection& connection, std::int64_t run) {
  Statement row = connection.prepare("SELECT definition FROM run_definitions WHERE run = ?");
  return row.bind(run).step() ? row.text(0) : std::string();
}

Counts counts(Connection& connection) {
  Counts counts;
  Statement total = connection.prepare("SELECT coalesce(sum(run_count), 0) FROM experiments");
  total.step();
  counts.total = total.integer(0);
  Statement row =
      connection.prepare("SELECT state, count(*) FROM runs INDEXED BY runs_live WHERE terminal = 0 GROUP BY state");
  while (row.step()) counts.live[columns::decode_state(row.text(0))] = row.integer(1);
  return counts;
}

}  // namespace lathe::db::runs
