#include "cas/disk_store.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <set>
#include <thread>

#include "cas/folder_listing.h"
#include "cas/testing.h"
#include "cas/verify.h"
#include "sys/file_system_faulty.h"

namespace lathe::cas {
namespace {

using testing::Folder;
using testing::read_file;
using testing::write_file;

base::Digest put_one(DiskStore& store, std::string_view bytes) {
  auto batch = store.begin_batch();
  auto info = batch->put(bytes).value();
  EXPECT_TRUE(batch->commit());
  return info.digest;
}

class DiskStoreTest : public ::testing::Test {
 protected:
  Folder folder_;
  std::unique_ptr<DiskStore> store_ = DiskStore::open(folder_.path()).value();

  std::filesystem::path blob(const base::Digest& digest) const { return store_->layout().blob(digest); }
  std::size_t leftovers() const { return list_folder(store_->layout().temporary()).value().size(); }
};

TEST_F(DiskStoreTest, GivesBackWhatWasCommitted) {
  auto digest = put_one(*store_, "hello");
  EXPECT_EQ(store_->find(digest), 5u);
  EXPECT_EQ(store_->read(digest, 100).value(), "hello");
  auto file = store_->open(digest).value();
  EXPECT_EQ(file.size(), 5u);
  EXPECT_EQ(std::filesystem::status(blob(digest)).permissions(), std::filesystem::perms(0444));
  EXPECT_EQ(leftovers(), 0u);
}

TEST_F(DiskStoreTest, NothingIsVisibleBeforeCommitNorLeftWithoutIt) {
  base::Digest digest;
  {
    auto batch = store_->begin_batch();
    digest = batch->put("hello").value().digest;
    EXPECT_FALSE(store_->find(digest));
    EXPECT_EQ(store_->open(digest).error().code(), base::Code::not_found);
  }
  EXPECT_FALSE(store_->find(digest));
  EXPECT_EQ(leftovers(), 0u);
}

TEST_F(DiskStoreTest, AStreamLargerThanTheBufferIsTheSameBlob) {
  std::string large(3'000'001, 'q');
  auto batch = store_->begin_batch();
  ASSERT_TRUE(batch->begin(base::sha256(large)));
  for (std::size_t i = 0; i < large.size(); i += 70'000)
    ASSERT_TRUE(batch->write(std::string_view(large).substr(i, 70'000)));
  EXPECT_EQ(batch->finish().value().size, large.size());
  ASSERT_TRUE(batch->commit());
  EXPECT_EQ(store_->read(base::sha256(large), 1 << 22).value(), large);
}

TEST_F(DiskStoreTest, BytesThatDoNotMatchTheirNameAreRefused) {
  auto batch = store_->begin_batch();
  ASSERT_TRUE(batch->begin(base::sha256("right")));
  ASSERT_TRUE(batch->write("wrong"));
  EXPECT_EQ(batch->finish().error().code(), base::Code::corrupt);
  EXPECT_FALSE(store_->find(base::sha256("right")));
}

TEST_F(DiskStoreTest, AKnownBlobIsNotWrittenAgainButStillChecked) {
  auto digest = put_one(*store_, "hello");
  auto batch = store_->begin_batch();
  ASSERT_TRUE(batch->put("hello"));
  EXPECT_EQ(leftovers(), 0u);
  ASSERT_TRUE(batch->begin(digest));
  ASSERT_TRUE(batch->write("other"));
  EXPECT_EQ(batch->finish().error().code(), base::Code::corrupt);
}

TEST_F(DiskStoreTest, TwoBatchesMayBringTheSameBlob) {
  auto first = store_->begin_batch(), second = store_->begin_batch();
  auto digest = first->put("same").value().digest;
  ASSERT_TRUE(second->put("same"));
  ASSERT_TRUE(second->put("same"));
  ASSERT_TRUE(first->commit());
  ASSERT_TRUE(second->commit());
  EXPECT_EQ(store_->read(digest, 10).value(), "same");
  EXPECT_EQ(leftovers(), 0u);
}

TEST_F(DiskStoreTest, AdoptsAFinishedFileByLinkingIt) {
  Folder other;
  write_file(other / "segment", "log lines");
  testing::set_modified(other / "segment", 1000);
  sys::File file(::open((other / "segment").c_str(), O_RDONLY));
  auto batch = store_->begin_batch();
  auto info = batch->adopt(file.fd(), other / "segment").value();
  ASSERT_TRUE(batch->commit());
  EXPECT_EQ(store_->read(info.digest, 100).value(), "log lines");
  EXPECT_TRUE(std::filesystem::equivalent(blob(info.digest), other / "segment"));
  EXPECT_GT(testing::modified(blob(info.digest)), 1'000'000) << "its lease begins now, not when the file was written";
}

TEST_F(DiskStoreTest, AdoptsByCopyingWhatMayStillBeWrittenTo) {
  Folder other;
  write_file(other / "segment", "log lines");
  sys::File file(::open((other / "segment").c_str(), O_RDONLY));
  auto batch = store_->begin_batch();
  auto info = batch->adopt(file.fd(), other / "segment", Adopt::copy).value();
  ASSERT_TRUE(batch->commit());
  write_file(other / "segment", "LOG LINES");
  EXPECT_EQ(store_->read(info.digest, 100).value(), "log lines");
}

TEST_F(DiskStoreTest, AdoptsByCopyingWhereLinkingIsImpossible) {
  sys::File file(::memfd_create("elsewhere", MFD_CLOEXEC));  // on a file system of its own
  ASSERT_EQ(::write(file.fd(), "elsewhere", 9), 9);
  auto batch = store_->begin_batch();
  auto info = batch->adopt(file.fd(), "elsewhere").value();
  ASSERT_TRUE(batch->commit());
  EXPECT_EQ(store_->read(info.digest, 100).value(), "elsewhere");
}

TEST_F(DiskStoreTest, ADamagedBlobIsNeverServedAndCanBeHealed) {
  auto digest = put_one(*store_, "hello");
  store_ = nullptr;
  std::filesystem::permissions(StoreLayout(folder_.path()).blob(digest), std::filesystem::perms(0644));
  write_file(StoreLayout(folder_.path()).blob(digest), "hellO");
  store_ = DiskStore::open(folder_.path()).value();
  EXPECT_EQ(store_->open(digest).error().code(), base::Code::corrupt);
  EXPECT_FALSE(store_->find(digest));
  EXPECT_EQ(read_file(store_->layout().damaged(digest)), "hellO");
  EXPECT_EQ(store_->stats().value().damaged, 1u);
  put_one(*store_, "hello");
  EXPECT_EQ(store_->read(digest, 10).value(), "hello");
}

TEST_F(DiskStoreTest, AChangeAfterTheFirstOpenIsSeenAtTheNext) {
  auto digest = put_one(*store_, "hello");
  ASSERT_TRUE(store_->open(digest));
  std::filesystem::permissions(blob(digest), std::filesystem::perms(0644));
  write_file(blob(digest), "hellO");
  testing::set_modified(blob(digest), 2'000'000'000);
  EXPECT_EQ(store_->open(digest).error().code(), base::Code::corrupt);
}

TEST_F(DiskStoreTest, ReadHasALimitAndChecksEveryTime) {
  auto digest = put_one(*store_, "hello");
  EXPECT_EQ(store_->read(digest, 4).error().code(), base::Code::too_large);
  std::filesystem::permissions(blob(digest), std::filesystem::perms(0644));
  write_file(blob(digest), "hellO");
  EXPECT_EQ(store_->read(digest, 10).error().code(), base::Code::corrupt);
  EXPECT_EQ(store_->read(digest, 10).error().code(), base::Code::not_found);
}

TEST_F(DiskStoreTest, FindRenewsALeaseLongBeforeTheShortestOneIsOver) {
  auto digest = put_one(*store_, "hello");
  auto now = testing::modified(blob(digest));
  testing::set_modified(blob(digest), now - 300);
  ASSERT_TRUE(store_->find(digest));
  EXPECT_EQ(testing::modified(blob(digest)), now - 300) << "young enough: no write";
  testing::set_modified(blob(digest), now - 1800);
  ASSERT_TRUE(store_->find(digest));
  EXPECT_GE(testing::modified(blob(digest)), now);
}

TEST_F(DiskStoreTest, WhatAKilledProcessStagedIsSweptAtOpen) {
  write_file(folder_ / "tmp/17", "half");
  store_ = DiskStore::open(folder_.path()).value();
  EXPECT_EQ(leftovers(), 0u);
}

TEST_F(DiskStoreTest, VerifyListsExactlyTheDamagedBlobs) {
  auto good = put_one(*store_, "good");
  auto bad = put_one(*store_, "bad");
  ASSERT_TRUE(store_->open(bad));
  std::filesystem::permissions(blob(bad), std::filesystem::perms(0644));
  write_file(blob(bad), "BAD");
  auto report = verify_store(*store_).value();
  EXPECT_EQ(report.checked, 2u);
  EXPECT_EQ(report.damaged, std::vector{bad});
  EXPECT_TRUE(store_->find(good));
  EXPECT_TRUE(verify_store(*store_).value().damaged.empty());
}

TEST_F(DiskStoreTest, VerifyingStopsInTheMiddleOfALargeBlobAndAccusesNone) {
  auto digest = put_one(*store_, std::string(4 << 20, 'v'));
  int asked = 0;
  auto report = verify_store(*store_, [&] { return ++asked < 4; });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), base::Code::cancelled);
  EXPECT_EQ(asked, 4) << "not read to its end";
  EXPECT_TRUE(store_->find(digest));
}

TEST_F(DiskStoreTest, AProcessThatEndsHashesNothingMore) {
  auto digest = put_one(*store_, std::string(9 << 20, 'v'));
  store_ = DiskStore::open(folder_.path()).value();
  EXPECT_FALSE(store_->opens_quickly(digest));
  store_->stop_hashing();
  auto opened = store_->open(digest);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), base::Code::cancelled);
  store_ = DiskStore::open(folder_.path()).value();
  ASSERT_TRUE(store_->open(digest));
  EXPECT_TRUE(store_->opens_quickly(digest)) << "once is enough";
}

TEST_F(DiskStoreTest, TheChunkIndexOfALargeBlobIsKeptBesideItAndFindsTheGoodPrefix) {
  std::string large(ChunkIndex::kLargeBlob + 5, 'c');
  large[20 << 20] = 'x';
  auto digest = put_one(*store_, large);
  auto index = store_->chunk_index(digest).value();
  EXPECT_EQ(index.chunks.size(), 9u);
  EXPECT_TRUE(std::filesystem::exists(store_->layout().chunks(digest)));
  EXPECT_EQ(store_->chunk_index(digest).value(), index);
  EXPECT_EQ(store_->stats().value().blobs, 1u) << "a side file is no blob";
  Folder other;
  std::string broken = large.substr(0, 30 << 20);
  broken[21 << 20] = '?';
  write_file(other / "download", broken);
  sys::File file(::open((other / "download").c_str(), O_RDONLY));
  EXPECT_EQ(index.verified_prefix(file.fd(), broken.size()).value(), 16u << 20);
  std::filesystem::permissions(store_->layout().chunks(digest), std::filesystem::perms(0644));
  write_file(store_->layout().chunks(digest), "torn");
  EXPECT_EQ(store_->chunk_index(digest).value(), index) << "a damaged index is made anew";
}

TEST_F(DiskStoreTest, AnIndexThatCannotBeKeptIsStillTold) {
  Folder folder;
  sys::FaultyFileSystem files(folder.path());
  auto store = DiskStore::open(folder.path(), files).value();
  auto batch = store->begin_batch();
  auto digest = batch->put(std::string(ChunkIndex::kLargeBlob, 'x')).value().digest;
  ASSERT_TRUE(batch->commit());
  for (std::size_t call : {1, 2, 3}) {
    files.fail_call(call, ENOSPC);
    EXPECT_EQ(store->chunk_index(digest).value().chunks.size(), 8u);
    EXPECT_FALSE(std::filesystem::exists(store->layout().chunks(digest)));
    EXPECT_TRUE(std::filesystem::is_empty(store->layout().temporary()));
  }
}

// The kernel's file system, but its first sync waits until the test opens the gate.
class GatedFiles final : public sys::FileSystem {
 public:
  std::promise<void> gate;

  base::Result<void> sync_file(const std::string& path) override {
    std::call_once(once_, [this] { gate.get_future().wait(); });
    return real_.sync_file(path);
  }
  base::Result<sys::File> create(const std::string& path, mode_t mode) override { return real_.create(path, mode); }
  base::Result<sys::File> open_or_create(const std::string& path, mode_t mode) override {
    return real_.open_or_create(path, mode);
  }
  base::Result<void> write(const sys::File& f, std::string_view bytes, std::uint64_t at) override {
    return real_.write(f, bytes, at);
  }
  base::Result<void> truncate(const sys::File& file, std::uint64_t size) override { return real_.truncate(file, size); }
  base::Result<void> link(int fd, const std::string& to) override { return real_.link(fd, to); }
  base::Result<void> rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  base::Result<void> remove(const std::string& path) override { return real_.remove(path); }
  base::Result<void> make_directory(const std::string& path, mode_t mode) override {
    return real_.make_directory(path, mode);
  }
  base::Result<void> sync_directory(const std::string& path) override { return real_.sync_directory(path); }
  base::Result<void> sync_everything(const std::string& path) override { return real_.sync_everything(path); }

 private:
  sys::FileSystem& real_ = sys::linux_file_system();
  std::once_flag once_;
};

TEST(DiskStoreCommit, CommitsThatWaitTogetherShareOneRound) {
  Folder folder;
  GatedFiles files;
  auto store = DiskStore::open(folder.path(), files).value();
  constexpr std::size_t kThreads = 9;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { put_one(*store, fmt::format("blob {}", t)); });
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (store->committer().waiting() < kThreads - 1 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  files.gate.set_value();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store->committer().rounds(), 2u) << "the first alone, the others together";
  EXPECT_EQ(store->stats().value().blobs, kThreads);
  EXPECT_TRUE(verify_store(*store).value().damaged.empty());
}

TEST_F(DiskStoreTest, RacingBatchesWithTheSameBlobsAllSucceed) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) put_one(*store_, fmt::format("shared {}", i));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store_->stats().value().blobs, 20u);
  EXPECT_EQ(leftovers(), 0u);
}

