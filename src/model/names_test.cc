#include "model/names.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lathe::model {
namespace {

using namespace std::string_literals;

RunSpec spec() {
  RunSpec value;
  value.experiment = "my-experiment";
  value.command.script = "src/train.py";
  value.command.arguments = {"--epochs", "3", "line\nbreak"};
  value.environment.interpreter = "/usr/bin/python3";
  value.snapshot = base::sha256("tree");
  value.tags = {{"team", "vision"}, {"note", "żółw 🐢"}};
  return value;
}

template <class Change>
std::string refused_field(Change change) {
  RunSpec value = spec();
  change(value);
  auto result = validate_spec(value);
  if (result) return "";
  EXPECT_FALSE(result.error().hint().empty()) << result.error().message();
  return result.error().field();
}

TEST(RunIds, AreLettersDigitsAndFewMarks) {
  for (std::string_view good : {"a", "_x", "exp_1550603359_a1b2c3d4", "A.b-c", "7"})
    EXPECT_TRUE(check_run_id(good)) << good;
  EXPECT_TRUE(check_run_id(std::string(256, 'a')));
  for (const std::string& bad :
       {""s, "."s, ".."s, ".hidden"s, "-rf"s, "a/b"s, "a b"s, "a\nb"s, "a\0b"s, "é"s, "%2e"s, std::string(257, 'a')})
    EXPECT_FALSE(check_run_id(bad)) << base::printable(bad);
}

TEST(RunIds, ARefusalShowsTheValueSafely) {
  auto refused = check_run_id("a\x1b[31m");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "id 'a\\x1b[31m' contains '\\x1b'");
  EXPECT_EQ(refused.error().field(), "id");
  EXPECT_EQ(refused.error().code(), base::Code::invalid);
}

TEST(ExperimentNames, BeginWithALetterOrDigit) {
  EXPECT_TRUE(check_experiment_name("tf-mnist_2.0"));
  EXPECT_TRUE(check_experiment_name("a"));
  EXPECT_FALSE(check_experiment_name("_a"));
  EXPECT_FALSE(check_experiment_name("-a"));
  EXPECT_FALSE(check_experiment_name(std::string(256, 'a')));
}

TEST(ComputeNames, AreShort) {
  EXPECT_TRUE(check_compute_name("gpu-cluster_1"));
  EXPECT_TRUE(check_compute_name(std::string(24, 'a')));
  for (const std::string& bad : {""s, std::string(25, 'a'), "a.b"s, "-a"s, "a/0"s})
    EXPECT_FALSE(check_compute_name(bad)) << bad;
}

TEST(ArtifactPaths, StayBelowTheRun) {
  for (std::string_view good : {"a", "outputs/model.h5", "logs/a b/c", ".amlignore", "...", "a/..b", "żółw/🐢.txt"})
    EXPECT_TRUE(check_artifact_path("path", good)) << good;
  for (const std::string& bad :
       {""s, "/"s, "/etc/passwd"s, "a//b"s, "a/"s, "."s, ".."s, "a/../b"s, "./a"s, "a/."s, "a\0b"s, "a\nb"s, "a\x7f"s,
        "\xc2\x85"s, "\xff"s, std::string(1025, 'a'), "a/" + std::string(256, 'b')})
    EXPECT_FALSE(check_artifact_path("path", bad)) << base::printable(bad);
}

TEST(Tags, AreBoundedPlainText) {
  EXPECT_TRUE(check_tag("tags", std::string(255, 'k'), std::string(1000, 'v')));
  EXPECT_TRUE(check_tag("tags", "k", ""));
  EXPECT_FALSE(check_tag("tags", "", "v"));
  EXPECT_FALSE(check_tag("tags", std::string(256, 'k'), "v"));
  EXPECT_FALSE(check_tag("tags", "k", std::string(1001, 'v')));
  EXPECT_FALSE(check_tag("tags", "k\n", "v"));
  EXPECT_FALSE(check_tag("tags", "k", "\xc0\xaf"));
}

TEST(VariableNames, AreWhatAShellAccepts) {
  EXPECT_TRUE(check_variable_name("_PATH2"));
  for (std::string_view bad : {"", "1A", "A-B", "A=B", "A B"}) EXPECT_FALSE(check_variable_name(bad)) << bad;
}

TEST(ValidateSpec, AcceptsAnOrdinaryRun) {
  EXPECT_EQ(refused_field([](RunSpec&) {}), "");
  EXPECT_EQ(refused_field([](RunSpec& s) {
              s.command = {.script = "", .command = {"/bin/true"}, .arguments = {}};
              s.environment.interpreter = "";
              s.snapshot.reset();
            }),
            "");
}

TEST(ValidateSpec, AnInteractiveRunHasNothingToStart) {
  auto refused = [](auto change) {
    RunSpec spec;
    spec.experiment = "e";
    spec.kind = RunKind::interactive;
    spec.compute = "";
    change(spec);
    auto result = validate_spec(spec);
    return result ? std::string() : result.error().field();
  };
  EXPECT_EQ(refused([](RunSpec&) {}), "");
  EXPECT_EQ(refused([](RunSpec& s) { s.command.script = "a.py"; }), "script");
  EXPECT_EQ(refused([](RunSpec& s) { s.command.command = {"true"}; }), "command");
  EXPECT_EQ(refused([](RunSpec& s) { s.command.arguments = {"x"}; }), "arguments");
  EXPECT_EQ(refused([](RunSpec& s) { s.compute = "gpu"; }), "compute");
  EXPECT_EQ(refused([](RunSpec& s) { s.node_count = 2; }), "node_count");
}

TEST(ValidateSpec, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refused_field([](RunSpec& s) { s.experiment = ""; }), "experiment");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.display_name = "a\nb"; }), "display_name");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.script = ""; }), "script");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.command = {"true"}; }), "script");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.script = "../x.py"; }), "script");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command = {.script = "", .command = {""}, .arguments = {}}; }), "command");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.arguments = {"a\0b"s}; }), "arguments");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.arguments.assign(kMaxArguments + 1, "a"); }), "arguments");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.arguments = {std::string(kMaxArgumentBytes + 1, 'a')}; }),
            "arguments");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.command.arguments.assign(9, std::string(kMaxArgumentBytes, 'a')); }),
            "arguments");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.environment.name = std::string(256, 'n'); }), "environment.name");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.run_type = "two\nlines"; }), "run_type");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.parent = {"../x"}; }), "parent");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.environment.interpreter = "python"; }), "environment.interpreter");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.environment.variables = {{"A=B", "c"}}; }), "environment.variables");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.environment.variables = {{"A", "\0"s}}; }), "environment.variables");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.snapshot.reset(); }), "snapshot");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.compute = ""; }), "compute");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.node_count = 0; }), "node_count");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.priority = kMaxPriority + 1; }), "priority");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.max_run_duration_seconds = 0; }), "max_run_duration_seconds");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.grace_seconds = -1; }), "grace_seconds");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.retries.user = -1; }), "retries.user");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.retries.infrastructure = 101; }), "retries.infrastructure");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.tags[""] = "x"; }), "tags");
  EXPECT_EQ(refused_field([](RunSpec& s) {
              for (int i = 0; i < 51; ++i) s.tags[std::to_string(i)] = "x";
            }),
            "tags");
  EXPECT_EQ(refused_field([](RunSpec& s) { s.properties["k"] = "\t"; }), "properties");
}

}  // namespace
}  // namespace lathe::model
