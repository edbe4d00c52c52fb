#include "runner/task.h"

#include <sys/stat.h>

#include <algorithm>

#include "cas/tree.h"
#include "runner/runner_fixture.h"
#include "runner/snapshot.h"
#include "sys/cgroup.h"
#include "wire/script_token.h"

namespace lathe::runner {
namespace {

using model::EndReason;
using TaskTest = RunnerTest;

TEST_F(TaskTest, RunsACommandAndDeliversItsOutputOnce) {
  set_script("echo hello; echo again >&2");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("hello\nagain\n", server_.log());
  EXPECT_EQ(1u, server_.sealed());
  ASSERT_TRUE(server_.exit());
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
  EXPECT_EQ(0, server_.exit()->exit_code);
  EXPECT_EQ(12u, server_.reported_log().size);
  EXPECT_GT(server_.exit()->usage.peak_memory_bytes, 0);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(TaskTest, CostsTwoCallsForARunThatSaysNothing) {
  set_script("true");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ((std::vector<std::string>{"claim", "finish"}), server_.journal());
}

TEST_F(TaskTest, TellsTheExitCodeOfAFailingScript) {
  set_script("echo oops; exit 7");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
  EXPECT_EQ(7, server_.exit()->exit_code);
  EXPECT_EQ("exit code 7", server_.exit()->message);
  EXPECT_EQ("oops\n", server_.log());
}

TEST_F(TaskTest, TellsTheSignalThatKilledAScript) {
  set_script("kill -SEGV $$");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::signaled, server_.exit()->reason);
  EXPECT_EQ(SIGSEGV, server_.exit()->signal);
  EXPECT_EQ("killed by signal 11 (SIGSEGV)", server_.exit()->message);
}

TEST_F(TaskTest, SaysWhyAProgramCouldNotBeStarted) {
  order_.command.command = {"no-such-program"};
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::start_failed, server_.exit()->reason);
  EXPECT_NE(std::string::npos, server_.exit()->message.find("hint"));
}

TEST_F(TaskTest, SaysWhyAFileCannotBeExecuted) {
  auto path = root_ / "not-a-program";
  std::ofstream(path) << "\x01\x02";
  ::chmod(path.c_str(), 0755);
  order_.command.command = {path};
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::start_failed, server_.exit()->reason);
  EXPECT_NE(std::string::npos, server_.exit()->message.find("Exec format error")) << server_.exit()->message;
}

TEST_F(TaskTest, SaysThatTheInterpreterIsMissing) {
  order_.command.script = "train.py";
  order_.environment.interpreter = "/no/such/python";
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::start_failed, server_.exit()->reason);
  EXPECT_NE(std::string::npos, server_.exit()->message.find("/no/such/python"));
}

TEST_F(TaskTest, GivesTheScriptItsTokenAndNothingOfTheRunners) {
  ::setenv("LATHE_RUN_TOKEN", "leak", 1);
  set_script("echo $AZUREML_RUN_TOKEN $AZUREML_RUN_ID; env | grep -c LATHE_RUN; exec ls /proc/self/fd");
  EXPECT_EQ(0, run().code());
  // Made of the runner's, which itself is nowhere.
  EXPECT_EQ(wire::script_token("secret-token") + " run-1\n0\n0\n1\n2\n3\n", server_.log())
      << "3 is the folder that ls reads";
  EXPECT_FALSE(server_.log().contains("secret-token"));
}

TEST_F(TaskTest, KeepsOutputOfAnyKindByteByByte) {
  set_script("head -c 300000 /dev/urandom > outputs/raw; cat outputs/raw; printf 'a\\rb\\r'; printf '\\000\\377'");
  order_.segment_bytes = 64 * 1024;
  EXPECT_EQ(0, run().code());
  auto raw = server_.artifact("outputs/raw");
  ASSERT_TRUE(raw);
  EXPECT_TRUE(server_.log() == *raw + "a\rb\r" + std::string("\0\377", 2)) << "the log differs from what was written";
  EXPECT_EQ(5u, server_.sealed());
  EXPECT_EQ(5u, server_.reported_log().segments);
}

