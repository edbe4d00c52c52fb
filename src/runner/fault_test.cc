// The runner when things go wrong around it: the server away at each step, replies lost, the attempt fenced, the runner
// killed at random moments and its spool adopted, hostile outputs, a full disk, a power cut.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <random>

#include "runner/artifact_uploader.h"
#include "runner/log_spool.h"
#include "runner/run_folder.h"
#include "runner/runner_fixture.h"
#include "sys/file_system_faulty.h"
#include "sys/process_tree.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;
using model::EndReason;

std::string counted_lines(int count) {
  std::string out;
  for (int i = 1; i <= count; ++i) out += std::to_string(i) + "\n";
  return out;
}

class ServerAwayTest : public RunnerTest, public testing::WithParamInterface<const char*> {};

TEST_P(ServerAwayTest, DeliversEverythingAfterItsReturn) {
  const std::string phase = GetParam();
  server_.turn_on(phase);
  set_script("seq 1 5000; echo out > outputs/x");
  pid_t runner = start_runner();
  // Away for as long as the runner needs to get there: to its exit record, or nowhere.
  if (phase == "down" || phase == "down-for-claim")
    EXPECT_TRUE(eventually([&] { return fs::exists(work_ / "spool/exit"); }));
  else
    EXPECT_TRUE(
        eventually([&] { return fs::exists(work_ / "spool/exit") && fs::file_size(work_ / "spool/exit") > 0; }));
  EXPECT_FALSE(server_.exit());
  server_.turn_off(phase);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_TRUE(server_.log() == counted_lines(5000));
  EXPECT_EQ("out\n", server_.artifact("outputs/x"));
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
  EXPECT_TRUE(nothing_is_left());
}

INSTANTIATE_TEST_SUITE_P(Phases, ServerAwayTest,
                         testing::Values("down", "down-for-claim", "down-for-link_log", "down-for-missing_blobs",
                                         "down-for-upload_pack", "down-for-put_artifacts", "down-for-report_finalizing",
                                         "down-for-finish"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class LostReplyTest : public RunnerTest, public testing::WithParamInterface<const char*> {};

TEST_P(LostReplyTest, ChangesNothing) {
  server_.lose_reply_of(GetParam());
  if (GetParam() == std::string("append_log")) server_.turn_on("no-links");
  set_script("seq 1 5000; echo out > outputs/x");
  EXPECT_EQ(0, run().code());
  EXPECT_TRUE(server_.log() == counted_lines(5000));
  EXPECT_EQ("out\n", server_.artifact("outputs/x"));
  EXPECT_EQ(0, server_.exit()->exit_code);
  EXPECT_FALSE(fs::exists(root_ / "server/lose" / GetParam())) << "the reply was never lost";
}

INSTANTIATE_TEST_SUITE_P(Calls, LostReplyTest,
                         testing::Values("claim", "link_log", "append_log", "missing_blobs", "upload_pack",
                                         "put_artifacts", "report_finalizing", "finish"));

using FaultTest = RunnerTest;

TEST_F(FaultTest, ScriptDoesNotNoticeAServerThatIsAwayWhileItRuns) {
  set_script(
      "echo start; until [ -e go ]; do sleep 0.01; done; seq 1 20000; echo done > finished; until [ -e end ]; do sleep "
      "0.01; done");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return server_.log() == "start\n"; }));
  server_.turn_on("down");
  std::ofstream(work_ / "run/go") << "";
  EXPECT_TRUE(eventually([&] { return fs::exists(work_ / "run/finished"); }));
  server_.turn_off("down");
  EXPECT_TRUE(eventually([&] { return server_.log() == "start\n" + counted_lines(20000); })) << "live delivery goes on";
  std::ofstream(work_ / "run/end") << "";
  EXPECT_EQ(0, wait_for(runner).code());
}

TEST_F(FaultTest, FencedAtTheClaimLeavesNothing) {
  server_.turn_on("fenced");
  set_script("echo never");
  EXPECT_EQ(base::exit_status(base::Code::fenced), run().code());
  EXPECT_TRUE(nothing_is_left());
  EXPECT_FALSE(server_.exit());
}

TEST_F(FaultTest, FencedWhileRunningKillsTheScriptAtOnceAndChangesNothing) {
  set_script("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done");
  pid_t runner = start_runner();
  pid_t script = pid_in("pid");
  server_.turn_on("fenced");
  EXPECT_EQ(base::exit_status(base::Code::fenced), wait_for(runner).code());
  EXPECT_FALSE(is_alive(script));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(1u, server_.journal().size()) << "only the claim";
}

