#include "envs/lock.h"

#include <gtest/gtest.h>

namespace lathe::envs {
namespace {

LockContent example() {
  LockContent content;
  content.platform = "linux-x86_64";
  content.python_asked = "3.6.2";
  content.python = "3.6";
  content.packages = {
      {"tensorflow-cpu",
       "2.2.0",
       PackageSource::index,
       {{"b.whl", base::sha256("b")}, {"a.whl", base::sha256("a")}},
       {},
       {}},
      {"horovod", "0.19.5", PackageSource::built, {{"horovod-0.19.5.tar.gz", base::sha256("h")}}, {}, {}},
      {"thing", "1.0", PackageSource::git, {}, "https://example.org/thing.git", "00112233"}};
  content.conda = {
      {"zlib", "1.2", "h0", "linux-64", "conda-forge", "zlib-1.2-h0.conda", base::sha256("z"), "", 3, {"libgcc >=7"}}};
  content.sources = {"", {"https://example.org/simple"}, {}};
  content.variables = {{"EXAMPLE_ENV_VAR", "EXAMPLE_VALUE"}};
  content.sdk_version = "0.1.0";
  content.era = {"2020-07-24T16:47:31Z", "pins", "horovod 0.19.5 is of 2020-06-24"};
  content.substitutions = {{"tensorflow-gpu", "tensorflow-gpu==2.2.0", "tensorflow-cpu==2.2.0", "no GPU"}};
  return content;
}

TEST(Lock, IsReadBackAsItWasWritten) {
  Lock written = write_lock(example());
  auto read = parse_lock(written.text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(written.digest, read->digest);
  EXPECT_EQ(written.content.packages, read->content.packages);
  EXPECT_EQ(written.content.conda, read->content.conda);
  EXPECT_EQ(written.content.sources, read->content.sources);
  EXPECT_EQ(written.content.era, read->content.era);
  EXPECT_EQ(written.content.substitutions, read->content.substitutions);
  EXPECT_EQ("horovod", read->content.packages[0].name) << "packages lie by name";
}

TEST(Lock, HasTheSameDigestWhateverTheOrderOfItsPackages) {
  auto other = example();
  std::swap(other.packages[0], other.packages[2]);
  std::swap(other.packages[2].files[0], other.packages[2].files[1]);
  EXPECT_EQ(write_lock(example()).digest, write_lock(other).digest);
}

TEST(Lock, CanGetAnotherSdkWithoutBeingMadeAgain) {
  Lock before = write_lock(example()), after = with_sdk(before, "0.2.0", base::sha256("new"));
  EXPECT_NE(before.digest, after.digest);
  EXPECT_EQ(before.content.packages, after.content.packages);
  EXPECT_EQ("0.2.0", parse_lock(after.text)->content.sdk_version);
}

TEST(Lock, ThatWasTouchedIsRefused) {
  std::string text = write_lock(example()).text;
  auto changed = [&](std::string_view from, std::string_view to) {
    std::string out = text;
    out.replace(out.find(from), from.size(), to);
    return parse_lock(out);
  };
  EXPECT_TRUE(parse_lock(text));
  EXPECT_FALSE(parse_lock(text + " "));
  EXPECT_FALSE(parse_lock("{}"));
  EXPECT_FALSE(changed("\"linux", "1,\"linux"));
  EXPECT_FALSE(changed("horovod-0.19.5.tar.gz", "../horovod.tar.gz"));
  EXPECT_FALSE(changed("\"thing\"", "\"thing @ file:///etc\""));
  EXPECT_FALSE(changed("00112233", "main\\n--index-url"));
  EXPECT_EQ(base::Code::unsupported, changed("\"format\": 1", "\"format\": 2").error().code());
}

TEST(Explain, NamesPythonEraAndEveryReplacement) {
  std::string text = explain(write_lock(example()));
  for (const char* part : {"3.6 (asked: 3.6.2)", "2020-07-24: horovod 0.19.5 is of 2020-06-24",
                           "tensorflow-gpu==2.2.0 -> tensorflow-cpu==2.2.0: no GPU", "2 of them built"})
    EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
}

}  // namespace
}  // namespace lathe::envs
