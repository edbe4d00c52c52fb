#include "envs/engine_arguments.h"

#include <gtest/gtest.h>

#include "envs/container_engine.h"
#include "envs/spec.h"

namespace lathe::envs {
namespace {

using Texts = std::vector<std::string>;

TEST(EngineArguments, AreOneTextForEachOption) {
  auto made = engine_arguments({"--cpus=2", "-v", "/data:/data", "-e A=b c", "--privileged", "--label x=y", " "}, "");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ((Texts{"--cpus=2", "-v=/data:/data", "-e=A=b c", "--privileged", "--label=x=y"}), *made);
  EXPECT_EQ(*made, *engine_arguments(*made, "")) << "the same when they are given once more";
}

TEST(EngineArguments, NeverNameAnotherImage) {
  EXPECT_EQ(base::Code::invalid, engine_arguments({"other-image"}, "").error().code());
  EXPECT_EQ(base::Code::invalid, engine_arguments({"--cpus=2", "other-image"}, "").error().code());
  EXPECT_EQ((Texts{"--privileged=other-image"}), *engine_arguments({"--privileged", "other-image"}, ""));
}

TEST(EngineArguments, LeaveTheRunInOurHands) {
  for (const char* text :
       {"--name=x", "--rm", "-d", "-dit", "-it", "--detach=true", "--entrypoint=/bin/sh", "-u=0", "--user 0",
        "--network=none", "-w/tmp", "-Pd", "--", "-", "-=x", "--=x", "--log-driver=none"}) {
    auto made = engine_arguments({text}, "");
    ASSERT_FALSE(made) << text;
    EXPECT_EQ("docker.arguments", made.error().field());
    EXPECT_FALSE(made.error().hint().empty());
  }
}

TEST(EngineArguments, HaveASizeOfSharedMemory) {
  EXPECT_EQ((Texts{"--shm-size=2g"}), *engine_arguments({}, "2g"));
  EXPECT_EQ((Texts{"--shm-size=1g"}), *engine_arguments({"--shm-size", "1g"}, "2g"));
  EXPECT_EQ((Texts{"--ipc=host"}), *engine_arguments({"--ipc=host"}, "2g"));
  for (const char* text : {"two", "2gb", "g", "-1", "2 g"}) EXPECT_FALSE(engine_arguments({}, text)) << text;
}

TEST(EngineArguments, CanBeForbidden) {
  Settings settings;
  EXPECT_TRUE(check_allowed(settings, {"--cpus=2"}));
  settings.engine_arguments = false;
  EXPECT_TRUE(check_allowed(settings, {}));
  EXPECT_EQ(base::Code::forbidden, check_allowed(settings, {"--cpus=2"}).error().code());
}

TEST(EngineArguments, ThatReachTheMachineNeedTheSitesWord) {
  Settings settings;
  for (const char* text :
       {"-v=/:/host", "--volume=/:/host", "--mount=type=bind,src=/,dst=/host", "--privileged", "--device=/dev/sda",
        "--pid=host", "--ipc=container:x", "--uts=host", "--cgroupns=host", "--security-opt=seccomp=unconfined",
        "--security-opt=label=disable", "--cap-add=SYS_ADMIN", "--volumes-from=x", "--env-file=/etc/shadow",
        "--env=SECRET", "-e=SECRET", "-e=AWS*", "-e=A*=b", "--gpus=all", "--runtime=x", "--sysctl=kernel.x=1",
        "--group-add=disk", "-p=1:1", "-P", "--publish-all", "--privileged=true", "--some-day=new", "-v"}) {
    auto refused = check_allowed(settings, {"--cpus=2", text});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(base::Code::forbidden, refused.error().code());
    EXPECT_EQ("docker.arguments", refused.error().field());
    EXPECT_TRUE(refused.error().hint().contains("engine_host_arguments")) << refused.error().hint();
  }
  for (const char* text :
       {"--shm-size=2g", "--ipc=host", "--cpus=2", "-m=2g", "-e=A=b c", "--env=A=*", "--label=x=y", "--init",
        "--ulimit=memlock=-1", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp"})
    EXPECT_TRUE(check_allowed(settings, {text})) << text;
  settings.engine_host_arguments = true;
  EXPECT_TRUE(check_allowed(settings, {"-v=/:/host", "--privileged"}));
  settings.engine_arguments = false;
  EXPECT_FALSE(check_allowed(settings, {"--cpus=2"}));
}

TEST(EngineArguments, OfADefinitionCountWhereItWantsAnImage) {
  auto with =
      parse_definition(R"({"docker":{"enabled":true,"baseImage":"i","arguments":["-v","/a:/b"],"shmSize":"1g"}})");
  ASSERT_TRUE(with) << with.error().text();
  EXPECT_EQ((Texts{"-v=/a:/b", "--shm-size=1g"}), with->image.arguments);
  auto without = parse_definition(R"({"docker":{"arguments":["--name=x"]}})");
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->image.arguments.empty());
  EXPECT_FALSE(parse_definition(R"({"docker":{"enabled":true,"baseImage":"i","arguments":["--name=x"]}})"));
  EXPECT_FALSE(parse_definition(R"({"docker":{"enabled":true,"baseImage":"i","arguments":"-v"}})"));
}

TEST(Mounts, MayHoldAnyCharacter) {
  EXPECT_EQ("--mount=type=bind,\"src=/a:b,c\",\"dst=/a:b,c\",readonly", mount_argument({"/a:b,c", true}));
  EXPECT_EQ("--mount=type=bind,\"src=/a\"\"b\",\"dst=/a\"\"b\"", mount_argument({"/a\"b", false}));
}

}  // namespace
}  // namespace lathe::envs
