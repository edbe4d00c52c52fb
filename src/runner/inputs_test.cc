// The data of a run, delivered by a whole runner to a real process.
#include <fstream>

#include "cas/pack.h"
#include "cas/tree.h"
#include "runner/runner_fixture.h"
#include "runner/snapshot.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class InputsTest : public RunnerTest {
 protected:
  InputsTest() {
    snapshot_ = write_snapshot;
    add_file("d/a.txt", "hello");
    add_file("d/ü.txt", "");
  }

  void add_file(const std::string& path, const std::string& bytes) {
    tree_.entries.push_back({path, base::sha256(bytes), bytes.size(), false, ""});
    blobs_[base::sha256(bytes)] = bytes;
  }
  // The server gets the tree, whole and as single blobs.
  base::Digest put_tree() {
    std::string pack;
    for (const auto& [digest, bytes] : blobs_) {
      pack += std::string(reinterpret_cast<const char*>(digest.bytes.data()), 32);
      for (int shift = 0; shift < 64; shift += 8) pack += static_cast<char>(bytes.size() >> shift & 0xFF);
      pack += bytes;
      std::ofstream(root_ / "server/blobs" / digest.hex()) << bytes;
    }
    pack += std::string(40, '\0');
    const std::string manifest = cas::encode_tree(tree_);
    server_.set_snapshot(base::sha256(manifest), manifest, pack);
    return base::sha256(manifest);
  }
  wire::InputOrder& add_input(const std::string& name, model::InputMode mode) {
    auto& input = order_.inputs.emplace_back();
    input.name = name;
    input.mode = mode;
    input.tree = put_tree();
    return input;
  }
  // Where the machine has the tree already.
  fs::path make_view() {
    fs::create_directories(root_ / "view/d");
    std::ofstream(root_ / "view/d/a.txt") << "hello";
    std::ofstream(root_ / "view/d/ü.txt").flush();
    return root_ / "view";
  }
  bool can_mount() {
    if (!server_.notes().empty()) return false;
    return true;
  }

  cas::Tree tree_;
  std::map<base::Digest, std::string> blobs_;
};

TEST_F(InputsTest, AMountedFolderIsSeenReadOnlyUnderAllItsNames) {
  add_input("train", model::InputMode::mount).folder = make_view();
  set_script(
      "set -e; cat $train/d/a.txt > outputs/read; ls $AZUREML_DATAREFERENCE_train/d > outputs/names;"
      "test $AZURE_ML_INPUT_train = $train; (echo x > $train/d/new) 2> outputs/refused || true");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.exit()->exit_code, 0) << server_.log();
  EXPECT_EQ(server_.artifact("outputs/read"), "hello");
  EXPECT_EQ(server_.artifact("outputs/names"), "a.txt\nü.txt\n");
  if (!can_mount()) GTEST_SKIP() << server_.notes();
  EXPECT_NE(server_.artifact("outputs/refused")->find("Read-only file system"), std::string::npos);
  EXPECT_EQ(server_.count("fetch_pack"), 0) << "nothing was copied";
  EXPECT_FALSE(fs::exists(root_ / "view/d/new"));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, WhatThisMachineDoesNotHaveComesThroughFuseByThePiece) {
  add_file("z.bin", std::string(100'000, 'z'));
  add_input("train", model::InputMode::mount).folder = "/not/on/this/machine";
  set_script(
      "set -e; cat $train/d/a.txt > outputs/read; stat -c %s $train/z.bin > outputs/size;"
      "(echo x > $train/new) 2> outputs/refused || true; cat $train/d/ü.txt");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.exit()->exit_code, 0) << server_.log();
  EXPECT_EQ(server_.artifact("outputs/read"), "hello");
  EXPECT_EQ(server_.artifact("outputs/size"), "100000\n");
  if (!can_mount()) GTEST_SKIP() << server_.notes();
  EXPECT_NE(server_.artifact("outputs/refused")->find("Read-only file system"), std::string::npos);
  EXPECT_EQ(server_.count("fetch_pack"), 0);
  EXPECT_EQ(server_.count("fetch_range"), 1) << "only what was read";
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, ALyingServerGivesAnErrorAndNoBytes) {
  add_input("train", model::InputMode::mount);
  std::ofstream(root_ / "server/blobs" / base::sha256("hello").hex()) << "hullo";
  set_script("cat $train/d/a.txt > outputs/read 2> outputs/error; true");
  EXPECT_EQ(run().code(), 0);
  if (!can_mount()) GTEST_SKIP() << server_.notes();
  EXPECT_EQ(server_.artifact("outputs/read").value_or(""), "");
  EXPECT_NE(server_.artifact("outputs/error")->find("Input/output error"), std::string::npos);
}

TEST_F(InputsTest, ADownloadIsAPrivateWritableCopyWhereItWasWished) {
  add_input("own", model::InputMode::download);
  add_input("placed", model::InputMode::download).path_on_compute = "data/mnist";
  set_script(
      "set -e; echo more >> $own/d/a.txt; cat $own/d/a.txt > outputs/own; cat data/mnist/d/a.txt > outputs/placed;"
      "echo $placed > outputs/path; pwd >> outputs/path");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.exit()->exit_code, 0) << server_.log();
  EXPECT_EQ(server_.artifact("outputs/own"), "hellomore\n");
  EXPECT_EQ(server_.artifact("outputs/placed"), "hello");
  EXPECT_EQ(server_.artifact("outputs/path"), fmt::format("{0}/run/data/mnist\n{0}/run\n", work_.string()));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, OneFileArrivesAsItsPathAndDirectAsTheId) {
  add_input("one", model::InputMode::download).only_file = "d/a.txt";
  auto& direct = add_input("direct", model::InputMode::direct);
  direct.dataset = "3f2b";
  set_script("cat $one > outputs/one; echo $AZUREML_DATAREFERENCE_direct > outputs/direct");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.artifact("outputs/one"), "hello");
  EXPECT_EQ(server_.artifact("outputs/direct"), "3f2b\n");
}