// The journal of a commit of `count` blobs, without the opening of the store.
std::vector<std::string> commit_journal(int count) {
  Folder folder;
  sys::FaultyFileSystem files(folder.path());
  auto store = DiskStore::open(folder.path(), files).value();
  auto batch = store->begin_batch();
  for (int i = 0; i < count; ++i) EXPECT_TRUE(batch->put(fmt::format("{}", i)));
  auto before = files.calls();
  EXPECT_TRUE(batch->commit());
  auto journal = files.journal();
  return {journal.begin() + static_cast<std::ptrdiff_t>(before), journal.end()};
}

TEST(DiskStoreCommit, FewFilesAreSyncedOneByOneAndManyTogether) {
  auto few = commit_journal(2);
  ASSERT_EQ(few.size(), 6u);
  EXPECT_TRUE(few[0].starts_with("sync tmp/"));
  EXPECT_TRUE(few[1].starts_with("sync tmp/"));
  EXPECT_TRUE(few[2].starts_with("rename tmp/"));
  EXPECT_TRUE(few[4].starts_with("sync-folder blobs/"));
  auto many = commit_journal(100);
  EXPECT_EQ(std::ranges::count_if(many, [](const auto& line) { return line.starts_with("sync"); }), 2);
}

ino_t inode_of(const std::filesystem::path& path) {
  struct stat st{};
  EXPECT_EQ(0, ::lstat(path.c_str(), &st)) << path;
  return st.st_ino;
}