TEST_F(TaskTest, SendsBytesWhereTheServerCannotLink) {
  server_.turn_on("no-links");
  order_.segment_bytes = 100'000;
  set_script("seq 1 60000");
  EXPECT_EQ(0, run().code());
  std::string expected;
  for (int i = 1; i <= 60000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(server_.log() == expected);
  EXPECT_EQ(1, server_.count("link_log"));
}

TEST_F(TaskTest, SendsWhatTheServerHasLostOfTheLogAgainBeforeItFinishes) {
  server_.turn_on("no-links");
  server_.turn_on("lose-log");
  set_script("echo a line of the log; echo another");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("a line of the log\nanother\n", server_.log());
  EXPECT_EQ(2, server_.count("finish"));
  ASSERT_TRUE(server_.exit());
  EXPECT_EQ(26u, server_.reported_log().size);
}

TEST_F(TaskTest, KeepsMemoryBoundedForALongLineWithoutEnd) {
  server_.turn_on("no-links");
  set_script("head -c 67108864 /dev/zero");
  auto ended = run();
  EXPECT_EQ(0, ended.code());
  EXPECT_EQ(std::size_t{64 << 20}, server_.log().size());
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // their own memory would be measured
  EXPECT_LT(ended.usage.ru_maxrss, 48 * 1024) << "KiB of the runner";
#endif
}

TEST_F(TaskTest, ShowsTheFirstLineWhileTheScriptRuns) {
  set_script("echo first; until [ -e go ]; do sleep 0.01; done; echo last");
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return server_.log() == "first\n"; }));
  std::ofstream(work_ / "run/go") << "";
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ("first\nlast\n", server_.log());
}

TEST_F(TaskTest, StopsAtTheTimeLimitEvenWithTheServerAway) {
  order_.max_run_duration_seconds = 1;
  set_script("echo $$ > pid; exec sleep 1000");
  pid_t runner = start_runner();
  pid_t script = pid_in("pid");
  server_.turn_on("down");
  EXPECT_TRUE(eventually([&] { return !is_alive(script); }));
  server_.turn_off("down");
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(EndReason::timed_out, server_.exit()->reason);
  EXPECT_EQ("stopped at the time limit of 1 s", server_.exit()->message);
}

TEST_F(TaskTest, CancelsAScriptThatIgnoresTheRequestAfterItsGrace) {
  order_.grace_seconds = 0;
  set_script("trap '' TERM; echo $$ > pid; echo kept > outputs/model; while :; do sleep 0.05; done");
  pid_t runner = start_runner();
  pid_t script = pid_in("pid");
  server_.ask_stop(EndReason::canceled);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_FALSE(is_alive(script));
  EXPECT_EQ(EndReason::canceled, server_.exit()->reason);
  EXPECT_EQ("kept\n", server_.artifact("outputs/model")) << "outputs are kept on cancel";
}

TEST_F(TaskTest, LetsAScriptEndInOrderWhenItIsPreempted) {
  set_script("trap 'echo saved > outputs/checkpoint; exit 3' TERM; echo $$ > pid; while :; do sleep 0.02; done");
  pid_t runner = start_runner();
  pid_in("pid");
  server_.ask_stop(EndReason::preempted);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(EndReason::preempted, server_.exit()->reason);
  EXPECT_EQ(3, server_.exit()->exit_code);
  EXPECT_EQ("saved\n", server_.artifact("outputs/checkpoint"));
}

TEST_F(TaskTest, TellsAPreemptionByAFileAsWell) {
  order_.grace_seconds = 20;
  set_script(
      "trap '' TERM; echo $$ > pid; until [ -e \"$LATHE_PREEMPTION_FILE\" ]; do sleep 0.02; done; "
      "cat \"$LATHE_PREEMPTION_FILE\" > outputs/checkpoint");
  pid_t runner = start_runner();
  pid_in("pid");
  server_.ask_stop(EndReason::preempted);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(EndReason::preempted, server_.exit()->reason);
  EXPECT_EQ("preempted\n", server_.artifact("outputs/checkpoint"));
  EXPECT_FALSE(server_.artifact(".lathe-preempted"));
}

TEST_F(TaskTest, SendsOutputsBeforeTheRest) {
  set_script("echo saved > outputs/checkpoint; echo one > $LATHE_METRICS_DIR/a.jsonl; echo last");
  EXPECT_EQ(0, run().code());
  auto calls = server_.journal();
  auto place = [&](std::string_view call) { return std::ranges::find(calls, call) - calls.begin(); };
  EXPECT_LT(place("put_artifacts"), place("append_metrics"));
  EXPECT_LT(place("append_metrics"), place("finish"));
}

