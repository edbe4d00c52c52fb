#include "envs/tool_variables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace lathe::envs {
namespace {

bool has(const std::vector<std::string>& environment, const std::string& one) {
  return std::ranges::find(environment, one) != environment.end();
}

TEST(ToolVariables, SecretsOfTheServerStayWithIt) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "LATHE_TOKEN", "LATHE_KEY_FOLDER", "GITHUB_TOKEN", "DB_PASSWORD",
                           "PYTHONPATH", "SSH_AUTH_SOCK", "LD_PRELOAD", "KUBECONFIG"})
    EXPECT_FALSE(reaches_tools(name, {})) << name;
}

TEST(ToolVariables, WhatReachesTheIndexIsKept) {
  for (const char* name : {"PATH", "HOME", "LC_ALL", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
                           "PIP_INDEX_URL", "UV_INDEX", "NETRC", "CC", "CXXFLAGS", "HOROVOD_WITH_TENSORFLOW"})
    EXPECT_TRUE(reaches_tools(name, {})) << name;
  EXPECT_TRUE(reaches_tools("OUR_FLAG", {"OUR_*"})) << "a site may add names";
}

TEST(ToolVariables, TheWayOutTakesThePlaceOfAllProxies) {
  ::setenv("https_proxy", "http://proxy.example.org:3128", 1);
  ::setenv("no_proxy", "internal.example.org", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "x", 1);
  Settings settings;
  EXPECT_TRUE(has(tool_variables(settings), "https_proxy=http://proxy.example.org:3128"));
  settings.proxy = "http://lathe:s@127.0.0.1:1";
  const auto environment = tool_variables(settings);
  EXPECT_TRUE(has(environment, "https_proxy=" + settings.proxy));
  EXPECT_TRUE(has(environment, "HTTP_PROXY=" + settings.proxy));
  EXPECT_FALSE(has(environment, "no_proxy=internal.example.org")) << "nothing goes around it";
  EXPECT_FALSE(has(environment, "AWS_SECRET_ACCESS_KEY=x"));
  for (const char* name : {"https_proxy", "no_proxy", "AWS_SECRET_ACCESS_KEY"}) ::unsetenv(name);
}

}  // namespace
}  // namespace lathe::envs
