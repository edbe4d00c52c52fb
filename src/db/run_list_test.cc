#include "db/run_list.h"

#include <sqlite3.h>

#include <random>

#include "db/artifacts.h"
#include "db/attempts.h"
#include "db/audit.h"
#include "db/events.h"
#include "db/logs.h"
#include "db/metrics.h"
#include "db/secrets.h"
#include "db/test_support.h"
#include "db/tokens.h"

namespace lathe::db {
namespace {

using model::RunState;
using runs::ListQuery;

// Two hundred runs whose properties follow from a seed; times are not in the order of submission.
struct RunList : Rows {
  std::vector<model::RunRecord> all;

  RunList() {
    transaction(connection, [&](Connection& open) {
      std::mt19937 random(7);
      for (int i = 0; i < 200; ++i) all.push_back(add_run(open, make_one(i, random)));
    });
  }

  static model::RunRecord make_one(int i, std::mt19937& random) {
    constexpr RunState kStates[] = {RunState::queued, RunState::running, RunState::completed, RunState::failed};
    auto run = make_run(fmt::format("run-{}", i), random() % 2 == 0 ? "mnist" : "cifar");
    run.workspace = random() % 4 == 0 ? "other" : "ws";
    run.state = kStates[random() % 4];
    run.archived = random() % 3 == 0;
    run.created = {static_cast<std::int64_t>(1000 + i * 10 - random() % 300)};
    if (random() % 2 == 0) run.spec.tags["team"] = random() % 2 == 0 ? "nlp" : "vision";
    if (random() % 2 == 0) run.spec.properties["git"] = random() % 2 == 0 ? "main" : "next";
    if (random() % 2 == 0) run.spec.run_type = random() % 2 == 0 ? "script" : "child";
    // Families of three generations: 0 has 10, 11, …, and 10 has 20, 21, ….
    if (i >= 10 && i < 30) run.spec.parent = {fmt::format("run-{}", i / 10 * 10 - 10)};
    return run;
  }

  static bool matches(const ListQuery& query, const model::RunRecord& run) {
    if (run.workspace != query.workspace) return false;
    if (query.experiment && run.spec.experiment != *query.experiment) return false;
    if (query.state && run.state != *query.state) return false;
    if (query.archived && run.archived != *query.archived) return false;
    if (query.since && run.created < *query.since) return false;
    if (query.until && run.created >= *query.until) return false;
    if (query.run_type && run.spec.run_type != *query.run_type) return false;
    if (query.parent && *query.parent != run.spec.parent.value && (!query.recursive || run.root.value != *query.parent))
      return false;
    if (query.tag) {
      const auto tag = run.spec.tags.find(query.tag->key);
      if (tag == run.spec.tags.end() || (query.tag->value && *query.tag->value != tag->second)) return false;
    }
    if (!query.property) return true;
    const auto property = run.spec.properties.find(query.property->key);
    return property != run.spec.properties.end() &&
           (!query.property->value || *query.property->value == property->second);
  }

  std::vector<std::string> expected(const ListQuery& query) const {
    std::vector<std::string> ids;
    for (auto run = all.rbegin(); run != all.rend(); ++run) {
      if (matches(query, *run)) ids.push_back(run->id.value);
    }
    return ids;
  }