TEST_F(InputsTest, AnAbsolutePathIsSeenByTheRunAlone) {
  const fs::path wished = root_ / "elsewhere/mnist";
  add_input("m", model::InputMode::mount).folder = make_view();
  order_.inputs.back().path_on_compute = wished;
  add_input("d", model::InputMode::download).path_on_compute = wished.string() + "2/";
  set_script(
      fmt::format("cat {0}/d/a.txt > outputs/m; echo x > {0}2/new; cat {0}2/d/a.txt > outputs/d", wished.string()));
  EXPECT_EQ(run().code(), 0);
  if (server_.exit()->reason == model::EndReason::prepare_failed) GTEST_SKIP() << server_.exit()->message;
  EXPECT_EQ(server_.artifact("outputs/m"), "hello");
  EXPECT_EQ(server_.artifact("outputs/d"), "hello");
  EXPECT_FALSE(fs::exists(root_ / "elsewhere")) << "the places that were made for it are gone";
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, AKilledRunnerLeavesNoMountAndNoProcess) {
  add_input("fuse", model::InputMode::mount);
  add_input("bound", model::InputMode::mount).folder = make_view();
  set_script("cat $fuse/d/a.txt > ready; echo $$ > pid; exec sleep 1000");
  pid_t runner = start_runner();
  pid_t script = pid_in("pid");
  ::kill(runner, SIGKILL);
  wait_for(runner);
  EXPECT_TRUE(eventually([&] { return !is_alive(script); }));
  EXPECT_EQ(read_all("/proc/self/mounts").find(work_.string()), std::string::npos);
  EXPECT_EQ(wait_for(start_adopter()).code(), 0);
  EXPECT_EQ(server_.exit()->reason, model::EndReason::node_lost);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, AReaderThatWaitsForAServerThatIsAwayCanBeStopped) {
  add_input("fuse", model::InputMode::mount);
  order_.grace_seconds = 1;
  server_.turn_on("down-for-fetch_range");
  set_script("echo $$ > pid; exec cat $fuse/d/a.txt");
  pid_t runner = start_runner();
  pid_in("pid");
  server_.ask_stop(model::EndReason::canceled);
  EXPECT_EQ(wait_for(runner).code(), 0);
  if (!can_mount()) GTEST_SKIP() << server_.notes();
  EXPECT_EQ(server_.exit()->reason, model::EndReason::canceled);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, WhatCannotBeDeliveredEndsTheRunBeforeItsStart) {
  add_input("gone", model::InputMode::download).tree = base::sha256("nothing");
  set_script("echo never > outputs/x");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.exit()->reason, model::EndReason::prepare_failed);
  EXPECT_NE(server_.exit()->message.find("delivering the input 'gone'"), std::string::npos);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, OutputsAreUploadedUnderTheirNamesAlsoWhenTheScriptFails) {
  order_.outputs = {{"features", model::OutputMode::upload}, {"live", model::OutputMode::mount}};
  set_script("mkdir $features/sub; echo f > $AZUREML_DATAREFERENCE_features/sub/x; echo l > $live/y; exit 3");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.exit()->exit_code, 3);
  EXPECT_EQ(server_.artifact(".lathe-outputs/features/sub/x"), "f\n");
  EXPECT_EQ(server_.artifact(".lathe-outputs/live/y"), "l\n");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(InputsTest, ALiveOutputArrivesWhileTheScriptRuns) {
  order_.outputs = {{"live", model::OutputMode::mount}};
  set_script("echo l > $live/y; echo $$ > pid; exec sleep 1000");
  pid_t runner = start_runner();
  pid_in("pid");
  EXPECT_TRUE(eventually([&] { return server_.artifact(".lathe-outputs/live/y") == "l\n"; }));
  server_.ask_stop(model::EndReason::canceled);
  EXPECT_EQ(wait_for(runner).code(), 0);
}

}  // namespace
}  // namespace lathe::runner
