#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cas/gc.h"
#include "cas/snapshot.h"
#include "cas/staging_area.h"
#include "cas/staging_folders.h"
#include "cas/staging_writer.h"
#include "cas/testing.h"

namespace lathe::cas {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::write_file;

constexpr std::size_t kLargeBytes = 600'000;  // more than is read in one piece

class StagingTest : public ::testing::Test {
 protected:
  Folder folder_, source_;
  std::unique_ptr<DiskStore> store_ = DiskStore::open(folder_.path()).value();
  StagingArea area_{*store_};
  StagingPlace place_ = area_.open().value();

  std::unique_ptr<StagingWriter> writer() { return StagingWriter::open(place_.path).value(); }
  BlobInfo take(StagingWriter& writer, const std::string& bytes) {
    write_file(source_ / "file", bytes);
    sys::File file(::open((source_ / "file").c_str(), O_RDONLY));
    return {writer.take(file.fd(), bytes.size()).value(), bytes.size()};
  }
  base::Error refusal(const BlobInfo& blob) {
    auto stored = area_.commit(place_.id, {blob});
    EXPECT_FALSE(stored);
    EXPECT_FALSE(store_->find(blob.digest));
    return stored ? base::Error(base::Code::internal, "not refused") : stored.error();
  }
  fs::path staged(const BlobInfo& blob) const { return fs::path(place_.path) / blob.digest.hex(); }
};

TEST_F(StagingTest, WhatIsCopiedInAndCommittedIsABlob) {
  auto mine = writer();
  const std::string large(kLargeBytes, 'x');
  for (const std::string& bytes : {std::string(), std::string("small"), large}) {
    auto blob = take(*mine, bytes);
    EXPECT_EQ(blob.digest, base::sha256(bytes));
    EXPECT_TRUE(mine->holds(blob.digest));
    EXPECT_FALSE(store_->find(blob.digest)) << "not before it is committed";
    EXPECT_EQ(area_.commit(place_.id, {blob}).value().bytes, bytes.size());
    EXPECT_EQ(store_->read(blob.digest, 1 << 26).value(), bytes);
  }
}

TEST_F(StagingTest, TheSameBytesAreCopiedOnce) {
  auto mine = writer();
  for (const std::string& bytes : {std::string("twice"), std::string(kLargeBytes, 'y')}) {
    take(*mine, bytes);
    take(*mine, bytes);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.path), {}), 2);
}

TEST_F(StagingTest, ACommitMayBeRepeatedAndMayNameWhatTheStoreHolds) {
  auto mine = writer();
  auto blob = take(*mine, "bytes");
  EXPECT_TRUE(area_.commit(place_.id, {blob}));
  EXPECT_EQ(area_.commit(place_.id, {blob}).value().blobs, 0u) << "its answer was lost";
  place_ = area_.open().value();
  auto second = writer();
  take(*second, "bytes");
  EXPECT_TRUE(area_.commit(place_.id, {blob}));
  EXPECT_EQ(store_->stats().value().blobs, 1u);
}

TEST_F(StagingTest, OddFilesAreRefused) {
  auto mine = writer();
  auto blob = take(*mine, "bytes");
  EXPECT_EQ(refusal({blob.digest, 4}).code(), base::Code::invalid);
  fs::permissions(staged(blob), fs::perms::owner_write, fs::perm_options::add);
  EXPECT_EQ(refusal(blob).code(), base::Code::invalid);
  fs::permissions(staged(blob), fs::perms::owner_write, fs::perm_options::remove);
  fs::create_hard_link(staged(blob), source_ / "second name");
  EXPECT_EQ(refusal(blob).code(), base::Code::invalid);
  fs::rename(source_ / "second name", source_ / "elsewhere");
  fs::remove(staged(blob));
  fs::create_symlink(source_ / "elsewhere", staged(blob));
  EXPECT_EQ(refusal(blob).code(), base::Code::invalid);
  fs::remove(staged(blob));
  EXPECT_EQ(refusal(blob).code(), base::Code::not_found);
  fs::create_directory(staged(blob));
  EXPECT_EQ(refusal(blob).code(), base::Code::invalid);
}

TEST_F(StagingTest, AForeignFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  auto mine = writer();
  auto blob = take(*mine, "bytes");
  ASSERT_EQ(::chown(staged(blob).c_str(), 4711, 4711), 0);
  EXPECT_EQ(refusal(blob).code(), base::Code::invalid);
}

