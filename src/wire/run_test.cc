#include "wire/run.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/compute.h"
#include "wire/json.h"
#include "wire/order.h"
#include "wire/records.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;

RunSubmit full_submit() {
  RunSubmit submit{.id = {"exp_1_a"}, .spec = {}};
  submit.spec.experiment = "exp";
  submit.spec.display_name = "first \"try\"";
  submit.spec.command = {.script = "train.py", .command = {}, .arguments = {"--lr", "0.1", "żółw\n"}};
  submit.spec.environment = {.interpreter = "/usr/bin/python3", .variables = {{"A", "1"}, {"B", ""}}};
  submit.spec.snapshot = base::sha256("tree");
  submit.spec.compute = "gpu";
  submit.spec.node_count = 4;
  submit.spec.priority = -3;
  submit.spec.max_run_duration_seconds = 60;
  submit.spec.grace_seconds = 5;
  submit.spec.retries = {.infrastructure = 2, .user = 1};
  submit.spec.tags = {{"b", "2"}, {"a", "1"}};
  submit.spec.properties = {{"p", "q"}};
  return submit;
}

TEST(RunSubmit, ComesBackAsItWas) {
  auto back = parse_run_submit(encode_run_submit(full_submit()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->id.value, "exp_1_a");
  EXPECT_EQ(back->spec, full_submit().spec);
}

TEST(RunSubmit, TheSmallestOneHasTheDefaults) {
  auto submit = parse_run_submit(R"({"id":"r","experiment":"e","command":["true"]})");
  ASSERT_TRUE(submit) << submit.error().message();
  EXPECT_EQ(submit->spec.compute, "local");
  EXPECT_EQ(submit->spec.node_count, 1);
  EXPECT_EQ(submit->spec.grace_seconds, 30);
  EXPECT_EQ(submit->spec.max_run_duration_seconds, 2'592'000);
}

TEST(RunSubmit, AnInteractiveRunNeedsNothingToStart) {
  auto submit = parse_run_submit(
      R"({"id":"r","experiment":"e","kind":"interactive","parent":"p","run_type":"t","tags":{"a":null,"b":"1"},)"
      R"("environment":{"name":"tf","version":"2"},"definition":{"n":1,"x":1.5,"deep":{"list":[null]}}})");
  ASSERT_TRUE(submit) << submit.error().message();
  EXPECT_EQ(submit->spec.kind, model::RunKind::interactive);
  EXPECT_EQ(submit->spec.parent.value, "p");
  EXPECT_EQ(submit->spec.compute, "");
  EXPECT_EQ(submit->spec.tags, (model::Tags{{"a", std::nullopt}, {"b", "1"}}));
  EXPECT_EQ(submit->spec.environment.name, "tf");
  EXPECT_EQ(submit->spec.definition, base::sha256(submit->definition));
  auto back = parse_run_submit(encode_run_submit(*submit));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->spec, submit->spec);
  EXPECT_EQ(back->definition, R"({"n":1,"x":1.5,"deep":{"list":[null]}})");
}

TEST(RunSubmit, ADefinitionIsAnObjectOfBoundedSize) {
  auto refused = [](const std::string& definition) {
    auto submit = parse_run_submit(R"({"id":"r","experiment":"e","command":["true"],"definition":)" + definition + "}");
    return submit ? "" : fmt::format("{} {}", base::code_name(submit.error().code()), submit.error().field());
  };
  EXPECT_EQ(refused("{}"), "");
  EXPECT_EQ(refused("null"), "");
  EXPECT_EQ(refused("[]"), "invalid definition");
  EXPECT_EQ(refused(fmt::format(R"({{"x":"{}"}})", std::string(kMaxDefinitionBytes, 'y'))), "too-large definition");
}

TEST(RunSubmit, TheEnvironmentsDefinitionIsNamedByItsCanonicalForm) {
  auto parse = [](const std::string& environment) {
    return parse_run_submit(R"({"id":"r","experiment":"e","command":["true"],"environment":{"definition":)" +
                            environment + "}}");
  };
  auto one = parse(R"({"name":"a","version":"3","python":{"x":1,"y":2}})"), two = parse(R"({"python":{"y":2,"x":1}})");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->environment_definition, R"({"python":{"x":1,"y":2}})");
  EXPECT_EQ(one->spec.environment.definition, base::sha256(one->environment_definition));
  EXPECT_EQ(one->spec.environment, two->spec.environment) << "a name changes nothing about what is built";
  auto back = parse_run_submit(encode_run_submit(*one));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->spec, one->spec);
  EXPECT_EQ(decode_spec(encode_spec(one->spec)).value(), one->spec);
  EXPECT_FALSE(parse("[]"));
  EXPECT_FALSE(parse(R"("0a")")) << "a digest is not a definition";
}

