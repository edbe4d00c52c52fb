// Workspaces, experiments, computes, attempts, events, logs, artifacts and tokens as rows.
#include "db/artifacts.h"
#include "db/attempts.h"
#include "db/columns.h"
#include "db/computes.h"
#include "db/events.h"
#include "db/logs.h"
#include "db/node_claims.h"
#include "db/node_exits.h"
#include "db/test_support.h"
#include "db/tokens.h"

namespace lathe::db {
namespace {

struct Workspaces : Rows {};
struct Experiments : Rows {};
struct Computes : Rows {};
struct Attempts : Rows {};
struct Events : Rows {};
struct Logs : Rows {};
struct Artifacts : Rows {};
struct Tokens : Rows {};

TEST_F(Workspaces, AreMadeOnce) {
  const workspaces::Workspace first{"ws", "s", "g", {1}};
  EXPECT_TRUE(workspaces::insert_if_absent(connection, first));
  EXPECT_FALSE(workspaces::insert_if_absent(connection, {"ws", "other", "other", {2}}));
  EXPECT_EQ(workspaces::get(connection, "ws"), first);
  EXPECT_EQ(workspaces::list_after(connection, "", 10).size(), 1u);
  EXPECT_EQ(code_of([&] { workspaces::get(connection, "none"); }), base::Code::not_found);
}

TEST_F(Experiments, ArePagedNewestFirst) {
  workspaces::insert_if_absent(connection, {"ws", "s", "g", {1}});
  for (int i = 0; i < 25; ++i) experiments::ensure(connection, "ws", fmt::format("e{}", i), {i});
  experiments::ensure(connection, "ws", "e3", {99});
  std::vector<std::string> names;
  std::string cursor;
  do {
    const auto page = experiments::list(connection, "ws", 10, cursor);
    for (const auto& item : page.items) names.push_back(item.name);
    cursor = page.next.value_or("");
  } while (!cursor.empty());
  ASSERT_EQ(names.size(), 25u);
  EXPECT_EQ(names.front(), "e24");
  EXPECT_EQ(names.back(), "e0");
  EXPECT_EQ(experiments::get(connection, "ws", "e3").created.micros, 3);
  EXPECT_EQ(code_of([&] { experiments::list(connection, "ws", 10, "forged"); }), base::Code::invalid);
  EXPECT_EQ(code_of([&] { experiments::ensure(connection, "none", "e", {}); }), base::Code::conflict)
      << "no such workspace";
}

TEST_F(Computes, AreReplacedButKeepTheirBirthday) {
  workspaces::insert_if_absent(connection, {"ws", "s", "g", {1}});
  model::ComputeTarget target{.workspace = "ws",
                              .name = "gpu",
                              .provider = "local",
                              .vm_size = "STANDARD_NC6",
                              .min_nodes = 0,
                              .max_nodes = 4,
                              .idle_seconds = 60,
                              .priority = model::VmPriority::low_priority,
                              .created = {5}};
  EXPECT_TRUE(computes::insert_or_update(connection, target));
  EXPECT_EQ(computes::get(connection, "ws", "gpu"), target);
  target.max_nodes = 8;
  target.priority = model::VmPriority::dedicated;
  auto later = target;
  later.created = {6};
  EXPECT_FALSE(computes::insert_or_update(connection, later));
  EXPECT_EQ(computes::list_after(connection, "ws", "", 10), std::vector{target});
  EXPECT_EQ(computes::list_all(connection), std::vector{target});
  EXPECT_TRUE(computes::remove(connection, "ws", "gpu"));
  EXPECT_FALSE(computes::remove(connection, "ws", "gpu"));
  EXPECT_EQ(computes::find(connection, "ws", "gpu"), std::nullopt);
}

model::AttemptRecord make_attempt(int number, std::string_view token) {
  model::AttemptRecord attempt;
  attempt.number = number;
  attempt.token_hash = base::sha256(token);
  attempt.slices = {{.node = 0, .node_name = "cpu/3", .millicores = 1500, .memory_bytes = 1 << 30, .gpus = {"GPU-1"}},
                    {.node = 1, .node_name = "cpu/4", .millicores = 1500, .memory_bytes = 1 << 30, .gpus = {}}};
  attempt.placed = {7};
  return attempt;
}

TEST_F(Attempts, ComeBackAsTheyWereStored) {
  const auto run = add_run(connection, make_run("a"));
  auto attempt = make_attempt(1, "secret");
  attempts::insert(connection, run.sequence, attempt);
  EXPECT_EQ(attempts::find(connection, run.sequence, 1)->exit.reason, model::EndReason::none);
  attempt.claimed = base::UtcTime{8};
  attempt.ended = base::UtcTime{9};
  attempt.stop_asked = true;
  attempt.stop_reason = model::EndReason::preempted;
  attempt.exit = {.reason = model::EndReason::signaled,
                  .exit_code = 0,
                  .signal = 15,
                  .message = "ended by SIGTERM",
                  .usage = {.cpu_seconds = 2.5},
                  .started = {8},
                  .ended = {9},
                  .unkillable = 2};
  attempts::upsert(connection, run.sequence, attempt);
  const auto found = attempts::find(connection, run.sequence, 1).value();
  EXPECT_EQ(found.token_hash, attempt.token_hash);
  EXPECT_EQ(found.slices, attempt.slices);
  EXPECT_EQ(found.placed.micros, 7);
  EXPECT_EQ(found.claimed, attempt.claimed);
  EXPECT_EQ(found.ended, attempt.ended);
  EXPECT_TRUE(found.stop_asked);
  EXPECT_EQ(found.stop_reason, model::EndReason::preempted);
  EXPECT_EQ(found.exit.reason, model::EndReason::signaled);
  EXPECT_EQ(found.exit.signal, 15);
  EXPECT_EQ(found.exit.message, "ended by SIGTERM");
  EXPECT_EQ(found.exit.usage, attempt.exit.usage);
  EXPECT_EQ(found.exit.ended.micros, 9);
  EXPECT_EQ(found.exit.unkillable, 2);
}

TEST_F(Attempts, AreFoundByTheHashOfTheirToken) {
  const auto run = add_run(connection, make_run("a"));
  attempts::upsert(connection, run.sequence, make_attempt(1, "one"));
  attempts::upsert(connection, run.sequence, make_attempt(2, "two"));
  const auto owner = attempts::find_by_token_hash(connection, base::sha256("two")).value();
  EXPECT_EQ(owner.run, run.id);
  EXPECT_EQ(owner.sequence, run.sequence);
  EXPECT_EQ(owner.workspace, "ws");
  EXPECT_EQ(owner.attempt.number, 2);
  EXPECT_FALSE(attempts::find_by_token_hash(connection, base::sha256("three")));
  EXPECT_EQ(attempts::list(connection, run.sequence).size(), 2u);
}

TEST_F(Attempts, RefuseATakenNumberAndAMissingOne) {
  const auto run = add_run(connection, make_run("a"));
  attempts::insert(connection, run.sequence, make_attempt(1, "one"));
  EXPECT_EQ(code_of([&] { attempts::insert(connection, run.sequence, make_attempt(1, "two")); }), base::Code::conflict);
  EXPECT_EQ(code_of([&] { attempts::store(connection, run.sequence, make_attempt(2, "two")); }), base::Code::not_found);
  EXPECT_EQ(code_of([&] { attempts::insert(connection, 99, make_attempt(1, "x")); }), base::Code::conflict)
      << "no such run";
}

TEST_F(Events, AreReadInCommitOrderFromAnyPoint) {
  using model::RunState;
  const auto a = add_run(connection, make_run("a"));
  auto other = make_run("b");
  other.workspace = "other";
  const auto b = add_run(connection, other);
  const std::vector<model::RunMove> moves{{RunState::not_started, RunState::starting, "submitted", {1}},
                                          {RunState::starting, RunState::preparing, "accepted", {2}}};
  const auto appended = events::append_moves(connection, a, moves);
  events::append_moves(connection, b, moves);
  const auto change = events::append_change(connection, a, "tags", "changed by alice", {3});
  ASSERT_EQ(appended.size(), 2u);
  EXPECT_EQ(events::last_id(connection), change.id);

  const auto of_run = events::list_after(connection, a.sequence, 0, 1000);
  ASSERT_EQ(of_run.size(), 3u);
  EXPECT_EQ(of_run[1].from, RunState::starting);
  EXPECT_EQ(of_run[1].to, RunState::preparing);
  EXPECT_EQ(of_run[1].reason, "accepted");
  EXPECT_EQ(of_run[1].run_id, a.id);
  EXPECT_EQ(of_run[2].kind, "tags");
  EXPECT_EQ(of_run[2].to, std::nullopt);

  const auto after = events::list_between(connection, "ws", "", {appended[0].id}, 10);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].id, appended[1].id);
  EXPECT_EQ(after[1].id, change.id);
  EXPECT_EQ(events::list_between(connection, "ws", "", {appended[0].id, appended[1].id}, 10).size(), 1u);
  EXPECT_EQ(events::list_between(connection, "ws", "", {}, 1).size(), 1u);
  EXPECT_EQ(events::list_between(connection, "ws", "a", {}, 10).size(), 3u);
  EXPECT_EQ(events::list_between(connection, "ws", "b", {}, 10).size(), 0u) << "it is of the other workspace";
  EXPECT_EQ(events::list_all_after(connection, 0, 10).size(), 5u);
  EXPECT_EQ(events::list_all_after(connection, change.id - 1, 10).size(), 1u);
  EXPECT_EQ(events::list_after(connection, a.sequence, appended[0].id, 1).size(), 1u);
}

