#include "db/run_list.h"

#include <span>
#include <variant>

#include "db/cursor.h"
#include "db/runs.h"

namespace lathe::db::runs {

namespace {

using Value = std::variant<std::int64_t, std::string>;

// A statement in the making: text and values side by side, so that they cannot get out of step.
struct Query {
  std::string sql;
  std::vector<Value> values;

  Query& add(std::string_view text) {
    sql += text;
    return *this;
  }
  Query& where(std::string_view condition, Value value) {
    sql += " AND ";
    sql += condition;
    values.push_back(std::move(value));
    return *this;
  }
};

// The sequences between which everything must lie.
struct Bounds {
  std::int64_t least = 0;
  std::int64_t below = INT64_MAX;
};

std::string scope_of(const ListQuery& query) {
  const auto part = [](const std::optional<std::string>& text) {
    return text ? fmt::format("{}:{}", text->size(), *text) : std::string("-");
  };
  const auto time = [](const std::optional<base::UtcTime>& t) {
    return t ? std::to_string(t->micros) : std::string("-");
  };
  std::string scope = fmt::format("runs\n{}{}", part(query.workspace), part(query.experiment));
  scope += query.state ? model::state_name(*query.state) : "-";
  scope += query.tag ? part(query.tag->key) + part(query.tag->value) : "--";
  scope += query.property ? part(query.property->key) + part(query.property->value) : "--";
  scope += part(query.parent) + (query.recursive ? "*" : "-") + part(query.run_type);
  scope += fmt::format("{},{},", time(query.since), time(query.until));
  return scope + (!query.archived ? "both" : *query.archived ? "archived" : "current");
}

// Times become bounds of the sequence. Most runs are in order of time: their edge is one look into an index. Those that
// a clock set back made `late` are few, and all looked at. The bounds take in every run of the time span, and the list
// still looks at each one's time.
constexpr const char* kFirstSince[] = {
    "SELECT sequence FROM runs INDEXED BY runs_in_order WHERE workspace = ? AND late = 0 AND created >= ?"
    " ORDER BY created, sequence LIMIT 1",
    "SELECT min(sequence) FROM runs INDEXED BY runs_late WHERE workspace = ? AND late = 1 AND created >= ?"};
constexpr const char* kLastBefore[] = {
    "SELECT sequence FROM runs INDEXED BY runs_in_order WHERE workspace = ? AND late = 0 AND created < ?"
    " ORDER BY created DESC, sequence DESC LIMIT 1",
    "SELECT max(sequence) FROM runs INDEXED BY runs_late WHERE workspace = ? AND late = 1 AND created < ?"};

// The edges among the runs in order and among the late ones, as far as there are any.
std::vector<std::int64_t> edges(Connection& connection, const ListQuery& query, std::span<const char* const> statements,
                                base::UtcTime time) {
  std::vector<std::int64_t> found;
  for (const char* sql : statements) {
    Statement row = connection.prepare(sql);
    if (row.bind_all(query.workspace, time).step() && !row.is_null(0)) found.push_back(row.integer(0));
  }
  return found;
}

std::optional<Bounds> bounds_of(Connection& connection, const ListQuery& query, const std::string& scope) {
  Bounds bounds;
  if (!query.cursor.empty()) bounds.below = read_number_cursor(scope, query.cursor);
  if (query.since) {
    const auto first = edges(connection, query, kFirstSince, *query.since);
    if (first.empty()) return std::nullopt;
    bounds.least = std::ranges::min(first);
  }
  if (query.until) {
    const auto last = edges(connection, query, kLastBefore, *query.until);
    if (last.empty()) return std::nullopt;
    bounds.below = std::min(bounds.below, std::ranges::max(last) + 1);
  }
  return bounds;
}

std::string_view index_for(const ListQuery& query) {
  if (query.parent) return "runs_by_parent";
  if (query.run_type) return "runs_by_type";
  if (query.experiment && query.state) return "runs_by_experiment_state";
  if (query.experiment) return "runs_by_experiment";
  if (query.state) return "runs_by_state";
  return "runs_by_workspace";
}

// The runs that have a tag, or a property.
struct Labels {
  std::string_view table;
  const TagFilter& filter;
};

void add_label(Query& sql, const Labels& labels) {
  sql.where(fmt::format("EXISTS (SELECT 1 FROM {} AS t WHERE t.run = r.sequence AND t.key = ?", labels.table),
            labels.filter.key);
  if (labels.filter.value) sql.where("t.value = ?", *labels.filter.value);
  sql.add(")");
}

void add_filters(Query& sql, const ListQuery& query, std::optional<bool> archived) {
  if (query.parent && !query.recursive) sql.where("r.parent = ?", *query.parent);
  if (query.run_type) sql.where("r.run_type = ?", *query.run_type);
  if (query.experiment) sql.where("r.experiment = ?", *query.experiment);
  if (query.state) sql.where("r.state = ?", std::string(model::state_name(*query.state)));
  if (archived) sql.where("r.archived = ?", static_cast<std::int64_t>(*archived));
  if (query.since) sql.where("r.created >= ?", query.since->micros);
  if (query.until) sql.where("r.created < ?", query.until->micros);
}

// Walks the runs; a tag, if any, is looked up for each.
Query from_runs(const ListQuery& query, const Bounds& bounds, bool archived) {
  Query sql;
  sql.add(fmt::format("SELECT {} FROM runs AS r INDEXED BY {} WHERE true", kColumns, index_for(query)));
  sql.where("r.workspace = ?", query.workspace);
  sql.where("r.sequence >= ?", bounds.least).where("r.sequence < ?", bounds.below);
  add_filters(sql, query, archived);
  if (query.tag) add_label(sql, {"run_tags", *query.tag});
  if (query.property) add_label(sql, {"run_properties", *query.property});
  return std::move(sql.add(" ORDER BY r.sequence DESC LIMIT ?"));
}

// Walks the runs that have the tag, or else the property.
Query from_labels(const ListQuery& query, const Bounds& bounds) {
  const Labels walked = query.tag ? Labels{"run_tags", *query.tag} : Labels{"run_properties", *query.property};
  Query sql;
  sql.add(fmt::format(
      "SELECT {0} FROM {1} AS t INDEXED BY {1}_by_{2} CROSS JOIN runs AS r ON r.sequence = t.run WHERE true", kColumns,
      walked.table, walked.filter.value ? "value" : "key"));
  sql.where("t.key = ?", walked.filter.key);
  if (walked.filter.value) sql.where("t.value = ?", *walked.filter.value);
  sql.where("t.run >= ?", bounds.least).where("t.run < ?", bounds.below).where("r.workspace = ?", query.workspace);
  add_filters(sql, query, query.archived);
  if (query.tag && query.property) add_label(sql, {"run_properties", *query.property});
  return std::move(sql.add(" ORDER BY t.run DESC LIMIT ?"));
}

// Walks all descendants of a run.
Query from_family(const ListQuery& query, const Bounds& bounds) {
  Query sql;
  sql.values.emplace_back(*query.parent);
  sql.add(
      fmt::format("{} SELECT {} FROM family CROSS JOIN runs AS r ON r.id = family.id WHERE true", kFamily, kColumns));
  sql.where("r.workspace = ?", query.workspace);
  sql.where("r.sequence >= ?", bounds.least).where("r.sequence < ?", bounds.below);
  add_filters(sql, query, query.archived);
  if (query.tag) add_label(sql, {"run_tags", *query.tag});
  if (query.property) add_label(sql, {"run_properties", *query.property});
  return std::move(sql.add(" ORDER BY r.sequence DESC LIMIT ?"));
}

std::vector<model::RunRecord> fetch(Connection& connection, const Query& query, int limit) {
  Statement row = connection.prepare(query.sql);
  for (const Value& value : query.values) std::visit([&](const auto& v) { row.bind(v); }, value);
  row.bind(limit + 1);
  std::vector<model::RunRecord> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

std::vector<model::RunRecord> fetch_page(Connection& connection, const ListQuery& query, const Bounds& bounds) {
  // Live runs are few: walking them beats walking a tag that half of all runs may have.
  const bool few = query.state && !model::is_terminal(*query.state);
  if (query.parent && query.recursive) return fetch(connection, from_family(query, bounds), query.limit);
  if ((query.tag || query.property) && !few && !query.parent)
    return fetch(connection, from_labels(query, bounds), query.limit);
  if (query.archived) return fetch(connection, from_runs(query, bounds, *query.archived), query.limit);
  // Both kinds: two ordered walks, merged.
  auto current = fetch(connection, from_runs(query, bounds, false), query.limit);
  auto archived = fetch(connection, from_runs(query, bounds, true), query.limit);
  std::vector<model::RunRecord> merged;
  std::ranges::merge(std::move(current), std::move(archived), std::back_inserter(merged), std::greater<>(),
                     &model::RunRecord::sequence, &model::RunRecord::sequence);
  return merged;
}

}  // namespace

Page<model::RunRecord> list(Connection& connection, const ListQuery& query) {
  check_limit(query.limit);
  const std::string scope = scope_of(query);
  const auto bounds = bounds_of(connection, query, scope);
  if (!bounds) return {};
  return make_page(fetch_page(connection, query, *bounds), query.limit,
                   [&](const model::RunRecord& last) { return make_cursor(scope, last.sequence); });
}

}  // namespace lathe::db::runs