  std::vector<std::string> listed(ListQuery query) {
    std::vector<std::string> ids;
    while (true) {
      const auto page = runs::list(connection, query);
      EXPECT_LE(page.items.size(), static_cast<std::size_t>(query.limit));
      for (const auto& run : page.items) ids.push_back(run.id.value);
      if (!page.next) return ids;
      query.cursor = *page.next;
    }
  }
};

std::vector<ListQuery> all_filter_combinations() {
  std::vector<ListQuery> queries;
  const std::optional<runs::TagFilter> tags[] = {std::nullopt, runs::TagFilter{"team", std::nullopt},
                                                 runs::TagFilter{"team", "nlp"}};
  const std::optional<RunState> states[] = {std::nullopt, RunState::running, RunState::completed};
  const std::optional<bool> archived[] = {false, true, std::nullopt};
  for (const auto& experiment : {std::optional<std::string>(), std::optional<std::string>("mnist")}) {
    for (const auto& state : states) {
      for (const auto& tag : tags) {
        for (const auto& since : {std::optional<base::UtcTime>(), std::optional(base::UtcTime{1200})}) {
          for (const auto& until : {std::optional<base::UtcTime>(), std::optional(base::UtcTime{2200})}) {
            for (const auto& kind : archived)
              queries.push_back({.workspace = "ws",
                                 .experiment = experiment,
                                 .state = state,
                                 .tag = tag,
                                 .since = since,
                                 .until = until,
                                 .archived = kind,
                                 .limit = 7});
          }
        }
      }
    }
  }
  return queries;
}

// Each of the queries above with a property, a type and a parent on top.
std::vector<ListQuery> combinations_with_kin() {
  std::vector<ListQuery> queries;
  for (const ListQuery& query : all_filter_combinations()) {
    if (query.since) continue;
    for (const auto& property :
         {std::optional<runs::TagFilter>(), std::optional<runs::TagFilter>({"git", std::nullopt}),
          std::optional<runs::TagFilter>({"git", "main"})})
      for (const auto& type : {std::optional<std::string>(), std::optional<std::string>("child")})
        for (const auto& parent : {std::optional<std::string>(), std::optional<std::string>("run-0")}) {
          ListQuery more = query;
          more.property = property;
          more.run_type = type;
          more.parent = parent;
          queries.push_back(more);
        }
  }
  return queries;
}

TEST_F(RunList, FindsRunsByTheirPropertyTypeAndParentToo) {
  std::size_t found = 0;
  for (ListQuery query : combinations_with_kin()) {
    for (const bool recursive : {false, true}) {
      query.recursive = recursive && query.parent;
      ASSERT_EQ(listed(query), expected(query));
      found += query.parent ? expected(query).size() : 0;
    }
  }
  EXPECT_GT(found, 100u) << "the filters let something through";
}

TEST_F(RunList, GivesExactlyTheMatchingRunsNewestFirstForEveryCombinationOfFilters) {
  std::size_t found = 0;
  for (const ListQuery& query : all_filter_combinations()) {
    const auto ids = listed(query);
    ASSERT_EQ(ids, expected(query));
    found += ids.size();
  }
  EXPECT_GT(found, 1000u) << "the filters let something through";
}

// What SQLite says it will do for every statement that this connection has met.
std::vector<std::string> plans(Connection& connection) {
  std::vector<std::string> texts, lines;
  for (sqlite3_stmt* s = sqlite3_next_stmt(connection.raw(), nullptr); s != nullptr;
       s = sqlite3_next_stmt(connection.raw(), s)) {
    texts.emplace_back(sqlite3_sql(s));
  }
  for (const std::string& sql : texts) {
    if (!sql.starts_with("SELECT") && !sql.starts_with("UPDATE") && !sql.starts_with("DELETE")) continue;
    Statement row = connection.prepare("EXPLAIN QUERY PLAN " + sql);
    while (row.step()) lines.push_back(row.text(3) + "   in   " + sql);
  }
  return lines;
}

void expect_no_scan(Connection& connection) {
  const auto lines = plans(connection);
  EXPECT_FALSE(lines.empty());
  for (const std::string& line : lines) {
    EXPECT_FALSE(line.starts_with("SCAN")) << line;
    EXPECT_EQ(line.find("TEMP B-TREE"), std::string::npos) << line;
    EXPECT_EQ(line.find("AUTOMATIC"), std::string::npos) << line;
  }
}

TEST_F(RunList, WalksAnIndexForEveryCombinationOfFilters) {
  Connection reader(folder / "lathe.db", Connection::Mode::read_only);
  for (const ListQuery& query : combinations_with_kin()) runs::list(reader, query);
  expect_no_scan(reader);
}

TEST_F(RunList, AndEverythingElseThatIsAskedOftenUsesAnIndexToo) {
  Connection reader(folder / "lathe.db", Connection::Mode::read_only);
  runs::find(reader, {"run-1"});
  runs::is_same_submit(reader, {"run-1"}, "ws", all[1].spec);
  experiments::find(reader, "ws", "mnist");
  experiments::list(reader, "ws", 10);
  attempts::find(reader, 1, 1);
  attempts::list(reader, 1);
  attempts::find_by_token_hash(reader, base::sha256("x"));
  events::list_after(reader, 1, 0, 10);
  events::list_all_after(reader, 0, 10);
  events::list_between(reader, "ws", "", {}, 10);
  events::list_between(reader, "ws", "run-1", {}, 10);
  events::list_between(reader, "ws", "no such run", {}, 10);
  runs::count_live_of(reader, "alice", 10);
  logs::list(reader, 1, 1, "log");
  artifacts::find(reader, 1, "a");
  artifacts::list(reader, 1, "outputs/", 10);
  tokens::find_by_hash(reader, base::sha256("x"));
  audit::list(reader, 10);
  workspaces::find(reader, "ws");
  runs::definition(reader, 1);
  metrics::find_source(reader, 1, "s");
  metrics::blocks_after(reader, 1, 0, std::nullopt, 1);
  metrics::blocks_after(reader, 1, 0, "loss", 1);
  metrics::names(reader, 1);
  secrets::list(reader, "ws", 10);
  secrets::find(reader, "ws", "a");
  expect_no_scan(reader);
}

TEST_F(RunList, RefusesACursorThatIsForgedOrOfAnotherList) {
  ListQuery query{.workspace = "ws"};
  query.limit = 5;
  const std::string cursor = runs::list(connection, query).next.value();
  const auto with = [&](const std::string& text) {
    ListQuery changed = query;
    changed.cursor = text;
    return code_of([&] { runs::list(connection, changed); });
  };
  std::string flipped = cursor;
  flipped.back() = flipped.back() == '1' ? '2' : '1';
  for (const std::string& bad :
       {std::string("x"), std::string("00"), std::string("%00"), std::string(5000, 'a'), flipped, cursor + "30"}) {
    EXPECT_EQ(with(bad), base::Code::invalid) << bad;
  }
  ListQuery other = query;
  other.workspace = "other";
  other.cursor = cursor;
  EXPECT_EQ(code_of([&] { runs::list(connection, other); }), base::Code::invalid);
}

TEST_F(RunList, RefusesPagesThatAreTooSmallOrTooLarge) {
  for (const int limit : {0, -1, 501}) {
    EXPECT_EQ(code_of([&] { runs::list(connection, {.workspace = "ws", .limit = limit}); }), base::Code::invalid);
  }
}

TEST_F(RunList, GoesOnWhereItWasWhenNewRunsCome) {
  ListQuery query{.workspace = "ws"};
  const auto wanted = expected({.workspace = "ws"});
  query.limit = 10;
  const auto first = runs::list(connection, query);
  add_run(connection, make_run("new"));
  query.cursor = first.next.value();
  EXPECT_EQ(runs::list(connection, query).items.front().id.value, wanted[10]);
}

}  // namespace
}  // namespace lathe::db