TEST_F(Events, TheLastOneOfADeletedRunIsFoundByItsId) {
  auto run = make_run("a");
  run.state = model::RunState::completed;
  run = add_run(connection, run);
  events::append_change(connection, run, "tags", "", {1});
  runs::remove(connection, run);
  events::append_change(connection, run, "deleted", "", {2});
  const auto found = events::list_between(connection, "ws", "a", {}, 10);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "deleted");
}

TEST_F(Events, OldOnesAreThoseOfRunsThatAreOverAndOfNone) {
  auto ended = make_run("ended");
  ended.state = model::RunState::completed;
  ended.ended = base::UtcTime{50};
  ended = add_run(connection, ended);
  auto lately = make_run("lately");
  lately.state = model::RunState::completed;
  lately.ended = base::UtcTime{500};
  lately = add_run(connection, lately);
  const auto live = add_run(connection, make_run("live"));
  std::vector<std::int64_t> old;
  for (int at = 1; at <= 40; ++at) {
    old.push_back(events::append_change(connection, ended, "tags", "", {at}).id);
    events::append_change(connection, live, "tags", "", {at});
    events::append_change(connection, lately, "tags", "", {at});
  }
  events::append_build(connection, "ws", 1, "ready", {41});
  old.push_back(events::last_id(connection));
  events::append_change(connection, ended, "tags", "", {200});

  std::vector<std::int64_t> found;
  for (std::optional<std::int64_t> after = 0; after;) {
    const auto piece = events::find_old(connection, *after, {100}, 7);
    found.insert(found.end(), piece.ids.begin(), piece.ids.end());
    after = piece.next;
  }
  EXPECT_EQ(found, old);
  events::remove(connection, found);
  EXPECT_EQ(events::list_after(connection, ended.sequence, 0, 1000).size(), 1u);
  EXPECT_EQ(events::list_after(connection, live.sequence, 0, 1000).size(), 40u);
  EXPECT_EQ(events::list_after(connection, lately.sequence, 0, 1000).size(), 40u);
}

