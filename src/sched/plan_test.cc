#include <random>

#include "sched/explain.h"
#include "sched/test_states.h"
#include "sim/oracle.h"

namespace lathe::sched {
namespace {

TEST(PlanOrder, IsPriorityThenSubmission) {
  State state(machine(8));
  state.put_compute(compute("c", 1));
  for (auto [number, priority] : {std::pair{1, 0}, {2, 5}, {3, 5}, {4, 0}})
    state.enqueue(request(number, "c", 1, priority));
  Numbers order;
  for (int i = 0; i < 4; ++i) {
    Numbers placed = step(state);
    ASSERT_EQ(placed.size(), 1u);
    order.push_back(placed[0]);
    state.remove(placed[0], kNow);
  }
  EXPECT_EQ(order, (Numbers{2, 3, 1, 4}));
}

// Of run 1, which has ended; its processes hang in the kernel.
void hold_first(State& state, const model::Slice& slice) {
  state.remove(1, kNow);
  state.hold({1, 1, 0}, {{"ws", "c"}, {"r1"}, slice});
}

TEST(PlanHeld, WhatProcessesOfAnEndedRunHoldIsGivenToNobodyUntilTheyAreGone) {
  State state(machine(2, 1));
  state.put_compute(compute("c", 1, 1, VmPriority::dedicated, 1));
  state.put_compute(compute("d", 2));
  state.enqueue(request(1, "c"));
  Plan plan = make_plan(state, kNow);
  state.apply(plan, kNow, 10s);
  hold_first(state, plan.placements[0].slices[0]);
  for (RunNumber number : {2, 3, 4}) state.enqueue(request(number, number == 2 ? "c" : "d"));
  EXPECT_EQ(step(state), Numbers{3}) << "the other core is free, the node and the GPU are not";
  EXPECT_EQ(state.counts({"ws", "c"}).held, 1);
  EXPECT_TRUE(state.free_gpus().empty());
  auto why = explain(state, 2);
  ASSERT_TRUE(why);
  EXPECT_NE(why->reason.find("held by processes of run r1 that cannot be killed"), std::string::npos) << why->reason;
  EXPECT_NE(why->would_start_when.find("are gone"), std::string::npos) << why->would_start_when;
  EXPECT_TRUE(state.let_go({1, 1, 0}, kNow));
  EXPECT_FALSE(state.let_go({1, 1, 0}, kNow));
  EXPECT_EQ(step(state), Numbers{2});
  EXPECT_EQ(state.counts({"ws", "c"}).held, 0);
}

TEST(PlanHeld, AHeldNodeIsNoReasonToPlanAgainAtOnce) {
  State state(machine(2));
  Compute always = compute("c", 1);
  always.min_nodes = 1;
  state.put_compute(always);
  const model::Slice slice{.node = 0, .node_name = "c/0", .millicores = 1000, .memory_bytes = kGib, .gpus = {}};
  state.hold({1, 1, 0}, {{"ws", "c"}, {"r1"}, slice});
  EXPECT_EQ(state.next_wakeup(kNow), std::nullopt);
}

TEST(PlanHeld, ATargetMayGoAndComeBackWhileANodeOfItIsHeld) {
  State state(machine(2));
  state.put_compute(compute("c", 1));
  state.enqueue(request(1, "c"));
  Plan plan = make_plan(state, kNow);
  state.apply(plan, kNow, 10s);
  hold_first(state, plan.placements[0].slices[0]);
  ASSERT_TRUE(state.remove_compute({"ws", "c"}));
  state.put_compute(compute("c", 2));
  EXPECT_EQ(state.free().millicores, 1000) << "the machine's part is still held";
  state.enqueue(request(2, "c"));
  state.enqueue(request(3, "c"));
  EXPECT_EQ(step(state), Numbers{2});
  state.let_go({1, 1, 0}, kNow);
  EXPECT_EQ(step(state), Numbers{3});
  EXPECT_EQ(state.free().millicores, 0);
}

TEST(PlanHeld, ANodeThatARunHasStaysItsOwn) {
  State state(machine(2));
  state.put_compute(compute("c", 1));
  state.enqueue(request(2, "c"));
  Plan plan = make_plan(state, kNow);
  state.apply(plan, kNow, 10s);
  state.hold({1, 1, 0}, {{"ws", "c"}, {"r1"}, plan.placements[0].slices[0]});
  state.remove(2, kNow);
  state.let_go({1, 1, 0}, kNow);
  EXPECT_EQ(state.free().millicores, 2000);
  EXPECT_EQ(state.counts({"ws", "c"}).idle, 1);
}

TEST(PlanGang, PlacesAllMembersOrNone) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c", 2));
  state.enqueue(request(2, "c", 3));
  EXPECT_EQ(step(state), Numbers{1});
  EXPECT_EQ(step(state), Numbers{});
  state.remove(1, kNow);
  Plan plan = make_plan(state, kNow);
  ASSERT_EQ(plan.placements.size(), 1u);
  ASSERT_EQ(plan.placements[0].slices.size(), 3u);
  std::set<std::string> names;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(plan.placements[0].slices[static_cast<std::size_t>(rank)].node, rank);
    names.insert(plan.placements[0].slices[static_cast<std::size_t>(rank)].node_name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"c/0", "c/1", "c/2"}));
}

