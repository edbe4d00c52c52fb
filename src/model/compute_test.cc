#include "model/compute.h"

#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "model/sizes.h"

namespace lathe::model {
namespace {

constexpr std::int64_t kGib = 1LL << 30;

Machine small_machine() { return {.millicores = 2000, .memory_bytes = 8 * kGib, .gpus = {}}; }
Machine gpu_machine() { return {.millicores = 16'000, .memory_bytes = 64 * kGib, .gpus = {"GPU-a", "GPU-b", "GPU-c"}}; }

TEST(Sizes, CatalogueIsReadableAndWithoutDoubles) {
  std::set<std::string> names;
  for (const auto& size : all_sizes()) {
    EXPECT_TRUE(names.insert(base::to_lower(size.name)).second) << size.name;
    if (size.name == kWholeMachine) continue;
    EXPECT_GE(size.millicores, 1000) << size.name;
    EXPECT_GE(size.memory_bytes, kGib) << size.name;
    EXPECT_EQ(size.gpus > 0, size.name.starts_with("STANDARD_N")) << size.name;
  }
  EXPECT_GE(names.size(), 60u);
}

TEST(Sizes, AreFoundWithoutRegardToCase) {
  EXPECT_EQ(get_size("Standard_D2_v2").value(), (NodeSize{"STANDARD_D2_V2", 2000, 7 * kGib, 0}));
  EXPECT_EQ(get_size("STANDARD_NC6").value(), (NodeSize{"STANDARD_NC6", 6000, 56 * kGib, 1}));
  EXPECT_EQ(get_size("standard_d1_v2")->memory_bytes, 7 * kGib / 2);
}

TEST(Sizes, AnUnknownNameIsRefusedWithNearOnes) {
  auto size = get_size("Standard_NC6_v9");
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().field(), "vm_size");
  EXPECT_NE(size.error().hint().find("STANDARD_NC6"), std::string::npos) << size.error().hint();
}

TEST(FitSize, LeavesASizeThatFitsAsItIs) {
  auto fitted = fit_size(*find_size("STANDARD_D1_V2"), 2, small_machine(), {});
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->size, *find_size("STANDARD_D1_V2"));
  EXPECT_TRUE(fitted->notes.empty());
}

TEST(FitSize, CutsANodeSoThatAllNodesOfTheTargetFitAtOnce) {
  auto fitted = fit_size(*find_size("STANDARD_D3_V2"), 4, small_machine(), {});
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->size, (NodeSize{"STANDARD_D3_V2", 500, 2 * kGib, 0}));
  ASSERT_EQ(fitted->notes.size(), 2u);
  EXPECT_EQ(fitted->notes[0], "STANDARD_D3_V2: cores cut from 4 to 0.50, so that 4 nodes fit on this machine");
  EXPECT_EQ(fitted->notes[1],
            "STANDARD_D3_V2: memory cut from 14.0 GiB to 2.0 GiB, so that 4 nodes fit on this machine");
}

TEST(FitSize, SaysWhenGpusAreLeftOut) {
  auto fitted = fit_size({"STANDARD_NC6", 1000, kGib, 1}, 1, small_machine(), {});
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->size.gpus, 0);
  EXPECT_EQ(fitted->notes, std::vector<std::string>{"STANDARD_NC6: runs without its 1 GPU(s); this machine has none"});
  auto shared = fit_size({"STANDARD_NC24", 1000, kGib, 4}, 1, gpu_machine(), {});
  EXPECT_EQ(shared->size.gpus, 3);
  auto more_nodes_than_gpus = fit_size({"STANDARD_NC6", 1000, kGib, 1}, 4, gpu_machine(), {});
  EXPECT_EQ(more_nodes_than_gpus->size.gpus, 1) << "a GPU that is there is used, by one run after the other";
  EXPECT_EQ(more_nodes_than_gpus->notes.size(), 1u);
}

TEST(FitSize, RefusesUnderTheStrictRules) {
  SiteRules strict_gpu{.gpu = GpuRule::required, .size = SizeRule::fit};
  SiteRules strict_size{.gpu = GpuRule::optional, .size = SizeRule::exact};
  NodeSize nc6 = *find_size("STANDARD_NC6");
  EXPECT_FALSE(fit_size(nc6, 1, small_machine(), strict_gpu));
  EXPECT_TRUE(fit_size(nc6, 1, gpu_machine(), strict_gpu));
  auto refused = fit_size(nc6, 1, small_machine(), strict_size);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field(), "vm_size");
  EXPECT_EQ(refused.error().message(),
            "one node of STANDARD_NC6 would not fit on this machine: each wants 6 cores and 56.0 GiB, and the machine "
            "has 2 and 8.0 GiB");
  EXPECT_TRUE(fit_size(*find_size("STANDARD_D2_V2"), 1, small_machine(), strict_size));
}

TEST(FitSize, TheWholeMachineIsSharedByTheNodesOfItsTarget) {
  auto one = fit_size(*find_size("machine"), 1, gpu_machine(), {.gpu = GpuRule::required, .size = SizeRule::exact});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size, (NodeSize{"machine", 16'000, 64 * kGib, 3}));
  EXPECT_TRUE(one->notes.empty());
  EXPECT_EQ(fit_size(*find_size("machine"), 4, gpu_machine(), {})->size, (NodeSize{"machine", 4000, 16 * kGib, 1}));
}

TEST(FitSize, RefusesMoreNodesThanTheMachineCanBeCutInto) {
  EXPECT_FALSE(fit_size(*find_size("STANDARD_D2_V2"), 10'000, small_machine(), {}));
}

ComputeTarget target() {
  return {.workspace = "ws", .name = "cpu-cluster", .vm_size = "STANDARD_D2_V2", .max_nodes = 4, .created = {}};
}

std::string refused_field(ComputeTarget value) {
  auto result = validate_compute(value);
  return result ? "" : result.error().field();
}

TEST(ValidateCompute, AcceptsWhatAzureScriptsCreate) {
  EXPECT_EQ(refused_field(target()), "");
  auto low = target();
  low.priority = VmPriority::low_priority, low.min_nodes = 4, low.idle_seconds = 0;
  EXPECT_EQ(refused_field(low), "");
}

TEST(ValidateCompute, NamesTheFieldThatIsWrong) {
  auto with = [](auto change) {
    auto value = target();
    change(value);
    return refused_field(value);
  };
  EXPECT_EQ(with([](auto& t) { t.name = "a/b"; }), "compute");
  EXPECT_EQ(with([](auto& t) { t.name = std::string(25, 'a'); }), "compute");
  EXPECT_EQ(with([](auto& t) { t.max_nodes = 0; }), "max_nodes");
  EXPECT_EQ(with([](auto& t) { t.min_nodes = 5; }), "min_nodes");
  EXPECT_EQ(with([](auto& t) { t.min_nodes = -1; }), "min_nodes");
  EXPECT_EQ(with([](auto& t) { t.idle_seconds = -1; }), "idle_seconds");
  EXPECT_EQ(with([](auto& t) { t.vm_size = "huge"; }), "vm_size");
  EXPECT_EQ(with([](auto& t) { t.provider = "slurm"; }), "provider");
}

TEST(VmPriority, WordsLeadBack) {
  EXPECT_EQ(vm_priority_from_name("dedicated"), VmPriority::dedicated);
  EXPECT_EQ(vm_priority_from_name("lowpriority"), VmPriority::low_priority);
  EXPECT_EQ(vm_priority_from_name("low"), std::nullopt);
}

}  // namespace
}  // namespace lathe::model
