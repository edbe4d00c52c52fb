#include "db/runs.h"

#include "db/artifacts.h"
#include "db/attempts.h"
#include "db/events.h"
#include "db/logs.h"
#include "db/metrics.h"
#include "db/test_support.h"

namespace lathe::db {
namespace {

struct Runs : Rows {};

model::RunRecord next(model::RunRecord run, model::RunState state) {
  run.state = state;
  ++run.generation;
  return run;
}

void expect_equal(const model::RunRecord& a, const model::RunRecord& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.workspace, b.workspace);
  EXPECT_EQ(a.spec, b.spec);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.infrastructure_failures, b.infrastructure_failures);
  EXPECT_EQ(a.user_failures, b.user_failures);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.error.has_value(), b.error.has_value());
  if (a.error && b.error) EXPECT_EQ(a.error->code + a.error->message, b.error->code + b.error->message);
  EXPECT_EQ(a.usage, b.usage);
  EXPECT_EQ(a.created, b.created);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.ended, b.ended);
  EXPECT_EQ(a.archived, b.archived);
  EXPECT_EQ(a.submitted_by, b.submitted_by);
}

TEST_F(Runs, ComeBackAsTheyWereInserted) {
  auto run = make_run("run-1");
  run.spec.tags = {{"a", "1"}, {"ü", "\"quoted\"\n"}};
  run.spec.properties = {{"p", ""}};
  run.notes = {"size cut from 6 to 2 cores"};
  run = add_run(connection, run);
  EXPECT_EQ(run.sequence, 1);
  expect_equal(runs::get(connection, run.id), run);
  expect_equal(runs::get(connection, run.sequence), run);
}

TEST_F(Runs, ComeBackAsTheyWereStored) {
  const auto before = add_run(connection, make_run("run-1"));
  auto after = next(before, model::RunState::failed);
  after.attempt = 2;
  after.infrastructure_failures = 1;
  after.user_failures = 3;
  after.error = {.code = "script-failed", .message = "exit code 1"};
  after.usage = {.cpu_seconds = 0.1, .peak_memory_bytes = 1 << 30, .peak_gpu_memory_bytes = 5, .gpu_seconds = 1e-9};
  after.started = base::UtcTime{5};
  after.ended = base::UtcTime{6};
  after.archived = true;
  runs::store(connection, before, after);
  expect_equal(runs::get(connection, before.id), after);
}

TEST_F(Runs, RefuseAChangeOfAnOldState) {
  const auto before = add_run(connection, make_run("run-1"));
  const auto first = next(before, model::RunState::running);
  runs::store(connection, before, first);
  EXPECT_EQ(code_of([&] { runs::store(connection, before, next(before, model::RunState::canceled)); }),
            base::Code::conflict);
  expect_equal(runs::get(connection, before.id), first);
}

TEST_F(Runs, RefuseASecondRunOfTheSameId) {
  add_run(connection, make_run("run-1"));
  EXPECT_EQ(code_of([&] { add_run(connection, make_run("run-1")); }), base::Code::conflict);
}

TEST_F(Runs, KnowARepeatedSubmitByItsContent) {
  auto run = make_run("run-1");
  run.spec.tags = {{"a", "1"}};
  const auto submitted = add_run(connection, run);
  EXPECT_TRUE(runs::is_same_submit(connection, run.id, "ws", run.spec));
  EXPECT_FALSE(runs::is_same_submit(connection, run.id, "other", run.spec));
  EXPECT_FALSE(runs::is_same_submit(connection, {"run-2"}, "ws", run.spec));
  auto other = run.spec;
  other.command.arguments.push_back("");
  EXPECT_FALSE(runs::is_same_submit(connection, run.id, "ws", other));

  auto tagged = next(submitted, submitted.state);
  tagged.spec.tags = {{"b", "2"}};
  runs::store(connection, submitted, tagged);
  EXPECT_TRUE(runs::is_same_submit(connection, run.id, "ws", run.spec))
      << "a later tag does not make it another submit";
  EXPECT_EQ(runs::get(connection, run.id).spec.tags, tagged.spec.tags);
}

TEST_F(Runs, NameTheRunThatIsNotThere) {
  EXPECT_EQ(runs::find(connection, {"none"}), std::nullopt);
  EXPECT_EQ(code_of([&] { runs::get(connection, model::RunId{"none"}); }), base::Code::not_found);
  EXPECT_EQ(code_of([&] { runs::get(connection, 5); }), base::Code::not_found);
}

TEST_F(Runs, AreLiveUntilTheyAreOver) {
  const auto a = add_run(connection, make_run("a"));
  const auto b = add_run(connection, make_run("b"));
  const auto c = add_run(connection, make_run("c"));
  runs::store(connection, b, next(b, model::RunState::completed));
  runs::store(connection, c, next(c, model::RunState::running));
  const auto live = runs::live(connection);
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].id.value, "a");
  EXPECT_EQ(live[1].id.value, "c");
  EXPECT_EQ(runs::live(connection, model::RunState::running).size(), 1u);
  EXPECT_TRUE(runs::live(connection, model::RunState::completed).empty()) << "those are over";
  const auto counts = runs::counts(connection);
  EXPECT_EQ(counts.total, 3);
  EXPECT_EQ(counts.live,
            (std::map<model::RunState, std::int64_t>{{model::RunState::queued, 1}, {model::RunState::running, 1}}));
}