TEST(PlanBackfill, AShortRunStartsInTheGapBeforeTheHead) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c", 3, 0, 100s));
  EXPECT_EQ(step(state), Numbers{1});
  state.enqueue(request(2, "c", 4));           // the head: all nodes, in 100 s at the latest
  state.enqueue(request(3, "c", 1, 0, 101s));  // would end after the head's start
  state.enqueue(request(4, "c", 1, 0, 100s));  // ends in time
  EXPECT_EQ(step(state), Numbers{4});
}

TEST(PlanBackfill, ALongRunStartsWhereTheHeadDoesNotNeedTheRoom) {
  State state(machine(8));
  state.put_compute(compute("a", 2, 2));
  state.put_compute(compute("b", 4, 1));
  state.enqueue(request(1, "a", 1));
  EXPECT_EQ(step(state), Numbers{1});
  state.enqueue(request(2, "a", 2));                 // waits for its target's second node, not for the machine
  state.enqueue(request(3, "b", 4, 0, 1'000'000s));  // 4 + 4 cores: both fit beside each other
  EXPECT_EQ(step(state), Numbers{3});
}

TEST(PlanBackfill, ALongRunThatWouldTakeTheHeadsRoomWaits) {
  State state(machine(4));
  state.put_compute(compute("a", 1, 4));
  state.put_compute(compute("b", 4, 1));
  state.enqueue(request(1, "b", 1, 0, 50s));
  EXPECT_EQ(step(state), Numbers{1});
  state.enqueue(request(2, "a"));  // the whole machine
  state.enqueue(request(3, "b", 1, 0, 1'000'000s));
  EXPECT_EQ(step(state), Numbers{});
  state.remove(1, kNow + 50s);
  EXPECT_EQ(step(state, kNow + 50s), Numbers{2});
}

TEST(PlanMachine, IsSharedByAllTargetsAndGpusAreGivenOnce) {
  State state(machine(8, 3));
  state.put_compute(compute("a", 4, 2, VmPriority::dedicated, 1));
  state.put_compute(compute("b", 4, 1, VmPriority::dedicated, 1));
  for (RunNumber n = 1; n <= 4; ++n) state.enqueue(request(n, n % 2 ? "a" : "b"));
  Plan plan = make_plan(state, kNow);
  std::set<std::string> gpus;
  for (const auto& placement : plan.placements)
    for (const auto& gpu : placement.slices[0].gpus) EXPECT_TRUE(gpus.insert(gpu).second) << gpu;
  EXPECT_EQ(plan.placements.size(), 3u);
  state.apply(plan, kNow, 10s);
  EXPECT_EQ(state.free().gpus, 0);
  EXPECT_TRUE(state.free_gpus().empty());
  for (RunNumber n = 1; n <= 4; ++n) state.remove(n, kNow);
  EXPECT_EQ(state.free(), total_of(machine(8, 3)));
  EXPECT_EQ(state.free_gpus().size(), 3u);
}

