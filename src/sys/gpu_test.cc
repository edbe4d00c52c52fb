#include "sys/gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace lathe::sys {
namespace {

TEST(GpuInventory, ReadsTheStandInFileAtEveryCall) {
  auto path = std::filesystem::path(testing::TempDir()) / fmt::format("gpus-{}", ::getpid());
  std::ofstream(path) << "GPU-a 1000 10 50\n\nGPU-b 2000\n";
  ::setenv("LATHE_GPU_INVENTORY", path.c_str(), 1);
  auto inventory = open_gpu_inventory();
  EXPECT_TRUE(machine_may_have_gpu());
  ASSERT_EQ(2u, inventory->devices().size());
  EXPECT_EQ("GPU-b", inventory->devices()[1].uuid);
  EXPECT_EQ(2000, inventory->devices()[1].memory_bytes);
  EXPECT_DOUBLE_EQ(0.5, inventory->use("GPU-a")->busy);
  std::ofstream(path) << "GPU-a 1000 700 100\n";
  EXPECT_EQ(700, inventory->use("GPU-a")->memory_bytes);
  EXPECT_EQ(base::Code::not_found, inventory->use("GPU-b").error().code());
  ::unsetenv("LATHE_GPU_INVENTORY");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lathe::sys