TEST(RunView, ShowsWhatTheEnvironmentBecame) {
  model::RunRecord run;
  BuiltEnvironment built{"tf", "3", std::nullopt, 7, R"([{"rule":"r","asked":"a","given":"b","why":"w"}])"};
  RunView view{run, {}, {}};
  EXPECT_FALSE(run_json(view).at("environment").as_object().contains("lock"));
  view.environment = &built;
  auto shown = run_json(view).at("environment").as_object();
  EXPECT_EQ(shown.at("name"), "tf");
  EXPECT_TRUE(shown.at("lock").is_null());
  EXPECT_EQ(shown.at("build"), 7);
  EXPECT_EQ(shown.at("substitutions").at(0).at("given"), "b");
}

TEST(RunView, ShowsTheFamilyAlwaysAndTheDefinitionWhenAsked) {
  model::RunRecord run;
  run.spec.parent = {"p"};
  run.root = {"top"};
  run.children_count = 2;
  auto shown = run_json({run, {}, {}});
  EXPECT_EQ(shown.at("kind"), "script");
  EXPECT_EQ(shown.at("parent"), "p");
  EXPECT_EQ(shown.at("root"), "top");
  EXPECT_EQ(shown.at("children_count"), 2);
  EXPECT_FALSE(shown.contains("definition"));
  EXPECT_TRUE(json::parse(encode_run({run, {}, {}}, "")).at("definition").is_null());
  EXPECT_TRUE(encode_run({run, {}, {}}, R"({"a":0.30})").ends_with(R"("definition":{"a":0.30}})"));
}

TEST(RunSubmit, AMistakeNamesItsField) {
  auto field = [](std::string_view body) {
    auto submit = parse_run_submit(body);
    return submit ? "" : submit.error().field();
  };
  EXPECT_EQ(field(R"({"experiment":"e","command":["true"]})"), "id");
  EXPECT_EQ(field(R"({"id":"r","command":["true"]})"), "experiment");
  EXPECT_EQ(field(R"({"id":"../r","experiment":"e","command":["true"]})"), "id");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":"true"})"), "command");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"nodes":2})"), "nodes");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"node_count":0})"), "node_count");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"retries":{"usr":1}})"), "retries.usr");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"environment":{"interpreter":3}})"),
            "environment.interpreter");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"snapshot":"../../etc"})"), "snapshot");
  EXPECT_EQ(field(R"({"id":"r","experiment":"e","command":["true"],"tags":{"a":1}})"), "tags");
  EXPECT_EQ(field(R"({"id":"r","id":"s","experiment":"e","command":["true"]})"), "id");
}

TEST(Spec, EqualSpecsHaveEqualBytesAndOthersNot) {
  model::RunSpec a = full_submit().spec, b = full_submit().spec;
  EXPECT_EQ(encode_spec(a), encode_spec(b));
  EXPECT_EQ(spec_digest(a), spec_digest(b));
  b.command.arguments.emplace_back("");
  EXPECT_NE(spec_digest(a), spec_digest(b));
  auto keys = json::parse(encode_spec(a)).as_object();
  EXPECT_TRUE(std::ranges::is_sorted(keys, {}, [](const auto& field) { return field.key(); }));
}

TEST(Spec, AStoredSpecIsReadBackAndFieldsOfANewerVersionArePassedOver) {
  EXPECT_EQ(decode_spec(encode_spec(full_submit().spec)).value(), full_submit().spec);
  EXPECT_TRUE(decode_spec(R"({"experiment":"e","new_thing":1})"));
  EXPECT_FALSE(decode_spec("{"));
}

TEST(Spec, TheStoredFormIsStable) {
  model::RunSpec spec;
  spec.experiment = "e";
  spec.command.command = {"true"};
  EXPECT_EQ(
      encode_spec(spec),
      R"({"arguments":[],"command":["true"],"compute":"local","display_name":"","environment":{"interpreter":"","variables":{}},)"
      R"("experiment":"e","grace_seconds":30,"max_run_duration_seconds":2592000,"node_count":1,"priority":0,"properties":{},)"
      R"("retries":{"infrastructure":0,"user":0},"script":"","snapshot":null,"tags":{}})");
}

TEST(RunJson, ShowsEverythingTheContractNames) {
  model::RunRecord run;
  run.id = {"r"};
  run.spec = full_submit().spec;
  run.state = model::RunState::failed;
  run.error = model::RunError{"script-failed", "exit code 1"};
  run.notes = {"cut"};
  run.started = base::UtcTime{1550603359200602};
  model::AttemptRecord attempt;
  attempt.number = 1;
  attempt.slices = {{.node = 0, .node_name = "gpu/0", .millicores = 1, .memory_bytes = 2, .gpus = {}}};
  attempt.ended = run.started;
  attempt.exit.reason = model::EndReason::exited;
  attempt.exit.exit_code = 1;
  json::object out = run_json({.run = run, .attempts = std::span(&attempt, 1), .waiting = std::nullopt});
  for (const char* key : {"id",
                          "experiment",
                          "display_name",
                          "script",
                          "command",
                          "arguments",
                          "environment",
                          "snapshot",
                          "compute",
                          "node_count",
                          "priority",
                          "max_run_duration_seconds",
                          "grace_seconds",
                          "retries",
                          "tags",
                          "properties",
                          "workspace",
                          "sequence",
                          "status",
                          "generation",
                          "attempt",
                          "created",
                          "started",
                          "ended",
                          "error",
                          "notes",
                          "usage",
                          "waiting",
                          "archived",
                          "submitted_by",
                          "attempts",
                          "log"})
    EXPECT_TRUE(out.contains(key)) << key;
  EXPECT_EQ(out["status"], "Failed");
  EXPECT_EQ(out["started"], "2019-02-19T19:09:19.200602Z");
  EXPECT_TRUE(out["ended"].is_null());
  EXPECT_EQ(out["error"].at("code"), "script-failed");
  EXPECT_EQ(out["attempts"].at(0).at("exit_code"), 1);
  EXPECT_EQ(out["attempts"].at(0).at("nodes").at(0), "gpu/0");
  EXPECT_EQ(out["log"], "azureml-logs/70_driver_log_0.txt");
  json::object waiting = run_json({.run = run, .attempts = {}, .waiting = Waiting{"no node", "x ends"}});
  EXPECT_EQ(waiting["waiting"].at("would_start_when"), "x ends");
}