TEST_F(Events, NeverGiveAnIdTwice) {
  auto run = make_run("a");
  run.state = model::RunState::completed;
  run = add_run(connection, run);
  EXPECT_EQ(events::last_id(connection), 0);
  const auto first = events::append_change(connection, run, "tags", "", {1});
  runs::remove(connection, run);
  EXPECT_EQ(events::last_id(connection), first.id);
  EXPECT_GT(events::append_change(connection, run, "deleted", "", {2}).id, first.id);
}

TEST_F(Logs, KeepTheirSegmentsInOrder) {
  const auto run = add_run(connection, make_run("a"));
  const logs::Segment second{1, "70_driver_log.txt", 1, 10, 5, base::sha256("b")};
  EXPECT_TRUE(logs::insert(connection, run.sequence, second));
  EXPECT_TRUE(logs::insert(connection, run.sequence, {1, "70_driver_log.txt", 0, 0, 10, base::sha256("a")}));
  EXPECT_TRUE(logs::insert(connection, run.sequence, {2, "70_driver_log.txt", 0, 0, 3, base::sha256("c")}));
  EXPECT_FALSE(logs::insert(connection, run.sequence, second)) << "the same again is the same";
  auto changed = second;
  changed.size = 6;
  EXPECT_EQ(code_of([&] { logs::insert(connection, run.sequence, changed); }), base::Code::conflict);
  const auto segments = logs::list(connection, run.sequence, 1, "70_driver_log.txt");
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].offset, 0);
  EXPECT_EQ(segments[1], second);
  EXPECT_EQ(logs::list(connection, run.sequence, 2, "70_driver_log.txt").size(), 1u);
}