TEST_F(FaultTest, KeepsTheSpoolWhenItIsStoppedBeforeTheServerIsBack) {
  set_script("echo hello");
  server_.turn_on("down-for-finish");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return server_.sealed() == 1; }));
  ::kill(runner, SIGTERM);
  EXPECT_EQ(base::exit_status(base::Code::cancelled), wait_for(runner).code());
  server_.turn_off("down-for-finish");
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
  EXPECT_EQ("hello\n", server_.log());
  EXPECT_TRUE(nothing_is_left());
}

// The end of one file never reached the disk.
class TornSpoolTest : public RunnerTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(TornSpoolTest, IsDeliveredAsFarAsItIsWhole) {
  const std::string torn = GetParam();
  const std::string whole = counted_lines(1000);
  set_script("seq 1 1000; echo out > outputs/x");
  for (const char* call : {"link_log", "append_log", "finish"}) server_.turn_on(fmt::format("down-for-{}", call));
  pid_t runner = start_runner();
  const fs::path file = work_ / "spool" / torn;
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "spool/exit") && fs::file_size(work_ / "spool/exit") > 0; }));
  ::kill(runner, SIGTERM);
  wait_for(runner);
  fs::resize_file(file, fs::file_size(file) / 2);
  for (const char* call : {"link_log", "append_log", "finish"}) server_.turn_off(fmt::format("down-for-{}", call));
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  ASSERT_TRUE(server_.exit()) << "whatever was lost, the run ends";
  EXPECT_EQ(torn == "exit" ? EndReason::node_lost : EndReason::exited, server_.exit()->reason);
  if (torn == "log.0") EXPECT_EQ(server_.log(), whole.substr(0, whole.size() / 2));
  if (torn != "log.0") EXPECT_EQ(server_.log(), whole);
  EXPECT_EQ("out\n", server_.artifact("outputs/x"));
  EXPECT_TRUE(nothing_is_left());
}
INSTANTIATE_TEST_SUITE_P(EachFile, TornSpoolTest, ::testing::Values("order.json", "exit", "log.0"),
                         [](const auto& file) { return fmt::format("{}", static_cast<int>(file.index)); });

TEST_F(FaultTest, AnOrderThatIsGoneCostsNothingThatIsWhole) {
  set_script("echo said; echo out > outputs/x; sleep 1000");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/outputs/x"); }));
  ::kill(runner, SIGKILL);
  wait_for(runner);
  fs::remove(work_ / "spool/order.json");
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_EQ("said\n", server_.log());
  EXPECT_EQ("out\n", server_.artifact("outputs/x"));
  EXPECT_EQ(EndReason::node_lost, server_.exit()->reason);
}

TEST_F(FaultTest, ARunnerThatNeverClaimedIsNotClaimedForByItsAdopter) {
  server_.turn_on("down");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "spool/exit"); }));
  ::kill(runner, SIGKILL);
  wait_for(runner);
  server_.turn_off("down");
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_EQ(0, server_.count("claim"));
  EXPECT_EQ(EndReason::node_lost, server_.exit()->reason);
}

// A sealed segment is a blob: whoever is killed whenever, and however often what was left is adopted.
TEST_F(FaultTest, KilledAtEveryCallNoSealedByteChangesAndNoLineIsDoubled) {
  for (const char* way : {"links", "no-links"}) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} killed at call {}", way, call));
      fs::remove_all(root_);
      FakeServer fresh(root_ / "server");
      fresh.turn_on(way);
      order_.segment_bytes = 4096;
      set_script("seq 1 1500; ln -s /etc/passwd outputs/link; echo out > outputs/x");
      fresh.kill_at_call(call);
      auto ended = run();
      // The adopter dies as well, at its third call.
      if (WIFSIGNALED(ended.status)) {
        fresh.kill_at_call(3);
        wait_for(start_adopter());
      }
      if (fs::exists(work_ / "spool/spool.json")) EXPECT_EQ(0, wait_for(start_adopter()).code());
      ASSERT_TRUE(fresh.exit());
      EXPECT_TRUE(fresh.sealed_are_unchanged());
      const std::string log = fresh.log(), script = counted_lines(1500);
      const auto own = log.find("[lathe: ");
      EXPECT_TRUE(script.starts_with(log.substr(0, own)));
      if (own != log.npos) EXPECT_EQ(log.substr(own), log.substr(own, log.find('\n', own) + 1 - own));
      if (fresh.exit()->reason == EndReason::exited) {
        EXPECT_TRUE(log.starts_with(script));
        EXPECT_NE(log.npos, own);
      }
      if (HasFailure() || !WIFSIGNALED(ended.status)) break;
    }
  }
}

