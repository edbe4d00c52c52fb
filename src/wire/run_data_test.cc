#include "wire/run_data.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/order.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;

TEST(RunDataJson, ReadsAndWritesWhatARunAsksFor) {
  const std::string text =
      R"({"inputs":{"mnist":{"dataset":"abc","mode":"download","path_on_compute":"data"},)"
      R"("whole":{"datastore":"store","path":"","mode":"mount"}},)"
      R"("outputs":{"out":{"datastore":"store","mode":"mount","overwrite":true,"path":"x/{run-id}",)"
      R"("register":{"description":"d","name":"features","tags":{"a":"b"}}}}})";
  json::value value = json::parse(text);
  model::RunInputs inputs;
  model::RunOutputs outputs;
  Fields fields(value);
  read_run_data(fields, inputs, outputs);
  ASSERT_TRUE(fields.finish());
  EXPECT_EQ(inputs.at("mnist").mode, model::InputMode::download);
  EXPECT_EQ(outputs.at("out").registration->tags.at("a"), "b");
  json::object out;
  add_run_data(out, inputs, outputs);
  EXPECT_EQ(json::serialize(out), text);
  json::object none;
  add_run_data(none, {}, {});
  EXPECT_TRUE(none.empty());
}

TEST(RunDataJson, NamesTheFieldThatIsWrong) {
  auto field_of = [](std::string_view text) {
    json::value value = json::parse(text);
    model::RunInputs inputs;
    model::RunOutputs outputs;
    Fields fields(value);
    read_run_data(fields, inputs, outputs);
    auto read = fields.finish();
    return read ? std::string("none") : read.error().field();
  };
  EXPECT_EQ(field_of(R"({"inputs":{"a":{"mode":"hdfs"}}})"), "inputs.a.mode");
  EXPECT_EQ(field_of(R"({"inputs":{"a":{"colour":"red"}}})"), "inputs.a.colour");
  EXPECT_EQ(field_of(R"({"inputs":[]})"), "inputs");
  EXPECT_EQ(field_of(R"({"outputs":{"o":{"register":{"description":"x"}}}})"), "outputs.o.register.name");
}

TEST(RunDataJson, WhatAnInputTurnedOutToBeIsKeptAndShown) {
  model::ResolvedInput resolved;
  resolved.dataset_name = "mnist";
  resolved.dataset_version = 3;
  resolved.tree = base::sha256("tree");
  resolved.files = 4;
  resolved.bytes = 5;
  resolved.urls = {{"http://h/x", "\"1\"", base::sha256("x"), 7}};
  EXPECT_EQ(decode_resolved(encode_resolved(resolved)).value(), resolved);
  json::object run{{"inputs", {{"a", {{"dataset", "abc"}}}}}};
  show_resolved(run, {{"a", resolved}});
  const auto& shown = run["inputs"].as_object()["a"].as_object();
  EXPECT_EQ(shown.at("dataset"), "abc");
  EXPECT_EQ(shown.at("tree"), json::string(resolved.tree->hex()));
  EXPECT_EQ(shown.at("sources").as_array().at(0).at("etag"), "\"1\"");
}

TEST(RunDataJson, TravelsInAnOrder) {
  RunnerOrder order;
  order.run.value = "r";
  order.log_name = "log";
  InputOrder input;
  input.name = "a";
  input.mode = model::InputMode::download;
  input.tree = base::sha256("t");
  input.only_file = "x/y.csv";
  input.folder = "/f";
  order.inputs = {input};
  order.outputs = {{"o", model::OutputMode::mount}};
  auto read = decode_order(encode_order(order)).value();
  ASSERT_EQ(read.inputs.size(), 1u);
  EXPECT_EQ(read.inputs[0].tree, input.tree);
  EXPECT_EQ(read.inputs[0].only_file, "x/y.csv");
  EXPECT_EQ(read.inputs[0].folder, "/f");
  EXPECT_EQ(read.outputs[0].mode, model::OutputMode::mount);
  EXPECT_FALSE(read.lock);
}

TEST(EnvironmentJson, TravelsInAnOrder) {
  RunnerOrder order;
  order.run.value = "r";
  order.log_name = "log";
  order.lock = base::sha256("lock");
  order.realise = {"/cache", "/uv", "http://i", {"http://e"}, {"c"}, {"/p"}, "/w", "/engine", true, false, false};
  auto read = decode_order(encode_order(order)).value();
  EXPECT_EQ(read.lock, order.lock);
  EXPECT_EQ(read.realise, order.realise);
}

}  // namespace
}  // namespace lathe::wire