TEST_F(StagingTest, AnUnknownFolderIsNotFound) {
  for (const char* id : {"", ".", "..", "../blobs", "00112233445566778899aabbccddeeff"})
    EXPECT_EQ(area_.commit(id, {}).error().code(), base::Code::not_found) << id;
}

TEST_F(StagingTest, AWrongDigestIsCaughtWhenTheBlobIsFirstRead) {
  auto mine = writer();
  auto blob = take(*mine, "bytes");
  const BlobInfo lie{base::sha256("other"), 5};
  fs::rename(staged(blob), staged(lie));
  ASSERT_TRUE(area_.commit(place_.id, {lie}));
  EXPECT_EQ(store_->open(lie.digest).error().code(), base::Code::corrupt);
  EXPECT_FALSE(store_->find(lie.digest)) << "moved aside";
}

TEST_F(StagingTest, TheWriterTakesItsFolderWithIt) {
  auto mine = writer();
  take(*mine, "never committed");
  mine.reset();
  EXPECT_FALSE(fs::exists(place_.path));
  EXPECT_EQ(StagingWriter::open(place_.path).error().code(), base::Code::not_found);
}

TEST_F(StagingTest, AnAbandonedFolderIsRemovedAndOneInUseIsNot) {
  auto used = writer();
  auto abandoned = area_.open().value(), fresh = area_.open().value();
  testing::write_file(fs::path(abandoned.path) / "0", "bytes of a killed client");
  EXPECT_EQ(store_->stats().value().staged_bytes, 24u);
  for (const auto& place : {place_, abandoned}) testing::set_modified(place.path, 1'500'000'000);
  area_.open().value();
  EXPECT_TRUE(fs::exists(place_.path)) << "its client holds the lock";
  EXPECT_FALSE(fs::exists(abandoned.path));
  EXPECT_TRUE(fs::exists(fresh.path)) << "its client may be on the way";
  EXPECT_EQ(store_->stats().value().staged_bytes, 0u);
}

TEST_F(StagingTest, ACollectionRemovesAbandonedFolders) {
  testing::set_modified(place_.path, 1'500'000'000);
  auto nothing = [](const auto&) -> base::Result<void> { return {}; };
  ASSERT_TRUE(collect_garbage(*store_, nothing, {.expired_before = {0}, .dry_run = true}));
  EXPECT_TRUE(fs::exists(place_.path));
  ASSERT_TRUE(collect_garbage(*store_, nothing, {.expired_before = {0}}));
  EXPECT_FALSE(fs::exists(place_.path));
}

TEST_F(StagingTest, OpeningTheStoreRemovesEveryFolder) {
  auto mine = writer();
  take(*mine, "bytes");
  store_ = DiskStore::open(folder_.path()).value();
  EXPECT_FALSE(fs::exists(place_.path));
  EXPECT_EQ(StagingArea(*store_).commit(place_.id, {}).error().code(), base::Code::not_found);
}

TEST_F(StagingTest, AFileThatBecomesShorterIsCorruptAndLeavesNothing) {
  auto mine = writer();
  for (std::uint64_t size : {std::uint64_t{100}, std::uint64_t{kLargeBytes}}) {
    write_file(source_ / "file", "short");
    sys::File file(::open((source_ / "file").c_str(), O_RDONLY));
    EXPECT_EQ(mine->take(file.fd(), size).error().code(), base::Code::corrupt);
  }
  EXPECT_TRUE(fs::is_empty(place_.path));
}

TEST_F(StagingTest, ASnapshotIsCopiedWhileItIsHashed) {
  auto mine = writer();
  write_file(source_ / "a.txt", "a");
  write_file(source_ / "b/c.txt", "c");
  std::uint64_t files = 0, bytes = 0;
  SnapshotOptions options;
  options.choose_digester = [&](std::uint64_t count, std::uint64_t size) -> FileDigester {
    files = count, bytes = size;
    return [&](int fd, std::uint64_t length) { return mine->take(fd, length); };
  };
  auto snapshot = Snapshot::take(source_.path(), options).value();
  EXPECT_EQ(files, 2u);
  EXPECT_EQ(bytes, 2u);
  for (const auto& entry : snapshot.tree().entries) EXPECT_TRUE(mine->holds(entry.digest));
}

}  // namespace
}  // namespace lathe::cas