TEST(PlanMachine, RunsTakeTurnsAtAGpuAndAGangThatNeedsMoreGoesWithout) {
  State state(machine(8, 1));
  state.put_compute(compute("g", 4, 1, VmPriority::dedicated, 1));
  for (int number : {1, 2}) state.enqueue(request(number, "g"));
  EXPECT_EQ(step(state), Numbers({1}));
  EXPECT_EQ(state.find_running(1)->slices[0].gpus.size(), 1u);
  state.remove(1, kNow);
  EXPECT_EQ(step(state), Numbers({2}));
  state.remove(2, kNow);
  state.enqueue(request(3, "g", 2));
  EXPECT_EQ(step(state), Numbers({3}));
  for (const auto& slice : state.find_running(3)->slices) EXPECT_TRUE(slice.gpus.empty());
}

TEST(PlanNodes, StartOnDemandStayForTheIdleTimeAndGoDown) {
  State state(machine(4));
  state.put_compute(compute("c", 3));
  EXPECT_EQ(state.next_wakeup(kNow), std::nullopt);
  state.enqueue(request(1, "c", 2));
  step(state);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 2);
  EXPECT_EQ(state.next_wakeup(kNow), std::nullopt);
  state.remove(1, kNow + 5s);
  EXPECT_EQ(state.next_wakeup(kNow + 5s), kNow + 125s);
  EXPECT_TRUE(make_plan(state, kNow + 124s).empty());
  EXPECT_EQ(make_plan(state, kNow + 125s).nodes_down.size(), 2u);
  step(state, kNow + 125s);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 0);
  EXPECT_EQ(state.next_wakeup(kNow + 125s), std::nullopt);
}

TEST(PlanNodes, NeverFallBelowMinNodes) {
  State state(machine(4));
  Compute target = compute("c", 3);
  target.min_nodes = 2;
  state.put_compute(target);
  EXPECT_EQ(state.next_wakeup(kNow), kNow);
  step(state);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 2);
  state.enqueue(request(1, "c", 3));
  step(state);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 3);
  state.remove(1, kNow);
  step(state, kNow + 1000s);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 2);
  EXPECT_EQ(state.next_wakeup(kNow + 1000s), std::nullopt);
}

TEST(PlanNodes, AnIdleNodeIsUsedBeforeAnotherIsStarted) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c", 1));
  state.enqueue(request(2, "c", 1));
  step(state);
  state.remove(2, kNow);
  state.enqueue(request(3, "c", 1));
  EXPECT_EQ(make_plan(state, kNow).placements[0].slices[0].node_name, "c/1");
}

TEST(PlanNodes, ALoweredLimitHoldsForNewRuns) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c", 4));
  step(state);
  state.put_compute(compute("c", 2));
  state.enqueue(request(2, "c", 1));
  EXPECT_EQ(step(state), Numbers{});
  state.remove(1, kNow);
  EXPECT_EQ(state.counts({"ws", "c"}).up, 2);
  EXPECT_EQ(step(state), Numbers{2});
}

struct Preempt : testing::Test {
  State state{machine(4)};
  void SetUp() override {
    state.put_compute(compute("low", 4, 1, VmPriority::low_priority));
    state.put_compute(compute("ded", 2, 2));
  }
  Numbers victims(Time now = kNow) {
    Plan plan = make_plan(state, now);
    state.apply(plan, now, 10s);
    Numbers out;
    for (const auto& preemption : plan.preemptions) out.push_back(preemption.victim);
    std::ranges::sort(out);
    return out;
  }
};

