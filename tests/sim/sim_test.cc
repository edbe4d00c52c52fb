// LATHE_SIM_SEEDS=N runs N small worlds (300 unless told); LATHE_SIM_SEED=S runs only that one, and the large world
// from that seed.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "sim/world.h"

namespace lathe::sim {
namespace {

std::uint64_t current_seed = 0;

// The test that is running, with the seed of its world.
std::string replay_command() {
  return fmt::format("LATHE_SIM_SEED={} sim_test --gtest_filter=Simulation.{}", current_seed,
                     testing::UnitTest::GetInstance()->current_test_info()->name());
}

// A failed LATHE_CHECK aborts; the seed must be known then, too.
void say_seed(int) {
  fmt::print(stderr, "the simulation aborted; replay with: {}\n", replay_command());
  std::_Exit(134);
}

std::int64_t number_from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

void show(const World& world) {
  const auto& totals = world.totals();
  fmt::print(
      "  {} steps, {} row changes, {} attempts ({} retries), {} server crashes; {} completed, {} failed, {} canceled\n",
      world.steps(), totals.commits, totals.attempts, totals.retries, world.crashes(), totals.completed, totals.failed,
      totals.canceled);
}

bool holds(const WorldPlan& plan, Ledger::Totals& sum, bool verbose) {
  current_seed = plan.seed;
  World world(plan);
  try {
    world.run();
  } catch (const Violation& violation) {
    ADD_FAILURE() << "seed " << plan.seed << ": " << violation.what() << "\n  replay with: " << replay_command();
    return false;
  }
  const auto& totals = world.totals();
  sum.completed += totals.completed, sum.failed += totals.failed, sum.canceled += totals.canceled,
      sum.retries += totals.retries;
  if (verbose) show(world);
  return true;
}

TEST(Simulation, SmallWorldsKeepEveryPromise) {
  std::signal(SIGABRT, say_seed);
  Ledger::Totals sum;
  if (const std::int64_t seed = number_from_environment("LATHE_SIM_SEED", -1); seed >= 0) {
    holds(small_world(static_cast<std::uint64_t>(seed)), sum, true);
    return;
  }
  const std::int64_t seeds = number_from_environment("LATHE_SIM_SEEDS", 300);
  int failures = 0;
  for (std::int64_t seed = 1; seed <= seeds && failures < 3; ++seed)
    failures += holds(small_world(static_cast<std::uint64_t>(seed)), sum, false) ? 0 : 1;
  // The worlds must be eventful, or keeping promises is no feat.
  if (seeds >= 100) {
    EXPECT_GT(sum.completed, 1000);
    EXPECT_GT(sum.failed, 100);
    EXPECT_GT(sum.canceled, 100);
    EXPECT_GT(sum.retries, 500);
  }
  fmt::print("  {} worlds: {} completed, {} failed, {} canceled, {} retries\n", seeds, sum.completed, sum.failed,
             sum.canceled, sum.retries);
}

TEST(Simulation, TheSameSeedIsTheSameWorld) {
  World first(small_world(7)), second(small_world(7));
  first.run();
  second.run();
  EXPECT_EQ(first.steps(), second.steps());
  EXPECT_EQ(first.totals().commits, second.totals().commits);
}

TEST(Simulation, ALargeWorldEndsEveryRunExactlyOnce) {
  std::signal(SIGABRT, say_seed);
  Ledger::Totals sum;
  const auto seed = static_cast<std::uint64_t>(number_from_environment("LATHE_SIM_SEED", 1));
  EXPECT_TRUE(holds(large_world(seed), sum, true));
  EXPECT_EQ(sum.completed + sum.failed + sum.canceled, 100'000);
}

}  // namespace
}  // namespace lathe::sim