TEST_F(TaskTest, SaysThatNoProcessIsLeftAlsoWhenAStoppedRunHasNoOutputs) {
  set_script("echo $$ > pid; exec sleep 1000");
  pid_t runner = start_runner();
  pid_in("pid");
  server_.ask_stop(EndReason::canceled);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(1, server_.count("report_finalizing"));
}

TEST_F(TaskTest, TakesATerminationSignalAsACancel) {
  set_script("echo $$ > pid; exec sleep 1000");
  pid_t runner = start_runner();
  pid_t script = pid_in("pid");
  ::kill(runner, SIGTERM);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_FALSE(is_alive(script));
  EXPECT_EQ(EndReason::canceled, server_.exit()->reason);
}

// Forks twice and calls setsid, as daemons do; the pipe of the log stays open in it.
constexpr const char* kDaemon =
    "setsid sh -c 'sh -c \"echo \\$\\$ > daemon; trap \\\"\\\" TERM HUP; while :; do sleep 0.05; done\" & exit 0' & ";

TEST_F(TaskTest, EndsADaemonThatForkedAwayWhenTheRunIsCanceled) {
  order_.grace_seconds = 0;
  set_script(std::string(kDaemon) + "while :; do sleep 0.05; done");
  pid_t runner = start_runner();
  pid_t daemon = pid_in("daemon");
  server_.ask_stop(EndReason::canceled);
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_FALSE(is_alive(daemon));
}

TEST_F(TaskTest, EndsADaemonThatTheScriptLeftBehind) {
  set_script(std::string(kDaemon) + "until [ -s daemon ]; do sleep 0.01; done; cp daemon outputs/daemon");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::exited, server_.exit()->reason);
  EXPECT_FALSE(is_alive(std::stoi(*server_.artifact("outputs/daemon"))));
}

TEST_F(TaskTest, SaysThatARunWasKilledForMemory) {
  auto probe = sys::Cgroup::create(fmt::format("lathe-probe-{}", ::getpid()), {.memory_bytes = 64 << 20});
  if (!probe) GTEST_SKIP() << "no cgroup may be made here: " << probe.error().text();
  order_.enforce_memory = true;
  order_.slice.memory_bytes = 32 << 20;
  set_script("exec tail /dev/zero");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::out_of_memory, server_.exit()->reason);
  EXPECT_EQ("killed at the memory limit of 32.0 MiB", server_.exit()->message);
}

TEST_F(TaskTest, ShipsOutputsWhileTheScriptRuns) {
  set_script(
      "echo part > logs/events; mkdir -p outputs/a/b; until [ -e go ]; do sleep 0.01; done; echo deep > outputs/a/b/c; "
      "until [ -e stop ]; do sleep 0.01; done");
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return server_.artifact("logs/events") == "part\n"; }));
  std::ofstream(work_ / "run/go") << "";
  EXPECT_TRUE(eventually([&] { return server_.artifact("outputs/a/b/c") == "deep\n"; }));
  std::ofstream(work_ / "run/stop") << "";
  EXPECT_EQ(0, wait_for(runner).code());
  EXPECT_EQ(0, server_.count("report_finalizing")) << "nothing was left to upload";
}