TEST_F(Preempt, TheYoungestMakeRoomForADedicatedRun) {
  for (RunNumber n = 1; n <= 4; ++n) {
    state.enqueue(request(n, "low"));
    step(state, kNow + std::chrono::seconds(n));
  }
  state.enqueue(request(5, "ded"));
  EXPECT_EQ(victims(kNow + 10s), (Numbers{3, 4}));
  EXPECT_EQ(victims(kNow + 11s), Numbers{});  // they are already asked
  state.remove(3, kNow + 12s);
  EXPECT_EQ(step(state, kNow + 12s), Numbers{});
  state.enqueue(request(3, "low"));  // its retry does not take the room back
  EXPECT_EQ(step(state, kNow + 12s), Numbers{});
  state.remove(4, kNow + 13s);
  EXPECT_EQ(step(state, kNow + 13s), Numbers{5});
}

TEST_F(Preempt, NobodyIsPreemptedWhenItWouldNotHelp) {
  state.enqueue(request(1, "ded"));
  state.enqueue(request(2, "low", 2));
  EXPECT_EQ(step(state), (Numbers{1, 2}));
  state.put_compute(compute("big", 1, 4));
  state.enqueue(request(3, "big"));  // needs what run 1 has, too
  EXPECT_EQ(victims(), Numbers{});
  state.enqueue(request(4, "low"));  // and low priority never preempts
  EXPECT_EQ(victims(), Numbers{});
}

TEST_F(Preempt, NobodyIsPreemptedForARunThatLacksNodesOfItsTarget) {
  state.put_compute(compute("one", 1));
  state.enqueue(request(1, "one"));
  state.enqueue(request(2, "low", 3));
  step(state);
  state.enqueue(request(3, "one"));
  EXPECT_EQ(victims(), Numbers{});
}

TEST_F(Preempt, OneThatIsNotNeededIsSpared) {
  state.enqueue(request(1, "low", 3));
  step(state, kNow);
  state.enqueue(request(2, "low", 1));
  step(state, kNow + 1s);
  state.put_compute(compute("three", 1, 3));
  state.enqueue(request(3, "three"));
  EXPECT_EQ(victims(kNow + 2s), Numbers{1});  // the gang of three gives enough; the younger single one would not help
}

TEST_F(Preempt, ALowRunDoesNotStartInRoomThatIsBeingCleared) {
  state.enqueue(request(1, "low", 3, 0, 1'000'000s));
  step(state);
  state.put_compute(compute("whole", 1, 4));
  state.enqueue(request(2, "whole"));
  state.enqueue(request(3, "low", 1, 0, 3600s));
  Plan plan = make_plan(state, kNow);
  EXPECT_TRUE(plan.placements.empty());
  ASSERT_EQ(plan.preemptions.size(), 1u);
  EXPECT_EQ(plan.preemptions[0].for_run, 2);
}

TEST(CanEverRun, RefusesWhatNoWaitingWouldHelp) {
  model::RunSpec spec;
  spec.node_count = 3;
  auto refused = can_ever_run(spec, compute("c", 2), machine(8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field(), "node_count");
  EXPECT_EQ(refused.error().message(), "the run wants 3 nodes and compute 'c' has at most 2");
  EXPECT_TRUE(can_ever_run(spec, compute("c", 3), machine(8)));
  auto too_large = can_ever_run(spec, compute("c", 3, 4), machine(8));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().field(), "compute");
  EXPECT_TRUE(can_ever_run(spec, compute("c", 3, 1, VmPriority::dedicated, 1), machine(8, 2))) << "GPUs are shared out";
}

TEST(State, ATargetInUseIsNotRemoved) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c"));
  EXPECT_EQ(state.remove_compute({"ws", "c"}).error().code(), base::Code::conflict);
  state.remove(1, kNow);
  EXPECT_TRUE(state.remove_compute({"ws", "c"}));
  EXPECT_EQ(state.remove_compute({"ws", "c"}).error().code(), base::Code::not_found);
}

TEST(State, HearingAnEndTwiceIsOneEnd) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c"));
  step(state);
  state.remove(1, kNow);
  state.remove(1, kNow);
  EXPECT_EQ(state.free(), total_of(machine(4)));
}

