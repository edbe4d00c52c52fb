#include "model/run_data.h"

#include <gtest/gtest.h>

namespace lathe::model {
namespace {

RunInput dataset(std::string path_on_compute = "") {
  RunInput input;
  input.dataset = "3f2b8c1e-0000-0000-0000-000000000000";
  input.path_on_compute = std::move(path_on_compute);
  return input;
}

TEST(RunData, NamesMustBeVariables) {
  for (const char* name : {"mnist", "_x", "A1_b"}) EXPECT_TRUE(check_run_data({{name, dataset()}}, {})) << name;
  for (const char* name : {"", "1a", "a-b", "ü", "PATH", "LD_PRELOAD", "AZUREML_RUN_ID", "HOME", "PYTHONPATH"})
    EXPECT_EQ(check_run_data({{name, dataset()}}, {}).error().field(), "inputs") << name;
}

TEST(RunData, AnInputIsOneThingAtOnePlace) {
  RunInput both = dataset(), neither;
  both.datastore = "store";
  EXPECT_FALSE(check_run_data({{"a", both}}, {}));
  EXPECT_FALSE(check_run_data({{"a", neither}}, {}));
  RunInput part = dataset();
  part.path = "train";
  auto refused = check_run_data({{"a", part}}, {});
  ASSERT_FALSE(refused) << "a part of a dataset would silently be all of it";
  EXPECT_EQ("inputs.a.path", refused.error().field());
  RunInput whole;
  whole.datastore = "store";
  EXPECT_TRUE(check_run_data({{"a", whole}}, {}));
  whole.mode = InputMode::direct;
  EXPECT_EQ(check_run_data({{"a", whole}}, {}).error().field(), "inputs.a.mode");
  for (const char* path : {"data", "/tmp/mnist", "a/b/"})
    EXPECT_TRUE(check_run_data({{"a", dataset(path)}}, {})) << path;
  for (const char* path : {"../x", "/tmp/../etc", "outputs/x", "logs", "/"})
    EXPECT_EQ(check_run_data({{"a", dataset(path)}}, {}).error().field(), "inputs.a.path_on_compute") << path;
}

TEST(RunData, AnOutputHasItsOwnNameAndPlace) {
  RunOutput output;
  output.datastore = "store";
  output.path = "/features/{run-id}/x/";
  EXPECT_TRUE(check_run_data({}, {{"out", output}}));
  EXPECT_EQ(check_run_data({{"out", dataset()}}, {{"out", output}}).error().field(), "outputs");
  EXPECT_EQ(output_path(output, "r_1"), "features/r_1/x");
  output.path = "../up";
  EXPECT_EQ(check_run_data({}, {{"out", output}}).error().field(), "outputs.out.path");
  output.path = "";
  EXPECT_EQ(output_path(output, "r_1"), "");
}

}  // namespace
}  // namespace lathe::model