TEST(Records, ComeBackAsTheyWere) {
  model::ExitRecord exit;
  exit.reason = model::EndReason::out_of_memory;
  exit.signal = 9;
  exit.message = "killed";
  exit.usage = {.cpu_seconds = 1.5, .peak_memory_bytes = 7, .peak_gpu_memory_bytes = 8, .gpu_seconds = 0.25};
  exit.started = {1'000'001}, exit.ended = {2'000'002};
  auto back = decode_exit(encode_exit(exit));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->reason, exit.reason);
  EXPECT_EQ(back->signal, 9);
  EXPECT_EQ(back->usage, exit.usage);
  EXPECT_EQ(back->started, exit.started);
  EXPECT_EQ(back->ended, exit.ended);
}

TEST(Records, ABadReasonIsRefusedWithTheWords) {
  auto exit = decode_exit(R"({"reason":"oom"})");
  ASSERT_FALSE(exit);
  EXPECT_NE(exit.error().message().find("out-of-memory"), std::string::npos);
  EXPECT_EQ(decode_exit("{}").error().field(), "reason");
}

TEST(Order, ComesBackAsItWas) {
  RunnerOrder order;
  order.run = {"r"};
  order.attempt = 2, order.node = 1, order.node_count = 3;
  order.workspace = "ws", order.experiment = "e", order.subscription_id = "s", order.resource_group = "g";
  order.command = {.script = "", .command = {"a", "b"}, .arguments = {"c"}};
  order.environment.variables = {{"K", "V"}};
  order.snapshot = base::sha256("x");
  order.slice = {.node = 1, .node_name = "c/1", .millicores = 5, .memory_bytes = 6, .gpus = {"GPU-a"}};
  order.max_run_duration_seconds = 9, order.grace_seconds = 1, order.log_name = "l", order.segment_bytes = 10;
  order.token_expiry = base::UtcTime{5'000'000};
  order.enforce_memory = true;
  order.mount_cache_bytes = 7, order.mount_cache_folder = "/scratch/chunks", order.mount_read_timeout_seconds = 8;
  auto back = decode_order(encode_order(order));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(encode_order(*back), encode_order(order));
  EXPECT_EQ(back->slice, order.slice);
  EXPECT_EQ(back->command, order.command);
  EXPECT_EQ(back->token_expiry, order.token_expiry);
  EXPECT_EQ(back->mount_cache_folder, "/scratch/chunks");
  EXPECT_TRUE(decode_order(R"({"run":"r","attempt":1,"node":0,"log_name":"l","from_the_future":[1]})"));
  EXPECT_EQ(decode_order(R"({"run":"r","attempt":1,"node":0})").error().field(), "log_name");
}

TEST(Compute, BodyIsCheckedAndShown) {
  auto target = parse_compute(R"({"vm_size":"STANDARD_NC6","max_nodes":4,"priority":"lowpriority","idle_seconds":10})",
                              "ws", "gpu");
  ASSERT_TRUE(target) << target.error().message();
  EXPECT_EQ(target->priority, model::VmPriority::low_priority);
  EXPECT_EQ(parse_compute(R"({"priority":"low"})", "ws", "gpu").error().field(), "priority");
  EXPECT_EQ(parse_compute(R"({"max_node":4})", "ws", "gpu").error().field(), "max_node");
  EXPECT_EQ(parse_compute(R"({"max_nodes":0})", "ws", "gpu").error().field(), "max_nodes");
  EXPECT_EQ(parse_compute("{}", "ws", "a/b").error().field(), "compute");
  model::FittedSize fitted{.size = {"STANDARD_NC6", 2500, 100, 1}, .notes = {"cut"}};
  json::object out = compute_json({.target = *target, .fitted = fitted, .nodes = {.idle = 1}, .queue = 3});
  EXPECT_EQ(out["priority"], "lowpriority");
  EXPECT_EQ(out["node"].at("cores"), 2.5);
  EXPECT_EQ(out["nodes"].at("idle"), 1);
  EXPECT_EQ(out["queue"], 3);
}

}  // namespace
}  // namespace lathe::wire