TEST(State, IsRebuiltFromWhatTheDatabaseSays) {
  State first(machine(8, 4));
  first.put_compute(compute("c", 4, 1, VmPriority::dedicated, 1));
  for (RunNumber n = 1; n <= 5; ++n) first.enqueue(request(n, "c"));
  Plan plan = make_plan(first, kNow);
  first.apply(plan, kNow, 10s);
  State again(machine(8, 4));
  again.put_compute(compute("c", 4, 1, VmPriority::dedicated, 1));
  for (const auto& placement : plan.placements) again.start(request(placement.number, "c"), placement.slices, kNow);
  again.enqueue(request(5, "c"));
  EXPECT_EQ(again.free(), first.free());
  EXPECT_EQ(again.free_gpus(), first.free_gpus());
  EXPECT_TRUE(make_plan(again, kNow).placements.empty());
}

TEST(PlanBackfill, NoHeadOfAnyTargetIsDelayedInRandomWorlds) {
  int backfilled = 0, heads = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    State state(machine(pick(4, 12)));
    const int targets = pick(1, 3);
    for (int c = 0; c < targets; ++c) state.put_compute(compute(fmt::format("c{}", c), pick(1, 4), pick(1, 2)));
    std::map<RunNumber, Request> requests;
    Time now = kNow;
    for (RunNumber number = 1; number <= 40; ++number) {
      const std::string name = fmt::format("c{}", pick(0, targets - 1));
      const Compute& target = state.find_compute({"ws", name})->compute;
      Request wanted = request(number, name, pick(1, target.max_nodes), pick(0, 1), std::chrono::seconds(pick(1, 60)));
      if (!(total_of(target.node) * wanted.node_count).fits_in(total_of(state.machine()))) continue;
      requests[number] = wanted;
      state.enqueue(wanted);
      now += std::chrono::seconds(pick(0, 8));
      for (auto ends = state.ends(); const auto& [end, run] : ends)
        if (end <= now) state.remove(run, now);

      // In planner order: what was placed, and the first of each target that was not.
      Plan plan = make_plan(state, now);
      std::set<RunNumber> placed;
      for (const auto& placement : plan.placements) placed.insert(placement.number);
      std::vector<std::pair<QueueKey, const Request*>> order;
      for (const auto& [id, line] : state.computes())
        for (const QueueKey& key : line.queue) order.emplace_back(key, &requests[key.number]);
      std::ranges::sort(order);
      std::vector<sim::Held> without = sim::held_by_running(state, {}, now);  // as if nobody behind a head had started
      std::vector<sim::Held> with = without;
      for (RunNumber run : placed) with.push_back({now, now + requests[run].longest, &requests[run]});
      std::set<ComputeId> seen;
      for (const auto& [key, wanting] : order) {
        if (placed.contains(key.number)) {
          if (seen.empty())
            without.push_back({now, now + wanting->longest, wanting});
          else
            ++backfilled;
        } else if (seen.insert(wanting->compute).second) {
          ++heads;
          // Only the first head is sure to be unaffected by other heads; for the rest the reservations before it count.
          Time promised = sim::plain_earliest(state, without, *wanting, now),
               kept = sim::plain_earliest(state, with, *wanting, now);
          if (seen.size() == 1) {
            EXPECT_EQ(promised, kept) << "seed " << seed << " run " << number;
          }
          EXPECT_LT(kept, Time::max());
          with.push_back({kept, kept + wanting->longest, wanting});
        }
      }
      state.apply(plan, now, 1s);
    }
  }
  EXPECT_GT(backfilled, 300);
  EXPECT_GT(heads, 3000);
}

TEST(PlanCost, DoesNotGrowWithTheQueue) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  for (RunNumber n = 1; n <= 100'000; ++n) state.enqueue(request(n, "c", n == 1 ? 4 : 3));
  step(state);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(make_plan(state, kNow).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);  // a walk over the queue would take minutes
}

}  // namespace
}  // namespace lathe::sched
