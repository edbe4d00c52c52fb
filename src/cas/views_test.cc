#include "cas/views.h"

#include <gtest/gtest.h>

#include "cas/testing.h"
#include "cas/tree.h"

namespace lathe::cas {
namespace {

using testing::Folder;

constexpr base::UtcTime kEnd = {INT64_MAX};

class ViewsTest : public ::testing::Test {
 protected:
  base::Digest put(std::vector<std::pair<std::string, std::string>> files) {
    auto batch = store_->begin_batch();
    Tree tree;
    for (const auto& [path, bytes] : files) {
      auto info = batch->put(bytes).value();
      tree.entries.push_back({path, info.digest, info.size, path.ends_with(".sh"), ""});
    }
    tree.entries.push_back({"zz-link", {}, 0, false, files.front().first});
    auto digest = batch->put(encode_tree(tree)).value().digest;
    EXPECT_TRUE(batch->commit());
    return digest;
  }

  Folder folder_;
  std::unique_ptr<DiskStore> store_ = DiskStore::open(folder_ / "store").value();
  Views views_ = Views::open(folder_ / "views", *store_).value();
};

TEST_F(ViewsTest, AViewIsTheStoresOwnFilesUnderTheTreesNames) {
  auto tree = put({{"a.txt", "hello"}, {"d/e/leer", ""}, {"d/ü", "hello"}, {"run.sh", "#!/bin/sh\n"}});
  auto view = views_.get(tree).value();
  EXPECT_EQ(testing::read_file(view / "a.txt"), "hello");
  EXPECT_EQ(testing::read_file(view / "d/ü"), "hello");
  EXPECT_EQ(testing::read_file(view / "zz-link"), "hello");
  EXPECT_EQ(std::filesystem::file_size(view / "d/e/leer"), 0u);
  struct stat blob{}, linked{}, script{};
  ASSERT_EQ(::stat(store_->layout().blob(base::sha256("hello")).c_str(), &blob), 0);
  ASSERT_EQ(::stat((view / "a.txt").c_str(), &linked), 0);
  ASSERT_EQ(::stat((view / "run.sh").c_str(), &script), 0);
  EXPECT_EQ(blob.st_ino, linked.st_ino) << "linked, not copied";
  EXPECT_EQ(linked.st_mode & 0777, 0444u);
  EXPECT_EQ(script.st_mode & 0777, 0555u) << "an executable cannot share the blob's rights";
  EXPECT_EQ(views_.get(tree).value(), view);
  EXPECT_EQ(views_.list().size(), 1u);
}

TEST_F(ViewsTest, ATamperedBlobMakesNoView) {
  auto tree = put({{"a", "good"}, {"b", "fine"}});
  auto blob = store_->layout().blob(base::sha256("fine"));
  ::chmod(blob.c_str(), 0644);
  testing::write_file(blob, "evil");
  store_ = DiskStore::open(folder_ / "store").value();
  views_ = Views::open(folder_ / "views", *store_).value();
  EXPECT_EQ(views_.get(tree).error().code(), base::Code::corrupt);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "views"));
}

TEST_F(ViewsTest, OnlyAViewThatWasNotUsedSinceIsRemoved) {
  auto tree = put({{"a", "1"}});
  auto view = views_.get(tree).value();
  auto used = views_.list().front().used;
  EXPECT_FALSE(views_.remove(tree, used));
  EXPECT_TRUE(views_.remove(tree, kEnd));
  EXPECT_FALSE(views_.remove(tree, kEnd));
  EXPECT_FALSE(std::filesystem::exists(view));
  EXPECT_EQ(testing::read_file(views_.get(tree).value() / "a"), "1") << "it can be had again";
}

TEST_F(ViewsTest, ALinkToABlobThatWasDamagedIsReplacedWhenTheStoreHasHealed) {
  auto tree = put({{"a", "good"}, {"b", "fine"}});
  auto view = views_.get(tree).value();
  auto blob = store_->layout().blob(base::sha256("fine"));
  ::chmod(blob.c_str(), 0644);
  testing::write_file(blob, "evil");
  ASSERT_FALSE(store_->verify(base::sha256("fine"))) << "moved aside";
  EXPECT_FALSE(views_.get(tree)) << "not as long as the store lacks it";
  put({{"b", "fine"}});
  EXPECT_EQ(views_.get(tree).value(), view);
  EXPECT_EQ(testing::read_file(view / "b"), "fine");
  EXPECT_EQ(testing::read_file(view / "a"), "good");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "views"), {}), 1) << "nothing else is left";
}

TEST_F(ViewsTest, WhatAKilledProcessLeftIsRemovedAndBytesOutliveTheirBlob) {
  auto tree = put({{"a", "1"}});
  auto view = views_.get(tree).value();
  testing::write_file(folder_ / "views/new.7/half", "x");
  ASSERT_TRUE(store_->remove_if_unleased(base::sha256("1"), kEnd).value());
  views_ = Views::open(folder_ / "views", *store_).value();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "views/new.7"));
  EXPECT_EQ(testing::read_file(view / "a"), "1");
}

}  // namespace
}  // namespace lathe::cas
