#include "db/attempts.h"

#include "base/error.h"
#include "db/columns.h"

namespace lathe::db::attempts {

namespace {

constexpr std::string_view kColumns =
    "a.number, a.token_hash, a.slices_json, a.placed, a.claimed, a.ended, a.stop_asked, a.stop_reason,"
    " a.exit_json";

// What kColumns gave.
model::AttemptRecord read(const Statement& row) {
  model::AttemptRecord attempt;
  attempt.number = static_cast<int>(row.integer(0));
  attempt.token_hash = row.digest(1);
  attempt.slices = columns::decode_slices(row.text(2));
  attempt.placed = row.time(3);
  attempt.claimed = row.optional_time(4);
  attempt.ended = row.optional_time(5);
  attempt.stop_asked = row.integer(6) != 0;
  attempt.stop_reason = columns::decode_end_reason(row.text(7));
  if (!row.is_null(8)) attempt.exit = columns::decode_exit(row.text(8));
  return attempt;
}

// Null until there is something to say.
std::optional<std::string> exit_column(const model::AttemptRecord& attempt) {
  if (attempt.exit.reason == model::EndReason::none) return std::nullopt;
  return columns::encode_exit(attempt.exit);
}

}  // namespace

void insert(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt) {
  connection
      .prepare(
          "INSERT INTO attempts (run, number, token_hash, slices_json, placed, claimed, ended, stop_asked,"
          " stop_reason, exit_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind_all(run, attempt.number, attempt.token_hash, columns::encode_slices(attempt.slices), attempt.placed,
                attempt.claimed, attempt.ended, attempt.stop_asked, model::end_reason_name(attempt.stop_reason),
                exit_column(attempt))
      .run();
}

void store(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt) {
  const int changed =
      connection
          .prepare(
              "UPDATE attempts SET token_hash = ?, slices_json = ?, placed = ?, claimed = ?, ended = ?,"
              " stop_asked = ?, stop_reason = ?, exit_json = ? WHERE run = ? AND number = ?")
          .bind_all(attempt.token_hash, columns::encode_slices(attempt.slices), attempt.placed, attempt.claimed,
                    attempt.ended, attempt.stop_asked, model::end_reason_name(attempt.stop_reason),
                    exit_column(attempt), run, attempt.number)
          .run();
  if (changed != 1) {
    throw base::Error(base::Code::not_found, fmt::format("run #{} has no attempt {}", run, attempt.number));
  }
}

void upsert(Connection& connection, std::int64_t run, const model::AttemptRecord& attempt) {
  Statement row = connection.prepare("SELECT 1 FROM attempts WHERE run = ? AND number = ?");
  if (row.bind_all(run, attempt.number).step())
    store(connection, run, attempt);
  else
    insert(connection, run, attempt);
}

std::optional<model::AttemptRecord> find(Connection& connection, std::int64_t run, int number) {
  Statement row =
      connection.prepare(fmt::format("SELECT {} FROM attempts AS a WHERE a.run = ? AND a.number = ?", kColumns));
  if (!row.bind_all(run, number).step()) return std::nullopt;
  return read(row);
}

std::map<std::int64_t, model::AttemptRecord> open_ones(Connection& connection) {
  Statement row = connection.prepare(
      fmt::format("SELECT {}, a.run FROM runs AS r INDEXED BY runs_live JOIN attempts AS a ON a.run = r.sequence"
                  " AND a.number = r.attempt WHERE r.terminal = 0 AND a.ended IS NULL",
                  kColumns));
  std::map<std::int64_t, model::AttemptRecord> found;
  while (row.step()) found.emplace(row.integer(9), read(row));
  return found;
}

std::vector<model::AttemptRecord> list(Connection& connection, std::int64_t run) {
  Statement row =
      connection.prepare(fmt::format("SELECT {} FROM attempts AS a WHERE a.run = ? ORDER BY a.number", kColumns));
  row.bind(run);
  std::vector<model::AttemptRecord> all;
  while (row.step()) all.push_back(read(row));
  return all;
}

std::optional<Owner> find_by_token_hash(Connection& connection, const base::Digest& hash) {
  Statement row = connection.prepare(
      fmt::format("SELECT {}, r.id, r.sequence, r.workspace FROM attempts AS a JOIN runs AS r ON r.sequence = a.run"
                  " WHERE a.token_hash = ?",
                  kColumns));
  if (!row.bind(hash).step()) return std::nullopt;
  return Owner{.run = {row.text(9)}, .sequence = row.integer(10), .workspace = row.text(11), .attempt = read(row)};
}

}  // namespace lathe::db::attempts