TEST_F(TaskTest, ShipsMetricsWhileTheScriptRunsAndAllOfThemBeforeItsEnd) {
  set_script(
      "echo one >> $LATHE_METRICS_DIR/a.jsonl; read line < wait; echo two >> $LATHE_METRICS_DIR/a.jsonl; "
      "echo three >> $LATHE_METRICS_DIR/b.jsonl; printf half >> $LATHE_METRICS_DIR/b.jsonl; "
      "echo x > $LATHE_METRICS_DIR/other.txt; echo x > $LATHE_METRICS_DIR/refused.jsonl; "
      "mkfifo $LATHE_METRICS_DIR/pipe.jsonl; ln -s /etc/passwd $LATHE_METRICS_DIR/link.jsonl");
  order_.command.command[2] = "mkfifo wait; " + order_.command.command[2];
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return server_.metrics("a") == "one\n"; })) << "live";
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(work_ / "run" / "wait"); }));
  std::ofstream(work_ / "run" / "wait") << "go\n";
  EXPECT_EQ(wait_for(runner).code(), 0);
  EXPECT_EQ(server_.metrics("a"), "one\ntwo\n");
  EXPECT_EQ(server_.metrics("b"), "three\n");
  for (const char* name : {"other", "refused", "pipe", "link"}) EXPECT_EQ(server_.metrics(name), "") << name;
  const std::string log = server_.log();
  for (const char* name : {"b.jsonl: its last 4 bytes", "refused.jsonl: not a source", "pipe.jsonl", "link.jsonl"})
    EXPECT_NE(log.find(std::string("[lathe: metrics not kept: ") + name), log.npos) << log;
  auto calls = server_.journal();
  EXPECT_EQ(calls.back(), "finish");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(TaskTest, TheScriptIsToldHowMuchOfItsJournalTheServerHas) {
  set_script(
      "cd $LATHE_METRICS_DIR; ln -s /nowhere a.at.new; echo x > refused.jsonl; echo one >> a.jsonl; "
      "until [ \"$(readlink a.at)\" = 4 ]; do sleep 0.01; done; echo two >> a.jsonl; "
      "until [ \"$(readlink a.at)\" = 8 ]; do sleep 0.01; done; "
      "until [ \"$(readlink refused.at)\" = refused ]; do sleep 0.01; done; ln -s 3 a.lost");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.metrics("a"), "one\ntwo\n");
  EXPECT_NE(server_.log().find("[lathe: metrics not kept: a.jsonl: the script could not write 3 of its records]"),
            std::string::npos)
      << server_.log();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(TaskTest, NothingIsToldBeforeTheServerHasIt) {
  server_.turn_on("down-for-append_metrics");
  set_script(
      "cd $LATHE_METRICS_DIR; echo one > a.jsonl; echo waiting; until [ -L a.at ]; do sleep 0.01; done; "
      "echo told of $(readlink a.at) bytes: $(cat " +
      (root_ / "server/metrics/a").string() + ")");
  pid_t runner = start_runner();
  EXPECT_TRUE(eventually([&] { return server_.log().find("waiting") != std::string::npos; }));
  server_.turn_off("down-for-append_metrics");
  EXPECT_EQ(wait_for(runner).code(), 0);
  EXPECT_NE(server_.log().find("told of 4 bytes: one"), std::string::npos) << server_.log();
}