TEST_F(Runs, TakeEverythingOfTheirsWithThem) {
  auto run = make_run("a");
  run.spec.tags = {{"k", "v"}};
  run.state = model::RunState::completed;
  run = add_run(connection, run);
  const auto kept = add_run(connection, make_run("kept"));
  attempts::insert(connection, run.sequence,
                   {.number = 1,
                    .token_hash = base::sha256("t"),
                    .slices = {},
                    .placed = {},
                    .claimed = {},
                    .ended = {},
                    .exit = {}});
  logs::insert(connection, run.sequence, {1, "log", 0, 0, 5, base::sha256("l")});
  artifacts::upsert(connection, run.sequence,
                    std::vector<artifacts::Artifact>{{"outputs/m", base::sha256("m"), 1, false, 1, {}}});
  runs::store_definition(connection, run.sequence, "{}");
  metrics::store_source(connection, run.sequence, "s", {1, 1, 0});
  metrics::append(connection, run.sequence, {0, 1, 2, false, "{}", {"loss"}});
  events::append_change(connection, run, "tags", "x", {1});
  events::append_change(connection, kept, "tags", "x", {1});
  runs::remove(connection, run);
  for (const char* table : {"run_tags", "run_properties", "attempts", "log_segments", "artifacts", "run_definitions",
                            "metric_sources", "metric_blocks", "metric_names"}) {
    EXPECT_FALSE(connection.prepare(fmt::format("SELECT 1 FROM {}", table)).step()) << table;
  }
  EXPECT_TRUE(events::list_after(connection, run.sequence, 0, 1000).empty());
  EXPECT_EQ(events::list_after(connection, kept.sequence, 0, 1000).size(), 1u);
  EXPECT_EQ(runs::find(connection, run.id), std::nullopt);
}

TEST_F(Runs, KnowTheirFamily) {
  auto child_of = [&](const char* id, const char* parent) {
    auto run = make_run(id);
    run.spec.parent = {parent};
    run.state = model::RunState::completed;
    return add_run(connection, run);
  };
  add_run(connection, make_run("top"));
  EXPECT_EQ(child_of("a", "top").root.value, "top");
  const auto grandchild = child_of("b", "a");
  EXPECT_EQ(grandchild.root.value, "top");
  EXPECT_EQ(runs::get(connection, grandchild.id).root.value, "top");
  EXPECT_EQ(runs::get(connection, model::RunId{"top"}).children_count, 1);
  const auto all = runs::descendants(connection, {"top"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id.value, "b") << "a parent never comes before its children";
  EXPECT_TRUE(runs::belongs_to(connection, {"b"}, {"top"}));
  EXPECT_TRUE(runs::belongs_to(connection, {"b"}, {"b"}));
  EXPECT_FALSE(runs::belongs_to(connection, {"top"}, {"b"}));
  EXPECT_EQ(code_of([&] { runs::remove(connection, runs::get(connection, model::RunId{"a"})); }), base::Code::conflict);
  EXPECT_EQ(code_of([&] { child_of("c", "nobody"); }), base::Code::not_found);
}

TEST_F(Runs, KeepDetailsOfAnErrorAndTagsWithoutAValue) {
  auto run = add_run(connection, make_run("a"));
  auto after = next(run, model::RunState::failed);
  after.error = {.code = "UserError", .message = "m", .details = "line 1\nline 2"};
  after.spec.tags = {{"best", std::nullopt}, {"k", "v"}};
  after.spec.properties["p"] = "q";
  runs::store(connection, run, after);
  const auto back = runs::get(connection, run.id);
  EXPECT_EQ(back.error->details, "line 1\nline 2");
  EXPECT_EQ(back.spec.tags, after.spec.tags);
  EXPECT_EQ(back.spec.properties.at("p"), "q");
}

TEST_F(Runs, CannotBeRemovedWhileTheyLive) {
  const auto run = add_run(connection, make_run("a"));
  EXPECT_EQ(code_of([&] { runs::remove(connection, run); }), base::Code::conflict);
  EXPECT_TRUE(runs::find(connection, run.id));
}

TEST_F(Runs, NeverGetASequenceASecondTime) {
  auto run = make_run("a");
  run.state = model::RunState::canceled;
  run = add_run(connection, run);
  runs::remove(connection, run);
  EXPECT_GT(add_run(connection, make_run("b")).sequence, run.sequence);
}

TEST_F(Runs, AreCountedInTheirExperiment) {
  auto done = make_run("a");
  done.state = model::RunState::completed;
  const auto a = add_run(connection, done);
  done.id = {"b"};
  const auto b = add_run(connection, done);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").run_count, 2);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").last_run, b.id);
  auto archived = a;
  archived.archived = true;
  ++archived.generation;
  runs::store(connection, a, archived);
  runs::remove(connection, b);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").run_count, 1);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").last_run, a.id) << "an archived run is still a run";
  runs::remove(connection, archived);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").run_count, 0);
  EXPECT_EQ(experiments::get(connection, "ws", "mnist").last_run, std::nullopt);
}

}  // namespace
}  // namespace lathe::db
