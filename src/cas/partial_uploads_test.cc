#include "cas/partial_uploads.h"

#include <gtest/gtest.h>

#include "cas/testing.h"

namespace lathe::cas {
namespace {

class PartialUploadsTest : public ::testing::Test {
 protected:
  testing::Folder folder_;
  std::unique_ptr<DiskStore> store_ = DiskStore::open(folder_.path()).value();
  std::unique_ptr<PartialUploads> uploads_ = std::make_unique<PartialUploads>(*store_);
  const std::string bytes_ = std::string(100'000, 'a') + std::string(50'000, 'b');
  const BlobInfo blob_{base::sha256(bytes_), bytes_.size()};

  void restart() {
    uploads_ = nullptr;
    store_ = DiskStore::open(folder_.path()).value();
    uploads_ = std::make_unique<PartialUploads>(*store_);
  }
};

TEST_F(PartialUploadsTest, WhatAnEarlierProcessWroteGoesIntoANewFile) {
  struct stat began{}, blob{};
  for (bool is_inherited : {false, true}) {
    const std::string bytes = bytes_ + (is_inherited ? "1" : "0");
    const BlobInfo info{base::sha256(bytes), bytes.size()};
    ASSERT_TRUE(uploads_->open(info).value()->append(0, bytes.substr(0, 70'000)));
    ASSERT_EQ(0, ::stat(store_->layout().partial(info.digest).c_str(), &began));
    if (is_inherited) restart();
    auto upload = uploads_->open(info).value();
    ASSERT_TRUE(upload->append(70'000, bytes.substr(70'000)) && upload->complete());
    ASSERT_EQ(0, ::stat(store_->layout().blob(info.digest).c_str(), &blob));
    EXPECT_EQ(is_inherited, blob.st_ino != began.st_ino) << "its last sync may have failed, which is told only once";
    EXPECT_EQ(0444u, blob.st_mode & 0777u);
    EXPECT_EQ(store_->read(info.digest, 1 << 20).value(), bytes);
  }
}

TEST_F(PartialUploadsTest, GoesOnAfterARestartWhereItStopped) {
  {
    auto upload = uploads_->open(blob_).value();
    ASSERT_TRUE(upload->append(0, bytes_.substr(0, 70'000)));
    ASSERT_TRUE(upload->checkpoint());
  }
  restart();
  EXPECT_EQ(uploads_->length(blob_.digest), 70'000u);
  EXPECT_FALSE(store_->find(blob_.digest));
  auto upload = uploads_->open(blob_).value();
  ASSERT_TRUE(upload->append(70'000, bytes_.substr(70'000)));
  ASSERT_TRUE(upload->is_complete());
  EXPECT_EQ(upload->complete().value().digest, blob_.digest);
  EXPECT_EQ(store_->read(blob_.digest, 1 << 20).value(), bytes_);
  EXPECT_EQ(uploads_->length(blob_.digest), 0u);
}

TEST_F(PartialUploadsTest, AnotherOffsetIsAConflictThatNamesTheField) {
  auto upload = uploads_->open(blob_).value();
  ASSERT_TRUE(upload->append(0, "aaa"));
  auto refused = upload->append(5, "aaa");
  EXPECT_EQ(refused.error().code(), base::Code::conflict);
  EXPECT_EQ(refused.error().field(), "offset");
  EXPECT_EQ(upload->length(), 3u);
}

TEST_F(PartialUploadsTest, MoreBytesThanAnnouncedAreRefused) {
  auto upload = uploads_->open(blob_).value();
  EXPECT_EQ(upload->append(0, bytes_ + "x").error().code(), base::Code::too_large);
}

TEST_F(PartialUploadsTest, WrongBytesAreDroppedAndTheUploadStartsAnew) {
  auto upload = uploads_->open(blob_).value();
  ASSERT_TRUE(upload->append(0, std::string(bytes_.size(), 'z')));
  EXPECT_EQ(upload->complete().error().code(), base::Code::corrupt);
  EXPECT_EQ(upload->length(), 0u);
  ASSERT_TRUE(upload->append(0, bytes_));
  EXPECT_TRUE(upload->complete());
}

TEST_F(PartialUploadsTest, OneConnectionAtATimeUploadsABlob) {
  auto upload = uploads_->open(blob_).value();
  EXPECT_EQ(uploads_->open(blob_).error().code(), base::Code::unavailable) << "so that a client tries again";
  EXPECT_TRUE(uploads_->open({base::sha256("other"), 5}));
  upload = nullptr;
  EXPECT_TRUE(uploads_->open(blob_));
}

TEST_F(PartialUploadsTest, ABlobThatArrivedByAnotherWayMeanwhileIsFine) {
  auto upload = uploads_->open(blob_).value();
  ASSERT_TRUE(upload->append(0, bytes_));
  auto batch = store_->begin_batch();
  ASSERT_TRUE(batch->put(bytes_));
  ASSERT_TRUE(batch->commit());
  EXPECT_TRUE(upload->complete());
  EXPECT_EQ(uploads_->length(blob_.digest), 0u);
}

}  // namespace
}  // namespace lathe::cas