std::set<ino_t> inodes_in(const std::filesystem::path& folder) {
  std::set<ino_t> inodes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) inodes.insert(inode_of(entry.path()));
  return inodes;
}

TEST(DiskStoreCommit, AFullDiskAtAnyStepLeavesNothingHalfVisibleAndTheStoreUsable) {
  for (std::size_t step = 1;; ++step) {
    Folder folder;
    sys::FaultyFileSystem files(folder.path());
    auto store = DiskStore::open(folder.path(), files).value();
    auto batch = store->begin_batch();
    auto a = batch->put("a").value().digest, b = batch->put("b").value().digest;
    const auto before = files.calls();
    files.fail_call(step, ENOSPC);
    auto committed = batch->commit();
    if (committed) {
      EXPECT_GT(step, 6u);
      break;
    }
    EXPECT_EQ(committed.error().code(), base::Code::no_space);
    EXPECT_FALSE(store->find(a) || store->find(b)) << "step " << step;
    const bool was_sync = files.journal()[before + step - 1].starts_with("sync tmp/");
    const auto inodes = inodes_in(store->layout().temporary());
    ASSERT_TRUE(batch->commit()) << "space is back: the same batch goes through";
    if (was_sync)
      for (const auto& digest : {a, b})
        EXPECT_FALSE(inodes.contains(inode_of(store->layout().blob(digest))))
            << "the kernel has told of the lost pages; a second sync of this file proves nothing";
    EXPECT_EQ(store->read(a, 10).value() + store->read(b, 10).value(), "ab");
  }
}

}  // namespace
}  // namespace lathe::cas
