#include "envs/pylock.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "envs/toml.h"

namespace lathe::envs {
namespace {

const std::string kHash(64, 'a');

TEST(Toml, ReadsWhatToolsWrite) {
  auto read = parse_toml(
      "# top\na = \"x \\\"y\\\"\"  # why\n\n[[p]]\nn = 1\nl = [\n  { u = 'q' , t = 2020-01-02T03:04:05Z },\n]\n"
      "[[p]]\nn = 2\nl = []\n[tool]\nb = true\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(
      R"({"a":"x \"y\"","p":[{"n":"1","l":[{"u":"q","t":"2020-01-02T03:04:05Z"}]},{"n":"2","l":[]}],"tool":{"b":"true"}})",
      boost::json::serialize(*read));
}

TEST(Toml, RefusesTheRestInsteadOfGuessing) {
  for (const char* text : {"a", "a = ", "a = \"x", "a = [1", "a.b = 1", "a = {b = 1", "[x", "a = \"\\u0041\""})
    EXPECT_FALSE(parse_toml(text)) << text;
  EXPECT_FALSE(parse_toml("a = " + std::string(1000, '[')));
}

TEST(Pylock, KnowsFilesHashesAndUploadTimes) {
  auto packages = parse_pylock(
      "lock-version = \"1.0\"\n[[packages]]\nname = \"torch\"\nversion = \"1.0+cpu\"\n"
      "sdist = { url = \"https://x/t.tar.gz\", upload-time = 2019-01-01T00:00:00Z, hashes = { sha256 = \"" +
      kHash +
      "\" } }\n"
      "wheels = [\n  { url = \"https://x/torch-1.0%2Bcpu-any.whl\", upload-time = 2020-02-01T00:00:00Z, hashes = { "
      "sha256 = \"" +
      kHash +
      "\" } },\n"
      "  { url = \"https://x/b.whl\", upload-time = 2020-01-01T00:00:00Z, hashes = { sha256 = \"" +
      kHash +
      "\" } },\n]\n"
      "[[packages]]\nname = \"g\"\nversion = \"1\"\nvcs = { type = \"git\", url = \"https://x/g\", commit-id = "
      "\"00ff\" }\n");
  ASSERT_TRUE(packages) << packages.error().text();
  ASSERT_EQ(2U, packages->size());
  const auto& torch = packages->at(0);
  EXPECT_EQ("torch-1.0+cpu-any.whl", torch.wheels.at(0).name);
  EXPECT_EQ(kHash, torch.wheels.at(0).sha256.hex());
  EXPECT_EQ("t.tar.gz", torch.sdist->name);
  EXPECT_EQ("2020-01-01T00:00:00.000000Z", base::format_utc(*torch.first_upload()))
      << "the oldest wheel, not the sdist";
  EXPECT_EQ("00ff", packages->at(1).git_commit);
  EXPECT_FALSE(packages->at(1).first_upload());
}

TEST(Pylock, WithoutHashesIsRefused) {
  auto packages =
      parse_pylock("[[packages]]\nname = \"a\"\nversion = \"1\"\nwheels = [{ url = \"https://x/a.whl\" }]\n");
  ASSERT_FALSE(packages);
  EXPECT_NE(std::string::npos, packages.error().message().find("a.whl"));
}

TEST(Pylock, OfNothingIsEmpty) { EXPECT_TRUE(parse_pylock("lock-version = \"1.0\"\n")->empty()); }

}  // namespace
}  // namespace lathe::envs