TEST_F(TaskTest, SendsALongJournalInPieces) {
  set_script(
      "i=0; while [ $i -lt 40 ]; do head -c 99999 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done > "
      "$LATHE_METRICS_DIR/a.jsonl; head -c 3000000 /dev/zero | tr '\\0' y >> $LATHE_METRICS_DIR/a.jsonl; "
      "echo >> $LATHE_METRICS_DIR/a.jsonl");
  EXPECT_EQ(run().code(), 0);
  EXPECT_EQ(server_.metrics("a").size(), 40u * 100'000 + 3'000'001);
}

TEST_F(TaskTest, UploadsLargeAndManyOutputsAtTheEnd) {
  set_script(
      "head -c 5000000 /dev/urandom > outputs/big; for i in 1 2 3; do echo same > outputs/$i; done; : > outputs/empty");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(5'000'000u, server_.artifact("outputs/big")->size());
  EXPECT_EQ("same\n", server_.artifact("outputs/3"));
  EXPECT_EQ("", server_.artifact("outputs/empty"));
  EXPECT_EQ(1, server_.count("upload_file"));
  EXPECT_EQ(1, server_.count("upload_pack"));
  EXPECT_EQ(1, server_.count("report_finalizing"));
}

TEST_F(TaskTest, FollowsLinksThatStayInsideAndSkipsOthersWithALine) {
  set_script(
      "echo in > outputs/model; ln -s model outputs/latest; ln -s /etc/passwd outputs/leak; ln -s ../../../x "
      "outputs/up; mkfifo outputs/pipe");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("in\n", server_.artifact("outputs/latest"));
  EXPECT_FALSE(server_.artifact("outputs/leak"));
  EXPECT_NE(std::string::npos,
            server_.log().find("[lathe: not kept: outputs/leak: a link that leaves the run folder]"));
  EXPECT_NE(std::string::npos, server_.log().find("outputs/up:"));
  EXPECT_NE(std::string::npos, server_.log().find("outputs/pipe: not a file"));
  EXPECT_EQ(server_.log().size(), server_.reported_log().size);
}

TEST_F(TaskTest, OneOutputWithANameThatTheServerRefusesDoesNotCostTheOthers) {
  set_script("echo good > outputs/good; printf bad > \"$(printf 'outputs/\\377')\"; echo fine > outputs/zfine");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("good\n", server_.artifact("outputs/good"));
  EXPECT_EQ("fine\n", server_.artifact("outputs/zfine"));
  EXPECT_NE(std::string::npos, server_.log().find("[lathe: not kept: outputs/\\xff: a path is UTF-8]"))
      << server_.log();
}

TEST_F(TaskTest, DeliversASnapshotBeforeTheScriptStarts) {
  snapshot_ = [](ServerLink&, const base::Digest&, const std::filesystem::path& folder,
                 const auto&) -> base::Result<void> {
    std::ofstream(folder / "train.sh") << "echo trained; ls\n";
    return {};
  };
  order_.snapshot = base::sha256("tree");
  order_.environment.interpreter = "/bin/sh";
  order_.command.script = "train.sh";
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("trained\nlogs\noutputs\ntrain.sh\n", server_.log());
}

// One file in two places, with its exec bit, as a tree and its pack stream.
struct Snapshot {
  Snapshot() {
    const std::string script = "#!/bin/sh\necho from the snapshot\n";
    const base::Digest digest = base::sha256(script);
    cas::Tree tree{{{"sub/tool", digest, script.size(), true, {}}, {"train.sh", digest, script.size(), false, {}}}};
    manifest = cas::encode_tree(tree);
    pack.assign(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
    pack += static_cast<char>(script.size()) + std::string(7, '\0') + script + std::string(40, '\0');
  }
  std::string manifest, pack;
};

TEST_F(TaskTest, WritesTheFilesOfASnapshotFromThePackOfTheServer) {
  Snapshot snapshot;
  order_.snapshot = base::sha256(snapshot.manifest);
  server_.set_snapshot(*order_.snapshot, snapshot.manifest, snapshot.pack);
  server_.lose_reply_of("fetch_pack");  // the folder is emptied and written again
  snapshot_ = write_snapshot;
  order_.command.command = {"./sub/tool"};
  EXPECT_EQ(0, run().code());
  EXPECT_EQ("from the snapshot\n", server_.log()) << server_.exit()->message;
  EXPECT_EQ(2, server_.count("fetch_pack"));
}

TEST_F(TaskTest, RefusesASnapshotWhoseBytesAreNotThoseOfItsManifest) {
  Snapshot snapshot;
  order_.snapshot = base::sha256(snapshot.manifest);
  snapshot.pack[50] ^= 1;
  server_.set_snapshot(*order_.snapshot, snapshot.manifest, snapshot.pack);
  snapshot_ = write_snapshot;
  set_script("echo never");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::prepare_failed, server_.exit()->reason);
  EXPECT_EQ("", server_.log());
}

TEST_F(TaskTest, StopsASlowDeliveryOfTheSnapshotWhenTheRunIsCanceled) {
  snapshot_ = [](ServerLink&, const base::Digest&, const std::filesystem::path&,
                 const std::function<base::Result<void>()>& keep_going) {
    base::Result<void> going;
    while ((going = keep_going())) {
    }  // bytes that never end
    return going;
  };
  order_.snapshot = base::sha256("tree");
  set_script("echo never");
  server_.ask_stop(EndReason::canceled);
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::canceled, server_.exit()->reason);
  EXPECT_EQ("", server_.log());
}

TEST_F(TaskTest, KeepsWhatTheRunUsedOfItsGpus) {
  auto inventory = root_ / "gpus";
  std::ofstream(inventory) << "GPU-a 1000 700 100\nGPU-b 1000 900 100\n";
  ::setenv("LATHE_GPU_INVENTORY", inventory.c_str(), 1);
  order_.slice.gpus = {"GPU-a"};
  set_script("echo $CUDA_VISIBLE_DEVICES; sleep 0.5");
  EXPECT_EQ(0, run().code());
  ::unsetenv("LATHE_GPU_INVENTORY");
  EXPECT_EQ("GPU-a\n", server_.log());
  EXPECT_EQ(700, server_.exit()->usage.peak_gpu_memory_bytes) << "of its own GPU only";
}

TEST_F(TaskTest, SaysThatASnapshotCouldNotBeDelivered) {
  snapshot_ = [](ServerLink&, const base::Digest&, const auto&, const auto&) -> base::Result<void> {
    return base::fail(base::Code::corrupt, "a file of the snapshot is damaged");
  };
  order_.snapshot = base::sha256("tree");
  set_script("echo never");
  EXPECT_EQ(0, run().code());
  EXPECT_EQ(EndReason::prepare_failed, server_.exit()->reason);
  EXPECT_EQ("", server_.log());
}

}  // namespace
}  // namespace lathe::runner