TEST_F(FaultTest, KilledRunnerTakesAllItsProcessesWithItAndItsSpoolIsDelivered) {
  set_script(
      "setsid sh -c 'sh -c \"echo \\$\\$ > daemon; while :; do sleep 0.05; done\" & exit 0' & echo $$ > pid; echo "
      "said; echo kept > outputs/x; while :; do sleep 0.05; done");
  pid_t runner = start_runner();
  pid_t daemon = pid_in("daemon"), script = pid_in("pid");
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/outputs/x"); }));
  ::kill(runner, SIGKILL);
  wait_for(runner);
  EXPECT_TRUE(eventually([&] { return !is_alive(daemon) && !is_alive(script); }));
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_EQ(EndReason::node_lost, server_.exit()->reason);
  EXPECT_EQ("said\n", server_.log());
  EXPECT_EQ("kept\n", server_.artifact("outputs/x"));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(FaultTest, KilledRunnerLosesNothingThatItsScriptHadWritten) {
  set_script("echo $$ > pid; until [ -e go ]; do sleep 0.01; done; seq 1 20000; echo written > done; sleep 1000");
  pid_t runner = start_runner();
  pid_in("pid");
  ::kill(runner, SIGSTOP);  // so that it cannot read the pipe
  std::ofstream(work_ / "run/go") << "";
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/done"); }));
  ::kill(runner, SIGKILL);
  wait_for(runner);
  EXPECT_EQ(0, wait_for(start_adopter()).code());
  EXPECT_TRUE(server_.log() == counted_lines(20000)) << "what was in the pipe is in the log";
}

TEST_F(FaultTest, MetricsOfAKilledRunnerAreDeliveredOnce) {
  set_script("i=0; while true; do i=$((i+1)); echo $i >> $LATHE_METRICS_DIR/a.jsonl; done");
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return !server_.metrics("a").empty(); }));
  server_.lose_reply_of("append_metrics");
  ::kill(runner, SIGKILL);
  wait_for(runner);
  // The guardian kills the script; then the journal does not grow any more.
  EXPECT_EQ(wait_for(start_adopter()).code(), 0);
  std::istringstream lines(server_.metrics("a"));
  int expected = 0;
  for (std::string line; std::getline(lines, line);) ASSERT_EQ(line, std::to_string(++expected));
  EXPECT_GT(expected, 0);
  EXPECT_EQ(server_.exit()->reason, model::EndReason::node_lost);
}

TEST_F(FaultTest, MetricsWaitForAServerThatIsAwayAndTheScriptDoesNot) {
  server_.turn_on("down-for-append_metrics");
  set_script("echo one >> $LATHE_METRICS_DIR/a.jsonl; echo done > here");
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(work_ / "run" / "here"); }));
  EXPECT_EQ(server_.exit(), std::nullopt);
  server_.turn_off("down-for-append_metrics");
  EXPECT_EQ(wait_for(runner).code(), 0);
  EXPECT_EQ(server_.metrics("a"), "one\n");
}

TEST_F(FaultTest, ServerThatLostItsTailIsSentItAgain) {
  server_.turn_on("no-links");
  set_script("seq 1 500; until [ -e go ]; do sleep 0.01; done; echo end");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return server_.log() == counted_lines(500); }));
  std::ofstream(root_ / "server/logs/0.size") << 100;  // as after a power cut
  std::ofstream(work_ / "run/go") << "";
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_TRUE(server_.log() == counted_lines(500) + "end\n");
}

TEST_F(FaultTest, AdoptingWaitsForARunnerThatLives) {
  set_script("until [ -e go ]; do sleep 0.01; done; exit 4");
  pid_t runner = start_runner();
  ASSERT_TRUE(eventually([&] { return fs::exists(work_ / "run/outputs"); }));
  auto adopted = adopt_spool({.spool = work_, .patience = std::chrono::milliseconds(50), .backoff = quick_},
                             [](const SpoolHeader&) { return std::unique_ptr<ServerLink>(); });
  ASSERT_FALSE(adopted);
  EXPECT_EQ(base::Code::unavailable, adopted.error().code());
  std::ofstream(work_ / "run/go") << "";
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(4, server_.exit()->exit_code);
}

