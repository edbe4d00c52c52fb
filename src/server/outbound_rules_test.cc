#include "server/outbound_rules.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace lathe::server {
namespace {

std::string code_of(const base::Result<void>& result) {
  return result ? "fine" : std::string(base::code_name(result.error().code()));
}

TEST(OutboundRules, PublicPlacesMayBeNamed) {
  OutboundRules rules{SiteConfig{}};
  for (const char* url : {"https://pypi.org/simple", "git+https://github.com/a/b@main#egg=b", "http://8.8.8.8/x.whl",
                          "https://[2606:4700::1]/x.whl", "https://mirror.example.org:8443/simple"})
    EXPECT_EQ(code_of(rules.check_url(url)), "fine") << url;
}

TEST(OutboundRules, PrivateAddressesMayNotHoweverTheyAreWritten) {
  OutboundRules rules{SiteConfig{}};
  for (const char* url :
       {"http://127.0.0.1:8080/latest/meta-data", "http://localhost/", "http://a.localhost/", "http://127.1/",
        "http://2130706433/", "http://0x7f.1/", "https://169.254.169.254/", "git+http://10.0.0.1/r", "http://[::1]/",
        "http://[::ffff:10.0.0.1]/", "http://[2002:7f00:1::]/", "http://[::127.0.0.1]/", "http://[64:ff9b:1::a00:1]/"})
    EXPECT_EQ(code_of(rules.check_url(url)), "forbidden") << url;
}

TEST(OutboundRules, OtherSchemesMayNot) {
  OutboundRules rules{SiteConfig{}};
  for (const char* url : {"git+ssh://git@host/r", "ssh://host/r", "git://host/r", "ftp://host/x", "gopher://host/"})
    EXPECT_EQ(code_of(rules.check_url(url)), "invalid") << url;
}

TEST(OutboundRules, FilesOnlyBelowTheRootsOfTheSite) {
  support::TempFolder folder;
  std::filesystem::create_directories(folder / "wheels/in");
  std::filesystem::create_directory_symlink("/etc", folder / "wheels/link");
  SiteConfig site;
  site.environments.wheelhouse = folder / "wheels";
  OutboundRules rules(site);
  const std::string root = (folder / "wheels").string();
  for (const auto& url : {"file://" + root, "file://" + root + "/in/x.whl", "git+file://" + root + "/r@c"})
    EXPECT_EQ(code_of(rules.check_url(url)), "fine") << url;
  const std::vector<std::string> outside{"file:///etc",
                                         "file:/etc/passwd",
                                         "FILE:///etc",
                                         "file://" + root + "/../x",
                                         "file://" + root + "/%2e%2e/x",
                                         "file://" + root + "x/y",
                                         "file://" + root + "/link/passwd"};
  for (const auto& url : outside)
    EXPECT_EQ(code_of(rules.check_url(url)), "forbidden") << url;
}

TEST(OutboundRules, WhatTheSiteNamesIsAllowedWithItsPort) {
  SiteConfig site;
  site.environments.index = "http://user:word@10.1.2.3:8080/simple";
  site.environments.registries = {"10.1.2.3:5000"};
  OutboundRules rules(site);
  EXPECT_EQ(code_of(rules.check_url("http://10.1.2.3:8080/other")), "fine");
  EXPECT_EQ(code_of(rules.check_url("http://10.1.2.3:9090/simple")), "forbidden");
  EXPECT_EQ(code_of(rules.check_image("10.1.2.3:5000/team/image:1")), "fine");
  EXPECT_EQ(code_of(rules.check_image("10.1.2.3:5001/team/image:1")), "forbidden");
  site.private_addresses = {base::value_or_throw(net::AddressRange::parse("10.0.0.0/8"))};
  EXPECT_EQ(code_of(OutboundRules(site).check_url("http://10.1.2.3:9090/simple")), "fine");
}

TEST(OutboundRules, ImagesOfPublicRegistriesAndOfThisMachineAreFine) {
  OutboundRules rules{SiteConfig{}};
  for (const char* image : {"ubuntu:22.04", "library/ubuntu", "quay.io/a/b@sha256:00", "localhost/mine:latest"})
    EXPECT_EQ(code_of(rules.check_image(image)), "fine") << image;
  EXPECT_EQ(code_of(rules.check_image("127.0.0.1:5000/x")), "forbidden");
  EXPECT_EQ(code_of(rules.check_image("localhost:5000/x")), "forbidden");
}

TEST(OutboundRules, DockerfilesAreReadForWhatTheEngineFetches) {
  OutboundRules rules{SiteConfig{}};
  auto check = [&](const std::string& text) {
    envs::Spec spec;
    spec.image.dockerfile = text;
    return code_of(rules.check(spec));
  };
  EXPECT_EQ(check("FROM ubuntu:22.04 AS a\nRUN true\nFROM a\n"), "fine");
  EXPECT_EQ(check("from --platform=linux/amd64 127.0.0.1:5000/x\n"), "forbidden");
  EXPECT_EQ(check("FROM ubuntu\nADD --chown=1 http://169.254.169.254/latest /x\n"), "forbidden");
}

TEST(OutboundRules, ADefinitionIsRefusedWithTheFieldAndAHint) {
  OutboundRules rules{SiteConfig{}};
  auto spec = base::value_or_throw(envs::parse_definition(
      R"({"python": {"condaDependencies": {"dependencies": [{"pip": ["--extra-index-url http://127.0.0.1:1/"]}]}}})"));
  auto checked = rules.check(spec);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().field(), "python.condaDependencies.dependencies.pip");
  EXPECT_NE(checked.error().hint().find("fetch: {private:"), std::string::npos);
}

}  // namespace
}  // namespace lathe::server
