#include "envs/source_check.h"

#include <gtest/gtest.h>

namespace lathe::envs {
namespace {

Spec spec_of(const std::string& pip) {
  return base::value_or_throw(parse_definition(
      R"({"python": {"condaDependencies": {)"
      R"("channels": ["conda-forge", "https://conda.example.org/x", "/srv/channel"], )"
      R"("dependencies": [{"pip": [")" + pip + R"("]}]}}})"));
}

std::vector<std::string> urls(const std::string& pip) {
  std::vector<std::string> out;
  for (const auto& one : named_urls(spec_of(pip)))
    if (one.field.ends_with(".pip")) out.push_back(one.url);
  return out;
}

using Urls = std::vector<std::string>;

TEST(Sources, EveryUrlOfALineIsSeen) {
  EXPECT_EQ(urls("--extra-index-url http://127.0.0.1:1/latest"), (Urls{"http://127.0.0.1:1/latest"}));
  EXPECT_EQ(urls("--index-url=https://a/simple"), (Urls{"https://a/simple"}));
  EXPECT_EQ(urls("--find-links file:///etc"), (Urls{"file:///etc"}));
  EXPECT_EQ(urls("x @ http://10.0.0.1/x-1-py3-none-any.whl ; python_version > '3'"),
            (Urls{"http://10.0.0.1/x-1-py3-none-any.whl"}));
  EXPECT_EQ(urls("git+ssh://git@host/r.git@main"), (Urls{"git+ssh://git@host/r.git@main"}));
  EXPECT_EQ(urls("x @ git+https://host/r@c#egg=x"), (Urls{"git+https://host/r@c#egg=x"}));
  EXPECT_EQ(urls("numpy==1.18.5"), Urls{});
}

TEST(Sources, ChannelsAreSeen) {
  Urls found;
  for (const auto& one : named_urls(spec_of("numpy")))
    if (one.field == "python.condaDependencies.channels") found.push_back(one.url);
  EXPECT_EQ(found, (Urls{"https://conda.example.org/x", "file:///srv/channel"}));
}

TEST(Sources, ARefusalNamesTheField) {
  auto refuse = [](std::string_view url) -> base::Result<void> {
    if (url.starts_with("https://conda")) return {};
    return base::fail(base::Error(base::Code::forbidden, std::string(url)).hint("no"));
  };
  auto checked = check_sources(spec_of("x @ file:///etc/x.whl"), refuse);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().field(), "python.condaDependencies.dependencies.pip");
  EXPECT_TRUE(check_sources(spec_of("x @ file:///etc/x.whl"), {}).has_value()) << "nobody asks";
}

}  // namespace
}  // namespace lathe::envs