TEST_F(Artifacts, AreListedByPrefixInPages) {
  const auto run = add_run(connection, make_run("a"));
  std::vector<artifacts::Artifact> files;
  for (const char* path :
       {"logs/a", "outputs", "outputs/a", "outputs/b/c", "outputs/\xc3\xbc", "outputs0", "outputs/%_"}) {
    files.push_back({path, base::sha256(path), 3, true, 1, {4}});
  }
  artifacts::upsert(connection, run.sequence, files);
  std::vector<std::string> paths;
  std::string cursor;
  do {
    const auto page = artifacts::list(connection, run.sequence, "outputs/", 2, cursor);
    for (const auto& item : page.items) paths.push_back(item.path);
    cursor = page.next.value_or("");
  } while (!cursor.empty());
  EXPECT_EQ(paths, (std::vector<std::string>{"outputs/%_", "outputs/a", "outputs/b/c", "outputs/\xc3\xbc"}));
  EXPECT_EQ(artifacts::list(connection, run.sequence, "", 500).items.size(), files.size());
}

TEST_F(Artifacts, AreReplacedByALaterContent) {
  const auto run = add_run(connection, make_run("a"));
  artifacts::upsert(connection, run.sequence,
                    std::vector<artifacts::Artifact>{{"m", base::sha256("1"), 1, false, 1, {1}}});
  const artifacts::Artifact later{"m", base::sha256("2"), 2, true, 2, {2}};
  artifacts::upsert(connection, run.sequence, std::vector{later});
  EXPECT_EQ(artifacts::find(connection, run.sequence, "m"), later);
  EXPECT_EQ(artifacts::find(connection, run.sequence, "n"), std::nullopt);
}

TEST_F(Artifacts, LogsAndSnapshotsNameTheDigestsThatMustStay) {
  const auto run = add_run(connection, make_run("a"));
  artifacts::upsert(connection, run.sequence,
                    std::vector<artifacts::Artifact>{{"m", base::sha256("m"), 1, false, 1, {1}}});
  logs::insert(connection, run.sequence, {1, "log", 0, 0, 5, base::sha256("l")});
  std::vector<base::Digest> seen;
  artifacts::visit_references(connection, [&](const base::Digest& digest, bool) { seen.push_back(digest); });
  std::ranges::sort(seen);
  std::vector<base::Digest> expected{base::sha256("m"), base::sha256("l"), base::sha256("snapshot")};
  std::ranges::sort(expected);
  EXPECT_EQ(seen, expected);
}

TEST_F(Tokens, AreFoundByHashUntilTheyAreForgotten) {
  tokens::Token token{.name = "ci",
                      .role = "contributor",
                      .workspace = "",
                      .created = {1},
                      .expires = base::UtcTime{9},
                      .last_used = {},
                      .revoked = {}};
  tokens::insert(connection, token, base::sha256("t"));
  tokens::touch(connection, token.id, {3});
  const auto found = tokens::find_by_hash(connection, base::sha256("t")).value();
  EXPECT_EQ(found.id, token.id);
  EXPECT_EQ(found.role, "contributor");
  EXPECT_EQ(found.expires, token.expires);
  EXPECT_EQ(found.last_used, base::UtcTime{3});
  EXPECT_EQ(found.revoked, std::nullopt);
  EXPECT_TRUE(tokens::revoke(connection, token.id, {4}));
  EXPECT_TRUE(tokens::revoke(connection, token.id, {5}));
  EXPECT_EQ(tokens::find(connection, token.id)->revoked, base::UtcTime{4});
  EXPECT_FALSE(tokens::revoke(connection, 99, {5}));
  EXPECT_EQ(tokens::list(connection).size(), 1u);
  EXPECT_FALSE(tokens::find_by_hash(connection, base::sha256("u")));
  EXPECT_EQ(code_of([&] { tokens::insert(connection, token, base::sha256("t")); }), base::Code::conflict);
}

