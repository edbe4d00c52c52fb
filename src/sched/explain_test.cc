// A state in, the sentence out: what people read while their run waits.
#include "sched/explain.h"

#include "sched/test_states.h"

namespace lathe::sched {
namespace {

std::string reason(const State& state, RunNumber run) { return explain(state, run).value().reason; }
std::string when(const State& state, RunNumber run) { return explain(state, run).value().would_start_when; }

TEST(Explain, NothingForARunThatDoesNotWait) {
  State state(machine(4));
  state.put_compute(compute("c", 2));
  state.enqueue(request(1, "c"));
  step(state);
  EXPECT_EQ(explain(state, 1), std::nullopt);
  EXPECT_EQ(explain(state, 7), std::nullopt);
}

TEST(Explain, NamesTheNodesOfTheTarget) {
  State state(machine(4));
  state.put_compute(compute("gpu", 2));
  state.enqueue(request(1, "gpu"));
  step(state);
  state.enqueue(request(2, "gpu", 2));
  state.enqueue(request(3, "gpu", 2));
  step(state);
  EXPECT_EQ(reason(state, 2), "waits for 2 nodes of compute 'gpu' (max 2, 1 busy with run r1)");
  EXPECT_EQ(when(state, 2), "at the latest when run r1 ends");
  EXPECT_EQ(when(state, 3), "at the latest when run r1 ends, after 1 run ahead of it");
  state.mark_stopping(1, kNow + 10s);
  EXPECT_EQ(when(state, 2), "when run r1 has stopped, as asked");
}

// Ten cores are free, and that is of no use to anybody: the GPU is what is missing, and only who has one can help.
TEST(Explain, NamesTheGpuAndNotTheCoresThatAreFree) {
  State state(machine(16, 2));
  state.put_compute(compute("cpu", 4, 1));
  state.put_compute(compute("gpu", 4, 2, VmPriority::dedicated, 1));
  state.enqueue(request(1, "cpu", 1, 0, 10s));
  state.enqueue(request(2, "gpu", 1, 0, 50s));
  state.enqueue(request(3, "gpu", 1, 0, 90s));
  ASSERT_EQ(step(state), (Numbers{1, 2, 3}));
  state.enqueue(request(4, "gpu"));
  state.enqueue(request(5, "gpu", 2));
  ASSERT_EQ(step(state), Numbers{});
  EXPECT_EQ(reason(state, 4), "waits for 1 GPU (0 of 2 free) of the machine, busy with runs r2 and r3");
  EXPECT_EQ(when(state, 4), "at the latest when run r2 ends");
  EXPECT_EQ(reason(state, 5), "waits for 2 GPUs (0 of 2 free) of the machine, busy with runs r2 and r3");
  EXPECT_EQ(when(state, 5), "at the latest when runs r2 and r3 end, after 1 run ahead of it");
}

TEST(Explain, NamesOnlyTheMemoryWhenCoresAreFree) {
  State state(machine(8));
  Compute large = compute("large", 2, 1);
  large.node.memory_bytes = 5 * kGib;
  state.put_compute(large);
  state.enqueue(request(1, "large"));
  state.enqueue(request(2, "large"));
  ASSERT_EQ(step(state), Numbers{1});
  EXPECT_EQ(reason(state, 2), "waits for 5.0 GiB of memory (3.0 GiB of 8.0 GiB free) of the machine, busy with run r1");
}

TEST(Explain, NamesTheCoresWithTheirFractions) {
  State state(machine(4));
  Compute half = compute("half", 4, 1);
  half.node.millicores = 2500;
  state.put_compute(half);
  state.enqueue(request(1, "half"));
  state.enqueue(request(2, "half"));
  ASSERT_EQ(step(state), Numbers{1});
  EXPECT_EQ(reason(state, 2), "waits for 2.5 cores (1.5 of 4 free) of the machine, busy with run r1");
}

TEST(Explain, NamesEverythingThatIsShort) {
  State state(machine(4));
  state.put_compute(compute("a", 4));
  state.put_compute(compute("b", 1, 4));
  state.enqueue(request(1, "a", 2));
  state.enqueue(request(2, "a", 1, 0, 50s));
  step(state);
  state.enqueue(request(3, "b"));
  step(state);
  EXPECT_EQ(reason(state, 3),
            "waits for 4 cores (1 of 4 free) and 4.0 GiB of memory (1.0 GiB of 4.0 GiB free) of the machine, busy with "
            "runs r2 and r1");
  EXPECT_EQ(when(state, 3), "at the latest when runs r2 and r1 end");
  state.enqueue(request(4, "a", 1, 0, 101s));
  ASSERT_EQ(step(state), Numbers{});
  EXPECT_EQ(reason(state, 4), "run r3 of compute 'b' is ahead of it, and it must not be delayed");
  EXPECT_EQ(when(state, 4), "when run r3 has started");
}

TEST(Explain, NamesThreeRunsAndCountsTheRest) {
  State state(machine(5));
  state.put_compute(compute("small", 5));
  state.put_compute(compute("whole", 1, 5));
  for (int i = 1; i <= 5; ++i) state.enqueue(request(i, "small"));
  step(state);
  state.enqueue(request(6, "whole"));
  EXPECT_EQ(reason(state, 6),
            "waits for 5 cores (0 of 5 free) and 5.0 GiB of memory (0 B of 5.0 GiB free) of the machine, busy with "
            "runs r1, r2, r3 and 2 more");
}

TEST(Explain, SaysWhoIsAheadAndWhenTheTargetShrank) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c", 2));
  step(state);
  state.enqueue(request(2, "c", 4));
  state.enqueue(request(3, "c", 1, 0, 1'000s));
  ASSERT_EQ(step(state), Numbers{});
  EXPECT_EQ(reason(state, 3), "run r2 of compute 'c' is ahead of it, and it must not be delayed");
  EXPECT_EQ(when(state, 3), "when run r2 has started, after 1 run ahead of it");
  state.put_compute(compute("c", 3));
  EXPECT_EQ(reason(state, 2), "wants 4 nodes, but compute 'c' now has at most 3");
  EXPECT_EQ(when(state, 2), "when max_nodes of the compute is raised");
}

// Between two plans: nothing is short, and nobody is ahead.
TEST(Explain, SaysThatItIsAboutToStart) {
  State state(machine(4));
  state.put_compute(compute("c", 4));
  state.enqueue(request(1, "c"));
  EXPECT_EQ(reason(state, 1), "everything it needs is free");
  EXPECT_EQ(when(state, 1), "in a moment");
}

}  // namespace
}  // namespace lathe::sched
