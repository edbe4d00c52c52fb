// Datastores, datasets, models, environments and the URL cache as rows.
#include "db/artifacts.h"
#include "db/datasets.h"
#include "db/datastores.h"
#include "db/environments.h"
#include "db/models.h"
#include "db/test_support.h"
#include "db/url_cache.h"

namespace lathe::db {
namespace {

struct Registry : Rows {
  Registry() { workspaces::insert_if_absent(connection, {"ws", "s", "g", {1}}); }
};
struct Datastores : Registry {};
struct Datasets : Registry {};
struct Models : Registry {};
struct Environments : Registry {};

constexpr datastores::Place kPlace{"ws", "blobs"};

TEST_F(Datastores, AreReplacedButKeepTheirBirthday) {
  datastores::Datastore local{"ws", "images", "local", "Local", "/data", false, "{}", {7}};
  EXPECT_TRUE(datastores::insert_or_update(connection, local));
  local.writable = true;
  local.created = {9};
  EXPECT_FALSE(datastores::insert_or_update(connection, local));
  local.created = {7};
  EXPECT_EQ(datastores::find(connection, "ws", "images"), local);
  datastores::set_default(connection, "ws", "images");
  EXPECT_EQ(datastores::find_default(connection, "ws"), "images");
  EXPECT_TRUE(datastores::remove(connection, "ws", "images"));
  EXPECT_EQ(datastores::find_default(connection, "ws"), std::nullopt) << "a default that is gone";
}

TEST_F(Datastores, ListFilesLexicographicallyBelowAPrefix) {
  for (const char* path : {"b/2", "b/1", "a", "b-c", "b/ü", "c"})
    EXPECT_TRUE(datastores::put_file(connection, kPlace, {path, base::sha256(path), 1, {5}}, false));
  std::vector<std::string> paths;
  std::string cursor;
  do {
    auto page = datastores::list_files(connection, kPlace, "b/", 2, cursor);
    for (const auto& file : page.items) paths.push_back(file.path);
    cursor = page.next.value_or("");
  } while (!cursor.empty());
  EXPECT_EQ(paths, (std::vector<std::string>{"b/1", "b/2", "b/ü"}));
  EXPECT_EQ(datastores::remove_files(connection, kPlace, "b/"), 3);
  EXPECT_EQ(datastores::list_files(connection, kPlace, "", 10).items.size(), 3u);
}

TEST_F(Datastores, OverwriteOnlyWhenAsked) {
  const datastores::File first{"a", base::sha256("1"), 1, {5}}, second{"a", base::sha256("22"), 2, {6}};
  EXPECT_TRUE(datastores::put_file(connection, kPlace, first, false));
  EXPECT_FALSE(datastores::put_file(connection, kPlace, second, false));
  EXPECT_EQ(datastores::find_file(connection, kPlace, "a"), first);
  EXPECT_TRUE(datastores::put_file(connection, kPlace, second, true));
  EXPECT_EQ(datastores::find_file(connection, kPlace, "a"), second);
}

TEST_F(Datasets, KeepNumbersAfterTheirNameIsGone) {
  EXPECT_TRUE(datasets::save(connection, {"ws", "id1", "file", "{\"a\":1}", {1}, {}}));
  EXPECT_FALSE(datasets::save(connection, {"ws", "id1", "file", "{\"a\":1}", {2}, {}}));
  datasets::Version version{.workspace = "ws", .name = "mnist", .dataset = "id1", .created = {3}, .created_by = "me"};
  EXPECT_EQ(datasets::register_version(connection, version).version, 1);
  EXPECT_EQ(datasets::register_version(connection, version).version, 2);
  EXPECT_FALSE(datasets::get_version(connection, "ws", "mnist", 1).latest);
  EXPECT_TRUE(datasets::get_version(connection, "ws", "mnist").latest);
  EXPECT_EQ(datasets::list_latest(connection, "ws", 10, "").items.size(), 1u);
  EXPECT_EQ(datasets::list_versions(connection, "ws", "mnist", 10, "").items.size(), 2u);
  EXPECT_EQ(datasets::registered_as(connection, "ws", "id1"), (std::vector<std::string>{"mnist:1", "mnist:2"}));
  EXPECT_EQ(datasets::remove_name(connection, "ws", "mnist"), 2);
  EXPECT_EQ(datasets::register_version(connection, version).version, 3) << "a number means one thing for ever";
  EXPECT_EQ(code_of([&] { datasets::get_version(connection, "ws", "mnist", 1); }), base::Code::not_found);
}

models::Model make_model(const std::string& name, const std::string& id) {
  models::Model model{.workspace = "ws", .name = name, .id = id, .tree = base::sha256(id), .files = 1, .bytes = 2};
  model.tags_json = R"({"area":"digits","done":""})";
  model.created = {5};
  return model;
}

TEST_F(Models, AreFoundByTheirTagsAndNumbered) {
  models::insert(connection, make_model("a", "1"));
  auto second = models::insert(connection, make_model("a", "2"));
  EXPECT_EQ(second.version, 2);
  auto other = make_model("b", "3");
  other.tags_json = R"({"area":"faces"})";
  other.run = "run_1";
  models::insert(connection, other);
  auto count = [&](models::Filter filter) { return models::list(connection, "ws", filter, 10, "").items.size(); };
  EXPECT_EQ(count({}), 3u);
  EXPECT_EQ(count({.tag = "area=digits"}), 2u);
  EXPECT_EQ(count({.tag = "area"}), 3u);
  EXPECT_EQ(count({.tag = "area=digits", .latest = true}), 1u);
  EXPECT_EQ(count({.run = "run_1"}), 1u);
  EXPECT_EQ(count({.name = "a", .property = "x"}), 0u);
  EXPECT_EQ(models::find_by_id(connection, "ws", "2"), second);
  EXPECT_TRUE(models::remove(connection, "ws", "a", 2));
  EXPECT_EQ(models::insert(connection, make_model("a", "4")).version, 3) << "2 was another model";
  EXPECT_EQ(code_of([&] { models::get(connection, "ws", "a", 2); }), base::Code::not_found);
}

TEST_F(Environments, KeepEveryVersion) {
  environments::Environment one{.workspace = "ws", .name = "tf", .definition_json = "{}", .digest = base::sha256("1")};
  EXPECT_EQ(environments::insert(connection, one).version, 1);
  EXPECT_EQ(environments::insert(connection, one).version, 2);
  EXPECT_FALSE(environments::find(connection, "ws", "tf", 1)->latest);
  EXPECT_EQ(environments::list_latest_after(connection, "ws", "", 10).size(), 1u);
  EXPECT_EQ(environments::list_latest_after(connection, "ws", "zzz", 10).size(), 0u);
}

TEST_F(Registry, EverythingThatNamesABlobIsARoot) {
  datastores::put_file(connection, kPlace, {"a", base::sha256("file"), 1, {5}}, false);
  url_cache::put(connection, {"http://a/b", "\"1\"", "", base::sha256("url"), 3, {1}, {2}});
  datasets::save(connection, {"ws", "id1", "file", "{}", {1}, {}});
  datasets::set_content(connection, "ws", "id1", {base::sha256("dataset"), 1, 2});
  models::insert(connection, make_model("a", "model"));
  std::map<base::Digest, bool> roots;
  artifacts::visit_references(connection, [&](const base::Digest& digest, bool tree) { roots[digest] = tree; });
  EXPECT_EQ(roots, (std::map<base::Digest, bool>{{base::sha256("file"), false},
                                                 {base::sha256("url"), false},
                                                 {base::sha256("dataset"), true},
                                                 {base::sha256("model"), true}}));
}

TEST(OlderDatabase, IsVisitedWithoutTheTablesThatCameLater) {
  for (std::size_t version : {1, 5}) {
    TempFolder folder;
    Connection connection(folder / "old.db", Connection::Mode::read_write);
    migrate(connection, migrations().first(version));
    int roots = 0;
    artifacts::visit_references(connection, [&](const base::Digest&, bool) { ++roots; });
    EXPECT_EQ(roots, 0);
  }
}

}  // namespace
}  // namespace lathe::db