// What a server reads at its start.
TEST_F(Rows, OpenAttemptsAreFoundTogetherWithTheirNodes) {
  auto placed = make_run("placed"), waiting = make_run("waiting"), again = make_run("again"), over = make_run("over");
  placed.attempt = again.attempt = over.attempt = 2;
  over.state = model::RunState::completed;
  std::map<std::string, std::int64_t> sequence;
  for (auto* run : {&placed, &waiting, &again, &over}) {
    add_run(connection, *run);
    sequence[run->id.value] = runs::find(connection, run->id)->sequence;
  }
  auto attempt = [&](const std::string& run, int number, bool ended) {
    model::AttemptRecord made;
    made.number = number;
    made.token_hash = base::sha256(run + std::to_string(number));
    made.slices.resize(2);
    if (ended) made.ended = base::UtcTime{9};
    attempts::insert(connection, sequence[run], made);
    node_claims::insert_if_absent(connection, sequence[run], number, number);
    model::ExitRecord exit;
    exit.reason = model::EndReason::exited;
    node_exits::insert_if_absent(connection, sequence[run], number, number, exit);
  };
  attempt("placed", 1, true);
  attempt("placed", 2, false);
  attempt("again", 1, true);
  attempt("again", 2, true);
  attempt("over", 2, true);
  const auto open = attempts::open_ones(connection);
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open.at(sequence["placed"]).number, 2);
  EXPECT_EQ(open.at(sequence["placed"]).slices.size(), 2u);
  EXPECT_EQ(node_claims::of_live_runs(connection).at(sequence["placed"]), (std::set<int>{2})) << "of attempt 2 alone";
  const auto exits = node_exits::of_live_runs(connection);
  EXPECT_EQ(exits.at(sequence["placed"]).size(), 1u);
  EXPECT_FALSE(exits.contains(sequence["over"]));
}

TEST(Columns, RefuseWhatTheyCannotRead) {
  for (const char* text : {"", "{", "[]", "{}", "null", "{\"experiment\":1}"}) {
    EXPECT_EQ(code_of([&] { columns::decode_spec(text); }), base::Code::corrupt) << text;
  }
  EXPECT_EQ(code_of([] { columns::decode_state("Sleeping"); }), base::Code::corrupt);
}

TEST(Columns, WrongValuesAreDamageNotTheCallersMistake) {
  model::RunSpec spec;
  spec.snapshot = base::sha256("snapshot");
  std::string text = columns::encode_spec(spec);
  text.replace(text.find(spec.snapshot->hex()), 2, "zz");
  EXPECT_EQ(code_of([&] { columns::decode_spec(text); }), base::Code::corrupt);
}

TEST(Columns, GiveTheSameTextForTheSameValue) {
  // A change of this text makes every stored spec_digest useless: a repeated submit would be refused.
  model::RunSpec spec;
  spec.experiment = "e";
  EXPECT_EQ(
      columns::encode_spec(spec),
      R"({"experiment":"e","display_name":"","script":"","command":[],"arguments":[],"interpreter":"","variables":{},)"
      R"("snapshot":null,"compute":"local","node_count":1,"priority":0,"max_run_duration_seconds":2592000,)"
      R"("grace_seconds":30,"infrastructure_retries":0,"user_retries":0,"tags":{},"properties":{}})");
  EXPECT_EQ(columns::decode_spec(columns::encode_spec(spec)), spec);
}

TEST(Columns, KeepTheFieldsThatCameLater) {
  model::RunSpec spec;
  spec.experiment = "e";
  spec.kind = model::RunKind::interactive;
  spec.parent = {"p"};
  spec.run_type = "azureml.childrun";
  spec.environment.name = "tf";
  spec.environment.definition = base::sha256("environment");
  spec.environment.version = "3";
  spec.definition = base::sha256("{}");
  spec.tags = {{"best", std::nullopt}};
  EXPECT_EQ(columns::decode_spec(columns::encode_spec(spec)), spec);
}

}  // namespace
}  // namespace lathe::db
