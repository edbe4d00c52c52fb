// The example payloads of api/openapi.yaml, read by the code that reads the real ones.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "wire/compute.h"
#include "wire/json.h"
#include "wire/metric.h"
#include "wire/order.h"
#include "wire/run.h"

namespace lathe::wire {
namespace {

std::string example(const std::string& name) {
  std::ifstream file(std::string(LATHE_EXAMPLES) + "/" + name + ".json");
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Examples, ASubmitIsAccepted) {
  auto script = parse_run_submit(example("run_submit"));
  ASSERT_TRUE(script) << script.error().text();
  EXPECT_EQ(script->id.value, "mnist_1550603359_3fa2c1d0");
  EXPECT_EQ(script->spec.command.script, "train.py");
  EXPECT_EQ(script->spec.retries.infrastructure, 1);
  EXPECT_EQ(script->spec.tags.at("note"), "größer");
  auto command = parse_run_submit(example("run_submit_command"));
  ASSERT_TRUE(command) << command.error().text();
  EXPECT_FALSE(command->spec.command.command.empty());
}

TEST(Examples, SubmitWithDataIsReadAndWrittenAgain) {
  auto submit = parse_run_submit(example("run_submit_data"));
  ASSERT_TRUE(submit) << submit.error().text();
  EXPECT_EQ(submit->spec.inputs.at("scans").mode, model::InputMode::download);
  EXPECT_EQ(submit->spec.outputs.at("features").registration->name, "features");
  EXPECT_EQ(parse_run_submit(encode_run_submit(*submit))->spec, submit->spec);
}

TEST(Examples, AnInteractiveChildIsAccepted) {
  auto submit = parse_run_submit(example("run_submit_interactive"));
  ASSERT_TRUE(submit) << submit.error().text();
  EXPECT_EQ(submit->spec.kind, model::RunKind::interactive);
  EXPECT_EQ(submit->spec.tags.at("best"), std::nullopt);
  EXPECT_FALSE(submit->definition.empty());
}

TEST(Examples, MetricRecordsAreRecords) {
  auto page = parse_json(example("metrics"));
  ASSERT_TRUE(page) << page.error().text();
  for (const auto& record : page->at("items").as_array()) EXPECT_TRUE(check_metric(to_text(record)));
}

TEST(Examples, ARunnersOrderIsUnderstood) {
  auto order = decode_order(example("order"));
  ASSERT_TRUE(order) << order.error().text();
  EXPECT_EQ(order->log_name, "azureml-logs/70_driver_log.txt");
  EXPECT_EQ(order->slice.memory_bytes, 8'388'608'000);
  EXPECT_TRUE(order->enforce_memory);
}

TEST(Examples, AComputeTargetIsAccepted) {
  auto target = parse_compute(example("compute_put"), "vision", "gpu");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(target->vm_size, "STANDARD_NC6");
  EXPECT_EQ(target->max_nodes, 4);
}

}  // namespace
}  // namespace lathe::wire
