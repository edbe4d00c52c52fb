// Definitions, keys, credentials and logs of builds.
#include <boost/json.hpp>
#include <fstream>

#include "envs/index_environment.h"
#include "server/build_log.h"
#include "server/environment_credentials.h"
#include "server/environment_lookup.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

namespace json = boost::json;

Definition definition_of(const char* text) { return make_definition(json::parse(text).as_object()); }

TEST(Definition, IsTheSameUnderAnyNameAndOrder) {
  auto one = definition_of(R"({"name": "a", "version": "2", "python": {"x": 1, "y": 2}})");
  auto two = definition_of(R"({"python": {"y": 2, "x": 1}, "name": "b"})");
  EXPECT_EQ(one.digest, two.digest);
  EXPECT_NE(one.digest, definition_of(R"({"python": {"y": 2}})").digest);
}

TEST(Definition, AMistakeIsNamedByItsField) {
  try {
    read_definition(definition_of(R"({"python": {"condaDependencies": {"dependencies": [7]}}})"));
    FAIL() << "it was taken";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Code::invalid);
    EXPECT_TRUE(error.field().starts_with("environment.definition.python")) << error.field();
  }
}

TEST(Definition, DependsOnTheSourceOnlyWhereItNamesFilesOfIt) {
  auto names = [](const char* pip) {
    auto text = fmt::format(R"({{"python": {{"condaDependencies": {{"dependencies": [{{"pip": ["{}"]}}]}}}}}})", pip);
    return names_files(read_definition(definition_of(text.c_str())));
  };
  EXPECT_FALSE(names("numpy==1.18.5"));
  EXPECT_FALSE(names("git+https://host.example/a/b.git@0123456789012345678901234567890123456789"));
  EXPECT_TRUE(names("./wheels/own-1.0-py3-none-any.whl"));
  EXPECT_TRUE(names("-r requirements.txt"));
  auto digest = base::sha256("d");
  EXPECT_EQ(build_key(digest, std::nullopt), digest);
  EXPECT_NE(build_key(digest, base::sha256("s")), build_key(digest, base::sha256("t")));
}

TEST(Credentials, BelongToTheHostOfAnIndex) {
  EXPECT_EQ(envs::credential_name("https://pypi.example.org:8080/simple"), "pip-index-pypi.example.org");
  EXPECT_EQ(envs::credential_name("https://PyPI.example.org"), "pip-index-pypi.example.org");
  EXPECT_EQ(envs::credential_name("file:///srv/index"), "");
  EXPECT_EQ(envs::credential_name("nonsense"), "");
}

TEST(BuildLog, GrowsByLinesIsReadFromAnyPlaceAndGoesOnAfterARestart) {
  TempFolder folder;
  rt::Loop home;
  auto file = folder / "1.log";
  {
    auto log = std::make_shared<BuildLog>(file, home);
    log->line("one");
    log->line("two");
    EXPECT_EQ(log->size(), 8u);
    EXPECT_EQ(log->read(4, 100), "two\n");
    EXPECT_EQ(log->last_line(), "two");
  }
  auto again = std::make_shared<BuildLog>(file, home);
  again->line("three");
  EXPECT_EQ(again->read(0, 100), "one\ntwo\nthree\n");
  auto store = base::value_or_throw(cas::DiskStore::open(folder / "store"));
  auto blob = again->seal(*store);
  EXPECT_EQ(store->read(blob.digest, 100).value(), "one\ntwo\nthree\n");
  EXPECT_FALSE(std::filesystem::exists(file)) << "a later build must not write into the blob";
}

}  // namespace
}  // namespace lathe::server
