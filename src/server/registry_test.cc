// Small parts of datastores, datasets, models and environments.
#include <boost/json.hpp>

#include "server/curated_environments.h"
#include "server/dataset_files.h"
#include "server/registry_tools.h"
#include "server/site_config.h"
#include "server/test_support.h"
#include "server/url_partial.h"

namespace lathe::server {
namespace {

namespace json = boost::json;

TEST(CanonicalJson, DoesNotDependOnTheOrderOfKeys) {
  EXPECT_EQ(canonical_json(json::parse(R"({"b": [{"y": 1, "x": 2}], "a": null})")),
            canonical_json(json::parse(R"({"a": null, "b": [{"x": 2, "y": 1}]})")));
  EXPECT_NE(canonical_json(json::parse("[1,2]")), canonical_json(json::parse("[2,1]")));
}

TEST(Uuid, HasItsForm) {
  auto id = uuid_of("anything");
  EXPECT_NO_THROW(check_uuid("id", id));
  EXPECT_EQ(id[14], '8');
  EXPECT_EQ(uuid_of("anything"), id);
  for (const char* text : {"", "x", "6F1B1C2E-0D5A-4C3E-9A54-2F7BE2C9D001", "6f1b1c2e-0d5a-4c3e-9a54-2f7be2c9d00"})
    EXPECT_THROW(check_uuid("id", text), base::Error) << text;
}

TEST(UrlPaths, AreFileNames) {
  EXPECT_EQ(url_file_path("http://yann.lecun.com/exdb/mnist/a.gz"), "/http/yann.lecun.com/exdb/mnist/a.gz");
  EXPECT_EQ(url_file_path("https://h:8443//a/./b?x=1/2"), "/https/h:8443/a/b?x=1_2");
  EXPECT_THROW(url_file_path("http://h/a/../b"), base::Error);
}

TEST(CuratedEnvironments, AllReadAndAllReserved) {
  const auto& all = curated_environments();
  EXPECT_EQ(all.size(), 17u);
  for (const auto& [name, definition] : all) {
    EXPECT_TRUE(is_reserved_environment(name)) << name;
    EXPECT_EQ(definition.at("name").as_string(), name);
  }
  for (const auto& file : curated_files())
    EXPECT_TRUE(all.contains(file.name.substr(0, file.name.size() - 4))) << file.name;
  EXPECT_FALSE(is_reserved_environment("my-AzureML"));
}

TEST(SiteConfig, ReadsRootsAndPrivateRanges) {
  auto config = parse_site_config("datastores: {roots: [/data/, /mnt/x]}\nfetch: {private: [10.0.0.0/8]}");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->datastore_roots, (std::vector<std::filesystem::path>{"/data", "/mnt/x"}));
  EXPECT_EQ(config->private_addresses.size(), 1u);
  EXPECT_FALSE(parse_site_config("datastores: {roots: [data]}"));
  EXPECT_FALSE(parse_site_config("fetch: {private: [everything]}"));
}

struct Partials : ::testing::Test {
  TempFolder folder;
  std::unique_ptr<cas::DiskStore> store = base::value_or_throw(cas::DiskStore::open(folder.path()));
  UrlPartial open() { return base::value_or_throw(UrlPartial::open(*store, "http://a/b")); }
  static net::FetchHead head(std::string etag, std::uint64_t offset = 0) {
    net::FetchHead result;
    result.etag = std::move(etag);
    result.offset = offset;
    return result;
  }
};

TEST_F(Partials, OutliveTheirProcessWithTheirValidator) {
  {
    auto partial = open();
    EXPECT_FALSE(partial.can_resume());
    ASSERT_TRUE(partial.begin(head("\"one\"")));
    ASSERT_TRUE(partial.append("half"));
  }
  auto partial = open();
  EXPECT_TRUE(partial.can_resume());
  EXPECT_EQ(partial.validator(), "\"one\"");
  EXPECT_EQ(partial.size(), 4u);
  ASSERT_TRUE(partial.begin(head("\"one\"", 4)));
  ASSERT_TRUE(partial.append(" whole"));
  auto blob = partial.commit();
  ASSERT_TRUE(blob) << blob.error().text();
  EXPECT_EQ(blob->digest, base::sha256("half whole"));
  EXPECT_TRUE(store->find(blob->digest));
  EXPECT_EQ(open().size(), 0u) << "what is whole is no partial any more";
}

TEST_F(Partials, AreNotResumedByAWeakValidator) {
  auto partial = open();
  ASSERT_TRUE(partial.begin(head("W/\"weak\"")));
  ASSERT_TRUE(partial.append("half"));
  EXPECT_FALSE(open().can_resume());
}

}  // namespace
}  // namespace lathe::server
