#include "model/run_moves.h"

#include <gtest/gtest.h>

namespace lathe::model {
namespace {

using base::Code;
using base::UtcTime;
constexpr auto canceled = RunState::canceled, completed = RunState::completed, failed = RunState::failed,
               finalizing = RunState::finalizing, queued = RunState::queued;

constexpr UtcTime kNow{1'000'000}, kLater{2'000'000};

RunSpec spec(RetryLimits retries = {}) {
  RunSpec value;
  value.experiment = "e";
  value.command.command = {"true"};
  value.retries = retries;
  return value;
}

Change submit(RetryLimits retries = {}) {
  return make_run({.id = {"r1"}, .workspace = "ws", .submitted_by = "me", .notes = {}}, spec(retries), kNow);
}
std::vector<Slice> one_slice() {
  return {{.node = 0, .node_name = "local/0", .millicores = 1000, .memory_bytes = 1, .gpus = {}}};
}

// A run and its attempt as the database would hold them; `apply` checks what every change must keep.
struct World {
  RunRecord run;
  std::optional<AttemptRecord> attempt;
  std::vector<std::string> path{"NotStarted"};

  explicit World(RetryLimits retries = {}) { record(submit(retries)); }

  void record(const Change& change) {
    RunState at = run.state;
    for (const auto& move : change.moves) {
      EXPECT_EQ(move.from, at);
      EXPECT_TRUE(can_move(move.from, move.to));
      at = move.to;
      path.emplace_back(state_name(move.to));
    }
    EXPECT_EQ(at, change.run.state);
    EXPECT_EQ(change.run.generation, run.generation + (change.changed ? 1 : 0));
    EXPECT_EQ(change.run.ended.has_value(), is_terminal(change.run.state));
    run = change.run;
    if (change.attempt) attempt = change.attempt;
  }
  World& apply(const base::Result<Change>& change) {
    EXPECT_TRUE(change) << (change ? "" : change.error().message());
    if (change) record(*change);
    return *this;
  }
  World& prepare() { return apply(prepared(run, "environment is the user's", kNow)); }
  World& place() { return apply(placed(run, attempt, one_slice(), base::sha256("token"), kNow)); }
  World& claim() { return apply(claimed(run, *attempt, kNow)); }
  World& end_process() { return apply(process_ended(run, *attempt, kNow)); }
  World& finish(const ExitRecord& exit) { return apply(finished(run, *attempt, exit, kLater)); }
  World& cancel() { return apply(cancel_requested(run, attempt, "canceled by me", kNow)); }
  std::string walked() const { return fmt::format("{}", fmt::join(path, " ")); }
};

World running(RetryLimits retries = {}) { return World(retries).prepare().place().claim(); }

ExitRecord exit_with(EndReason reason, int code = 0) {
  ExitRecord exit;
  exit.reason = reason;
  exit.exit_code = code;
  exit.usage = {.cpu_seconds = 2, .peak_memory_bytes = 100, .peak_gpu_memory_bytes = 0, .gpu_seconds = 1};
  exit.started = kNow;
  exit.ended = kLater;
  return exit;
}

// Nobody knows when it began, if it did.
ExitRecord lost() {
  ExitRecord exit;
  exit.reason = EndReason::node_lost;
  exit.ended = kLater;
  return exit;
}

TEST(RunMoves, AStraightLifePassesEveryState) {
  World world = running().end_process().finish(exit_with(EndReason::exited));
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Queued Running Finalizing Completed");
  EXPECT_EQ(world.run.started, kNow);
  EXPECT_EQ(world.run.ended, kLater);
  EXPECT_FALSE(world.run.error);
  EXPECT_EQ(world.attempt->ended, kLater);
}

RunRecord interactive_run() {
  RunSpec spec;
  spec.kind = RunKind::interactive;
  auto made = make_run({.id = {"i"}, .workspace = "w", .submitted_by = "me", .notes = {}}, spec, {1});
  return interactive_started(made.run, {2}).value().run;
}

TEST(RunMoves, AnInteractiveRunIsRunningAtOnceAndEndsByItsClientsWord) {
  const auto run = interactive_run();
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_EQ(run.attempt, 0);
  EXPECT_EQ(run.started, base::UtcTime{2});
  const auto done = interactive_ended(run, std::nullopt, "done", {3}).value();
  EXPECT_EQ(done.run.state, RunState::completed);
  EXPECT_EQ(done.run.ended, base::UtcTime{3});
  EXPECT_FALSE(interactive_ended(done.run, std::nullopt, "again", {4}).value().changed);
  const RunError error{"UserError", "nan", "trace"};
  const auto bad = interactive_ended(run, error, "failed", {3}).value();
  EXPECT_EQ(bad.run.state, RunState::failed);
  EXPECT_EQ(bad.run.error->details, "trace");
  EXPECT_EQ(interactive_ended(done.run, error, "failed", {4}).error().code(), base::Code::conflict);
  EXPECT_EQ(cancel_requested(run, std::nullopt, "canceled", {3}).value().run.state, RunState::canceled);
}

TEST(RunMoves, AScriptDoesNotEndByAWord) {
  auto run = interactive_run();
  run.spec.kind = RunKind::script;
  EXPECT_EQ(interactive_ended(run, std::nullopt, "done", {3}).error().code(), base::Code::conflict);
}

TEST(RunMoves, AFinishFillsInWhatWasNotReported) {
  EXPECT_EQ(running().finish(exit_with(EndReason::exited)).walked(),
            "NotStarted Starting Preparing Queued Running Finalizing Completed");
  World unclaimed = World().prepare().place().finish(exit_with(EndReason::exited));
  EXPECT_EQ(unclaimed.walked(), "NotStarted Starting Preparing Queued Running Finalizing Completed");
  EXPECT_EQ(unclaimed.run.started, kNow);
}

TEST(RunMoves, AnEndWithoutARunnerHasNothingToFinalize) {
  ExitRecord never_started;
  never_started.reason = EndReason::start_failed;
  World world = World().prepare().place().finish(never_started);
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Queued Failed");
  EXPECT_EQ(world.run.error->code, "start-failed");
}

TEST(RunMoves, AFailureSaysItsCodeAndMessage) {
  World script = running().finish(exit_with(EndReason::exited, 3));
  EXPECT_EQ(script.run.state, failed);
  EXPECT_EQ(script.run.error->code, "script-failed");
  EXPECT_EQ(script.run.error->message, "the script ended with exit code 3");
  ExitRecord oom = exit_with(EndReason::out_of_memory);
  oom.message = "killed at the memory limit of 2.0 GiB";
  World killed = running().finish(oom);
  EXPECT_EQ(killed.run.error->code, "out-of-memory");
  EXPECT_EQ(killed.run.error->message, "killed at the memory limit of 2.0 GiB");
}

TEST(RunMoves, APreparationThatFailsEndsTheRun) {
  World world;
  world.apply(prepare_failed(world.run, "no such package", kLater));
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Failed");
  EXPECT_EQ(world.run.error->code, "prepare-failed");
  EXPECT_FALSE(prepare_failed(World().prepare().run, "late", kLater));
}

// The rules of the end, written a second time in the plainest way, over every combination of inputs.
RunState expected_end(EndReason reason, int code, bool cancel, bool claimed, int infrastructure, int user) {
  if (reason == EndReason::exited && code == 0) return completed;
  if (cancel) {
    bool stopped = reason == EndReason::canceled || reason == EndReason::signaled || reason == EndReason::node_lost ||
                   reason == EndReason::preempted;
    return stopped || !claimed ? canceled : failed;
  }
  bool script = reason == EndReason::exited || reason == EndReason::signaled || reason == EndReason::out_of_memory;
  if (script) return user > 0 ? queued : failed;
  bool lost = reason == EndReason::node_lost || reason == EndReason::preempted || reason == EndReason::canceled;
  if (lost) return infrastructure > 0 ? queued : failed;
  return failed;
}

TEST(RunMoves, EveryEndFollowsTheRules) {
  int seen = 0;
  for (int r = 1; r <= static_cast<int>(EndReason::prepare_failed); ++r)
    for (int code : {0, 1})
      for (bool cancel : {false, true})
        for (bool claim : {false, true})
          for (bool ended : {false, true})
            for (bool started : {false, true})
              for (int infrastructure : {0, 1})
                for (int user : {0, 1}) {
                  if (ended && !claim) continue;
                  auto reason = static_cast<EndReason>(r);
                  World world = World({infrastructure, user}).prepare().place();
                  if (claim) world.claim();
                  if (ended) world.end_process();
                  if (cancel) world.cancel();
                  ExitRecord exit = exit_with(reason, code);
                  if (!started) exit.started = {};
                  world.finish(exit);
                  EXPECT_EQ(world.run.state, expected_end(reason, code, cancel, claim, infrastructure, user))
                      << end_reason_name(reason) << " " << code << " cancel " << cancel << " claimed " << claim << " "
                      << world.walked();
                  EXPECT_EQ(world.run.error.has_value(), world.run.state == failed);
                  EXPECT_TRUE(world.attempt->ended);
                  EXPECT_LE(world.run.infrastructure_failures + world.run.user_failures, 1);
                  ++seen;
                }
  EXPECT_EQ(seen, 9 * 2 * 2 * 3 * 2 * 4);
}

TEST(RunMoves, RetriesAreCountedApartAndNeverMoreThanDeclared) {
  World world = running({.infrastructure = 1, .user = 2});
  auto fail_with = [&](EndReason reason) {
    world.finish(exit_with(reason, 1));
    return world.run.state;
  };
  EXPECT_EQ(fail_with(EndReason::exited), queued);
  EXPECT_EQ(world.path.back(), "Queued");
  world.place().claim();
  EXPECT_EQ(world.run.attempt, 2);
  EXPECT_EQ(fail_with(EndReason::node_lost), queued);
  world.place().claim();
  EXPECT_EQ(fail_with(EndReason::out_of_memory), queued);
  world.place().claim();
  EXPECT_EQ(fail_with(EndReason::node_lost), failed);
  EXPECT_EQ(world.run.attempt, 4);
  EXPECT_EQ(world.run.infrastructure_failures, 2);
  EXPECT_EQ(world.run.user_failures, 2);
  EXPECT_EQ(world.run.error->code, "node-lost");
}

TEST(RunMoves, ARetrySaysWhichOneItIs) {
  World world = running({.infrastructure = 0, .user = 2});
  auto change = finished(world.run, *world.attempt, exit_with(EndReason::exited, 1), kLater);
  EXPECT_EQ(change->moves.back().reason, "retry 1 of 2 after exit code 1");
  EXPECT_EQ(change->moves.front().reason, "exit code 1");
}

TEST(RunMoves, UsageIsSummedOverAttempts) {
  World world = running({.infrastructure = 0, .user = 1}).finish(exit_with(EndReason::exited, 1)).place().claim();
  world.finish(exit_with(EndReason::exited));
  EXPECT_EQ(world.run.usage.cpu_seconds, 4);
  EXPECT_EQ(world.run.usage.gpu_seconds, 2);
  EXPECT_EQ(world.run.usage.peak_memory_bytes, 100);
}

TEST(RunMoves, HearingTheSameAgainChangesNothing) {
  World world = running();
  EXPECT_FALSE(claimed(world.run, *world.attempt, kLater)->changed);
  world.end_process();
  EXPECT_FALSE(process_ended(world.run, *world.attempt, kLater)->changed);
  world.finish(exit_with(EndReason::exited));
  auto again = finished(world.run, *world.attempt, exit_with(EndReason::exited), kLater);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->changed);
  EXPECT_TRUE(again->moves.empty());
  World queued_once = World().prepare();
  EXPECT_FALSE(prepared(queued_once.run, "again", kNow)->changed);
}

TEST(RunMoves, AZombieOfAnOldAttemptIsFenced) {
  World world = running({.infrastructure = 1, .user = 0});
  AttemptRecord old = *world.attempt;
  world.apply(finished(world.run, old, lost(), kLater));
  AttemptRecord old_ended = *world.attempt;
  for (int step = 0; step < 2; ++step) {  // while it waits, and while attempt 2 runs
    for (const AttemptRecord& zombie : {step == 0 ? old_ended : old}) {
      EXPECT_EQ(claimed(world.run, zombie, kLater).error().code(), Code::fenced);
      EXPECT_EQ(process_ended(world.run, zombie, kLater).error().code(), Code::fenced);
      EXPECT_EQ(finished(world.run, zombie, exit_with(EndReason::exited), kLater).error().code(), Code::fenced);
      EXPECT_EQ(preempt_requested(world.run, zombie).error().code(), Code::fenced);
    }
    if (step == 0) world.place().claim();
  }
  EXPECT_EQ(world.run.state, RunState::running);
}

TEST(RunMoves, ATerminalRunIsFinal) {
  World world = running().finish(exit_with(EndReason::exited));
  EXPECT_EQ(claimed(world.run, *world.attempt, kLater).error().code(), Code::conflict);
  EXPECT_EQ(finished(world.run, *world.attempt, exit_with(EndReason::exited, 1), kLater).error().code(), Code::fenced);
  EXPECT_EQ(finished(world.run, *world.attempt, lost(), kLater).error().code(), Code::fenced);
  auto cancel = cancel_requested(world.run, world.attempt, "x", kLater);
  EXPECT_EQ(cancel.error().code(), Code::conflict);
  EXPECT_EQ(cancel.error().message(), "run r1 is Completed and cannot be canceled");
  EXPECT_FALSE(placed(world.run, world.attempt, one_slice(), {}, kLater));
}

TEST(RunMoves, CancelWithoutAnAttemptEndsAtOnce) {
  EXPECT_EQ(World().cancel().walked(), "NotStarted Starting Preparing CancelRequested Canceled");
  EXPECT_EQ(World().prepare().cancel().walked(), "NotStarted Starting Preparing Queued CancelRequested Canceled");
  World between = running({.infrastructure = 1, .user = 0});
  between.apply(finished(between.run, *between.attempt, lost(), kNow)).cancel();
  EXPECT_EQ(between.run.state, canceled);
}

TEST(RunMoves, CancelOfALiveAttemptAsksItToStop) {
  World world = running().cancel();
  EXPECT_EQ(world.run.state, RunState::cancel_requested);
  EXPECT_TRUE(world.attempt->stop_asked);
  EXPECT_EQ(world.attempt->stop_reason, EndReason::canceled);
  EXPECT_FALSE(cancel_requested(world.run, world.attempt, "again", kLater)->changed);
  world.finish(exit_with(EndReason::canceled));
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Queued Running CancelRequested Finalizing Canceled");
  EXPECT_FALSE(cancel_requested(world.run, world.attempt, "again", kLater)->changed);
}

TEST(RunMoves, CancelTwiceAroundTheEndOfTheProcessIsOneCancel) {
  World world = running().cancel().end_process();
  EXPECT_EQ(world.run.state, finalizing);
  EXPECT_FALSE(cancel_requested(world.run, world.attempt, "again", kLater)->changed);
  EXPECT_EQ(world.finish(exit_with(EndReason::canceled)).run.state, canceled);
}

TEST(RunMoves, AClaimAfterACancelSucceedsSoThatTheRunnerHearsIt) {
  World world = World().prepare().place().cancel().claim();
  EXPECT_EQ(world.run.state, RunState::cancel_requested);
  EXPECT_TRUE(world.attempt->claimed);
  EXPECT_EQ(world.finish(exit_with(EndReason::canceled)).run.state, canceled);
}

TEST(RunMoves, PreemptionAsksTheAttemptAndRequeuesWhereDeclared) {
  World world = running({.infrastructure = 1, .user = 0});
  world.apply(preempt_requested(world.run, *world.attempt));
  EXPECT_EQ(world.run.state, RunState::running);
  EXPECT_EQ(world.attempt->stop_reason, EndReason::preempted);
  EXPECT_FALSE(preempt_requested(world.run, *world.attempt)->changed);
  EXPECT_EQ(world.finish(exit_with(EndReason::signaled)).run.state, queued);
  EXPECT_EQ(world.run.infrastructure_failures, 1);
  World twice = running();
  twice.apply(preempt_requested(twice.run, *twice.attempt)).cancel();
  EXPECT_EQ(twice.attempt->stop_reason, EndReason::canceled);
  EXPECT_EQ(twice.finish(exit_with(EndReason::preempted)).run.state, canceled);
}

TEST(RunMoves, AnAttemptNobodyClaimedGoesBackWithoutLeavingTheQueue) {
  World world = World({.infrastructure = 1, .user = 0}).prepare().place();
  world.apply(finished(world.run, *world.attempt, lost(), kLater));
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Queued");
  EXPECT_TRUE(world.attempt->ended);
  world.place();
  EXPECT_EQ(world.run.attempt, 2);
  world.apply(finished(world.run, *world.attempt, lost(), kLater));
  EXPECT_EQ(world.walked(), "NotStarted Starting Preparing Queued Failed");
}

TEST(RunMoves, ALiveAttemptIsNotPlacedTwice) {
  World world = World().prepare().place();
  EXPECT_EQ(placed(world.run, world.attempt, one_slice(), {}, kLater).error().code(), Code::conflict);
}

TEST(RunMoves, AnExitRecordNeedsAReason) {
  World world = running();
  EXPECT_EQ(finished(world.run, *world.attempt, ExitRecord{}, kLater).error().code(), Code::invalid);
}

TEST(RunMoves, ProcessesThatCannotBeKilledAreNotedInTheRun) {
  World world = running();
  ExitRecord exit = exit_with(EndReason::canceled);
  exit.unkillable = 2;
  auto change = finished(world.run, *world.attempt, exit, kLater);
  ASSERT_TRUE(change);
  ASSERT_EQ(change->run.notes.size(), world.run.notes.size() + 1);
  EXPECT_NE(change->run.notes.back().find("2 processes"), std::string::npos) << change->run.notes.back();
  EXPECT_NE(change->run.notes.back().find(world.attempt->slices[0].node_name), std::string::npos);
}

TEST(GangExit, CountsTheProcessesThatCannotBeKilledOnAllNodes) {
  std::vector<ExitRecord> nodes{exit_with(EndReason::exited), exit_with(EndReason::canceled)};
  nodes[0].unkillable = 1;
  nodes[1].unkillable = 2;
  EXPECT_EQ(gang_exit(nodes).unkillable, 3);
}

TEST(GangExit, TheNodeThatFailedByItselfSaysWhy) {
  std::vector<ExitRecord> nodes{exit_with(EndReason::exited), exit_with(EndReason::canceled),
                                exit_with(EndReason::exited, 7)};
  ExitRecord gang = gang_exit(nodes);
  EXPECT_EQ(gang.reason, EndReason::exited);
  EXPECT_EQ(gang.exit_code, 7);
  EXPECT_EQ(gang.usage.cpu_seconds, 6);
  EXPECT_EQ(gang.usage.peak_memory_bytes, 300);
  std::vector<ExitRecord> lost{exit_with(EndReason::canceled), exit_with(EndReason::node_lost)};
  EXPECT_EQ(gang_exit(lost).reason, EndReason::node_lost);
  std::vector<ExitRecord> good{exit_with(EndReason::exited), exit_with(EndReason::exited)};
  EXPECT_EQ(gang_exit(good).reason, EndReason::exited);
  EXPECT_EQ(gang_exit(good).exit_code, 0);
}

TEST(RunMoves, ARunnerThatNeverStartedCostsNoRetryAndIsFenced) {
  World world;
  world.prepare().place();
  const AttemptRecord old = *world.attempt;
  world.apply(unplaced(world.run, old, kLater));
  EXPECT_EQ(world.run.state, queued);
  EXPECT_EQ(world.run.infrastructure_failures, 0);
  EXPECT_TRUE(world.attempt->ended);
  EXPECT_EQ(claimed(world.run, *world.attempt, kLater).error().code(), Code::fenced);
  world.place();
  EXPECT_EQ(world.run.attempt, 2);
  EXPECT_EQ(unplaced(world.run, old, kLater).error().code(), Code::fenced);
}

TEST(RunMoves, ACanceledRunWhoseRunnerNeverStartedIsOver) {
  World world;
  world.prepare().place().cancel();
  world.apply(unplaced(world.run, *world.attempt, kLater));
  EXPECT_EQ(world.run.state, canceled);
}

}  // namespace
}  // namespace lathe::model
