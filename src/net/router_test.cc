#include "net/router.h"

#include <gtest/gtest.h>

#include "net/http_client.h"
#include "net/status_error.h"
#include "net/target.h"

namespace lathe::net {
namespace {

Router make_router(std::initializer_list<std::pair<std::string, std::string>> routes) {
  Router router;
  for (const auto& [method, path] : routes) router.add({method, path, method + path, Permission::read, nullptr});
  return router;
}

TEST(Router, PrefersAWordToAParameterAndNamesTheParameters) {
  const auto router = make_router({{"GET", "/runs/{run}"}, {"GET", "/runs/active"}, {"POST", "/runs/{run}/cancel"}});
  EXPECT_EQ(router.match("GET", "/runs/active").route->path, "/runs/active");
  const auto match = router.match("POST", "/runs/r 1/cancel");
  ASSERT_TRUE(match.route);
  EXPECT_EQ(match.params.at("run"), "r 1");
}

TEST(Router, UnknownPathsAndEmptyPartsAreNotFound) {
  const auto router = make_router({{"GET", "/runs/{run}"}});
  for (const auto* path : {"/runs", "/runs/", "/runs/a/b", "//runs/a", "/runs/a/", "", "runs/a"}) {
    const auto match = router.match("GET", path);
    EXPECT_FALSE(match.route) << path;
    EXPECT_EQ(match.allow, "") << path;
  }
}

TEST(Router, AKnownPathWithAnotherMethodTellsTheAllowedOnes) {
  const auto router = make_router({{"GET", "/runs/{run}"}, {"DELETE", "/runs/{id}"}});
  const auto match = router.match("PUT", "/runs/a");
  EXPECT_FALSE(match.route);
  EXPECT_EQ(match.allow, "GET, HEAD, DELETE");
  EXPECT_EQ(router.match("HEAD", "/runs/a").route->method, "GET");
  EXPECT_EQ(router.match("DELETE", "/runs/a").params.at("id"), "a");
}

TEST(RouterDeathTest, RefusesTheSameRouteTwice) {
  EXPECT_DEATH(make_router({{"GET", "/a/{x}"}, {"GET", "/a/{y}"}}), "routed twice");
}

TEST(Target, DecodesOnceAndKeepsAnEncodedSlashInsideItsSegment) {
  const auto target = parse_target("/a%20b/c%2Fd/%252e?x=1+2&y=%26&x=3&flag");
  EXPECT_EQ(target.segments, (std::vector<std::string>{"a b", "c/d", "%2e"}));
  EXPECT_EQ(target.query.count("x"), 2u);
  EXPECT_EQ(target.query.find("x")->second, "1 2");
  EXPECT_EQ(target.query.find("y")->second, "&");
  EXPECT_EQ(target.query.find("flag")->second, "");
  EXPECT_FALSE(target.has_dots());
}

TEST(Target, SeesDotSegmentsHoweverTheyAreWritten) {
  for (const auto* raw : {"/a/../b", "/a/%2e%2E/b", "/.%2e", "/./a"}) EXPECT_TRUE(parse_target(raw).has_dots()) << raw;
}

TEST(Target, RefusesWhatCannotBeDecoded) {
  for (const auto* raw : {"/%", "/%4", "/%zz", "/%00", "/a?x=%00", "/a?%f", "*", "http://evil/", "", "/a#b"})
    EXPECT_THROW(parse_target(raw), StatusError) << raw;
}

TEST(Target, EncodedSegmentsDecodeToThemselves) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(parse_target("/" + encode_segment(all)).segments.at(0), all);
}

struct Case {
  Permission permission;
  bool none, script, other_runner, own_runner, viewer, contributor, operator_, admin;
};

TEST(Permission, MatrixOfRolesAndPermissions) {
  const std::map<std::string, std::string> params{{"run", "r1"}, {"attempt", "2"}};
  const Case cases[] = {
      {Permission::open, true, true, true, true, true, true, true, true},
      {Permission::read, false, true, false, false, true, true, true, true},
      {Permission::read_or_runner, false, true, true, true, true, true, true, true},
      {Permission::write, false, false, false, false, false, true, true, true},
      {Permission::write_or_own_run, false, true, false, false, false, true, true, true},
      {Permission::upload, false, true, true, true, false, true, true, true},
      {Permission::operate, false, false, false, false, false, false, true, true},
      {Permission::administer, false, false, false, false, false, false, false, true},
      {Permission::own_attempt, false, false, false, true, false, false, false, false},
  };
  const auto principal = [](Role role, std::string run = "", int attempt = 0) {
    return Principal{role, "x", 0, std::move(run), attempt, "", false};
  };
  for (const auto& row : cases) {
    SCOPED_TRACE(static_cast<int>(row.permission));
    const auto may = [&](const Principal& who) { return is_allowed(row.permission, who, params); };
    EXPECT_EQ(may(principal(Role::none)), row.none);
    EXPECT_EQ(may(principal(Role::run, "r1", 2)), row.script);
    EXPECT_EQ(may(principal(Role::run, "r2", 2)), row.script);
    EXPECT_EQ(may(principal(Role::runner, "r2", 2)), row.other_runner);
    EXPECT_EQ(may(principal(Role::runner, "r1", 1)), row.other_runner);
    EXPECT_EQ(may(principal(Role::runner, "", 2)), row.other_runner);
    EXPECT_EQ(may(principal(Role::runner, "r1", 2)), row.own_runner);
    auto both = principal(Role::run, "r1", 2);
    both.also_runner = true;
    EXPECT_EQ(may(both), row.script || row.own_runner);
    EXPECT_EQ(may(principal(Role::viewer)), row.viewer);
    EXPECT_EQ(may(principal(Role::contributor)), row.contributor);
    EXPECT_EQ(may(principal(Role::operator_)), row.operator_);
    EXPECT_EQ(may(principal(Role::admin)), row.admin);
  }
}

TEST(Permission, AnAttemptIsComparedAsItIsWritten) {
  const Principal run{Role::runner, "run", 0, "r1", 2, "", false};
  EXPECT_FALSE(is_allowed(Permission::own_attempt, run, {{"run", "r1"}, {"attempt", "02"}}));
  EXPECT_FALSE(is_allowed(Permission::own_attempt, run, {{"run", "r1"}}));
  EXPECT_FALSE(is_allowed(Permission::own_attempt, run, {}));
}

TEST(Permission, ALimitedTokenStaysInItsWorkspace) {
  const Principal admin{Role::admin, "t", 1, "", 0, "mine", false};
  EXPECT_TRUE(is_allowed(Permission::write, admin, {{"workspace", "mine"}}));
  EXPECT_FALSE(is_allowed(Permission::read, admin, {{"workspace", "other"}}));
  EXPECT_TRUE(is_allowed(Permission::write, admin, {}));
  EXPECT_FALSE(is_allowed(Permission::administer, admin, {}));
  EXPECT_FALSE(is_allowed(Permission::operate, admin, {}));
}

}  // namespace
}  // namespace lathe::net