TEST_F(FaultTest, SpoolOfANewerFormatIsRefusedWithAHint) {
  fs::create_directories(work_ / "spool");
  std::ofstream(work_ / "spool/spool.json") << R"({"format":2,"run":"r","attempt":1,"node":0,"token":"t"})";
  auto spool = Spool::adopt(work_ / "spool", std::chrono::seconds(1));
  ASSERT_FALSE(spool);
  EXPECT_EQ(base::Code::unsupported, spool.error().code());
  EXPECT_FALSE(spool.error().hint().empty());
}

// The runner and then each adopter is killed at a random moment, until one comes through.
TEST_F(FaultTest, KilledAtRandomMomentsNoByteIsLostOrDoubled) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const char* count_text = std::getenv("LATHE_RUNNER_KILLS");
  const int rounds = count_text ? std::atoi(count_text) : 15;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    fs::remove_all(root_);
    FakeServer fresh(root_ / "server");
    if (round % 2 == 1) fresh.turn_on("no-links");
    order_.segment_bytes = 20'000;
    set_script("seq 1 20000; echo out > outputs/x; exit 5");
    auto kill_soon = [&](pid_t pid) {
      pause(std::chrono::microseconds(std::uniform_int_distribution<>(0, 120'000)(random)), -1);
      ::kill(pid, SIGKILL);
      return wait_for(pid);
    };
    auto ended = kill_soon(start_runner());
    const bool was_spooled = fs::exists(work_ / "spool/spool.json");
    if (WIFSIGNALED(ended.status)) {
      for (int again = 0; again < 2 && fs::exists(work_ / "spool/spool.json"); ++again) kill_soon(start_adopter());
      if (fs::exists(work_ / "spool/spool.json")) EXPECT_EQ(0, wait_for(start_adopter()).code());
    }
    if (!was_spooled) continue;
    ASSERT_TRUE(server_.exit());
    const std::string log = server_.log(), all = counted_lines(20000);
    EXPECT_TRUE(all.starts_with(log)) << "bytes doubled or out of order";
    EXPECT_EQ(log.size(), server_.reported_log().size);
    if (server_.exit()->reason == EndReason::exited) {
      EXPECT_EQ(5, server_.exit()->exit_code);
      EXPECT_TRUE(log == all) << "bytes lost";
      EXPECT_EQ("out\n", server_.artifact("outputs/x"));
    } else {
      EXPECT_EQ(EndReason::node_lost, server_.exit()->reason);
    }
    EXPECT_FALSE(fs::exists(work_ / "spool/spool.json"));
  }
}

TEST_F(FaultTest, OutputsThatAreSwappedForLinksDuringTheUploadLeakNothing) {
  fs::create_directories(root_ / "run/outputs/a");
  fs::create_directories(root_ / "secret");
  std::ofstream(root_ / "secret/key") << "SECRET";
  std::ofstream(root_ / "run/outputs/a/key") << "public";
  fs::create_symlink(root_ / "secret", root_ / "run/outputs/b");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop)
      ::syscall(SYS_renameat2, AT_FDCWD, (root_ / "run/outputs/a").c_str(), AT_FDCWD, (root_ / "run/outputs/b").c_str(),
                2u /* exchange */);
  });
  auto folder = RunFolder::open(root_ / "run").value();
  FakeLink link(server_, root_);
  int seen = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
       std::chrono::steady_clock::now() < end;) {
    auto listing = folder.list("outputs");
    for (const auto& path : {std::string("outputs/a/key"), std::string("outputs/b/key")}) {
      auto file = folder.open_file(path);
      char bytes[16] = {};
      if (!file || ::read(file->fd.get(), bytes, sizeof bytes) <= 0) continue;
      EXPECT_STREQ("public", bytes);
      ++seen;
    }
    ArtifactUploader uploader(folder);
    std::vector<std::string> skipped;
    EXPECT_TRUE(uploader.upload(link, listing.files, skipped));
  }
  stop = true;
  swapper.join();
  EXPECT_GT(seen, 0) << "the race was never run";
  EXPECT_FALSE(fs::exists(root_ / "server/blobs" / base::sha256("SECRET").hex()));
}

TEST_F(FaultTest, AFileThatTheServerRefusesCostsNoOther) {
  server_.turn_on("no-large-files");
  set_script("head -c 3000000 /dev/zero > outputs/a-large; echo small > outputs/b-small");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("small\n", server_.artifact("outputs/b-small"));
  EXPECT_FALSE(server_.artifact("outputs/a-large"));
  EXPECT_THAT(server_.log(), testing::HasSubstr("not kept: outputs/a-large: over the server's limit"));
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
}

// Loses a blob in the moment between its upload and its naming.
class ForgetfulLink : public FakeLink {
 public:
  ForgetfulLink(FakeServer& server, fs::path spool, std::string bytes)
      : FakeLink(server, std::move(spool)), server_(server), bytes_(std::move(bytes)) {}
  base::Result<void> put_artifacts(std::span<const Artifact> artifacts) override {
    if (!std::exchange(lost_, true)) server_.lose_blob(bytes_);
    return FakeLink::put_artifacts(artifacts);
  }

 private:
  FakeServer& server_;
  const std::string bytes_;
  bool lost_ = false;
};

TEST_F(FaultTest, BytesThatTheServerLostBeforeTheyWereNamedAreSentAgain) {
  fs::create_directories(root_ / "run/outputs");
  std::ofstream(root_ / "run/outputs/a") << "lost";
  std::ofstream(root_ / "run/outputs/b") << "kept";
  auto folder = RunFolder::open(root_ / "run").value();
  ForgetfulLink link(server_, root_, "lost");
  ArtifactUploader uploader(folder);
  std::vector<std::string> skipped;
  auto files = folder.list("outputs").files;
  EXPECT_EQ(base::Code::unavailable, uploader.upload(link, files, skipped).error().code());
  EXPECT_EQ("kept", server_.artifact("outputs/b"));
  EXPECT_TRUE(uploader.upload(link, files, skipped));
  EXPECT_EQ("lost", server_.artifact("outputs/a"));
  EXPECT_TRUE(skipped.empty());
}

TEST_F(FaultTest, FullDiskLosesCountedBytesAndNeverHoldsUpTheScript) {
  fs::create_directories(root_ / "disk");
  if (::mount("tmpfs", (root_ / "disk").c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  work_ = root_ / "disk/task";
  server_.turn_on("no-links");  // the server's disk is another one
  set_script("echo before; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after; exit 6");
  auto ended = run();
  EXPECT_EQ(0, ended.code());
  const std::string log = server_.log();
  EXPECT_EQ(6, server_.exit()->exit_code) << "the script ended as if there were room";
  EXPECT_TRUE(log.starts_with("before\n"));
  std::size_t marker = log.find("[lathe: ");
  ASSERT_NE(std::string::npos, marker);
  const std::uint64_t lost = std::stoull(log.substr(marker + 8));
  const std::string whole = "before\n" + std::string(3'000'000, 'x') + "\nafter\n";
  const std::size_t line_end = log.find('\n', marker) + 1;
  EXPECT_EQ(whole.size() - lost, (marker - 1) + (log.size() - line_end)) << "every lost byte is counted";
  ::umount((root_ / "disk").c_str());
}

TEST_F(FaultTest, ExitRecordIsWholeOrAbsentAfterAPowerCutAtEveryStep) {
  model::ExitRecord exit;
  exit.reason = EndReason::exited;
  exit.exit_code = 9;
  for (auto loss : sys::kEveryLoss) {
    bool acknowledged = false;
    for (std::size_t cut = 0; !acknowledged; ++cut) {
      fs::remove_all(work_);
      fs::create_directories(work_);
      std::optional<sys::FaultyFileSystem> disk;
      {
        // The folder itself is on disk; what is written from here on is at risk.
        auto made = Spool::create(work_, {.run = "r", .attempt = 1, .node = 0, .token = "t"});
        ASSERT_TRUE(made) << made.error().text();
      }
      disk.emplace(work_);
      {
        auto spool = Spool::adopt(work_ / "spool", std::chrono::seconds(1), *disk);
        ASSERT_TRUE(spool) << spool.error().text();
        disk->cut_power_after(cut);
        acknowledged = spool->write_exit(exit).has_value();
      }
      disk->restart(loss);
      auto after = Spool::adopt(work_ / "spool", std::chrono::seconds(1));
      ASSERT_TRUE(after);
      auto record = after->read_exit();
      ASSERT_TRUE(record) << record.error().text();
      if (acknowledged) ASSERT_TRUE(*record);
      if (*record) EXPECT_EQ(9, (*record)->exit_code);
      ASSERT_LT(cut, 20u);
    }
  }
}

}  // namespace
}  // namespace lathe::runner
