// The store's write paths, cut at every step, in both ways a disk may lose data. After each cut the store is opened
// again: every acknowledged blob must be there with its bytes, and no visible blob may have wrong ones.
#include <gtest/gtest.h>

#include "cas/gc.h"
#include "cas/partial_uploads.h"
#include "cas/staging_area.h"
#include "cas/staging_writer.h"
#include "cas/testing.h"
#include "cas/verify.h"
#include "sys/file_system_faulty.h"

namespace lathe::cas {
namespace {

using sys::FaultyFileSystem;
using sys::Loss;
using testing::Folder;

// What a scenario was promised before the power went.
struct Ledger {
  std::vector<std::string> acknowledged;
  bool finished = false;
};

using Scenario = std::function<void(DiskStore&, FaultyFileSystem&, Ledger&)>;

void expect_intact(DiskStore& store, const Ledger& ledger) {
  for (const auto& bytes : ledger.acknowledged) {
    auto found = store.read(base::sha256(bytes), 1 << 26);
    ASSERT_TRUE(found) << "lost an acknowledged blob: " << found.error().text();
    EXPECT_EQ(*found, bytes);
  }
  auto report = verify_store(store).value();
  EXPECT_TRUE(report.damaged.empty()) << "a visible blob has wrong bytes";
}

void cut_everywhere(const Scenario& scenario, const std::function<void(DiskStore&)>& setup = {}) {
  for (auto loss : sys::kEveryLoss) {
    bool finished = false;
    for (std::size_t step = 0; !finished; ++step) {
      SCOPED_TRACE(fmt::format("loss {}, cut after step {}", static_cast<int>(loss), step));
      Folder folder;
      Ledger ledger;
      {
        auto store = DiskStore::open(folder.path()).value();
        if (setup) setup(*store);
      }
      FaultyFileSystem files(folder.path());
      {
        auto store = DiskStore::open(folder.path(), files).value();
        files.cut_power_after(step);
        scenario(*store, files, ledger);
      }
      files.restart(loss);
      auto store = DiskStore::open(folder.path(), files);
      ASSERT_TRUE(store) << store.error().text();
      expect_intact(**store, ledger);
      if (::testing::Test::HasFailure()) return;
      finished = ledger.finished;
    }
  }
}

bool put_all(DiskStore& store, const std::vector<std::string>& blobs, Ledger& ledger) {
  auto batch = store.begin_batch();
  for (const auto& blob : blobs)
    if (!batch->put(blob)) return false;
  if (!batch->commit()) return false;
  ledger.acknowledged.insert(ledger.acknowledged.end(), blobs.begin(), blobs.end());
  return true;
}

TEST(PowerCut, SmallBatchesKeepWhatTheyAcknowledged) {
  cut_everywhere([](DiskStore& store, FaultyFileSystem&, Ledger& ledger) {
    ledger.finished = put_all(store, {"one", "two", "three"}, ledger) && put_all(store, {"two", "four"}, ledger);
  });
}

TEST(PowerCut, LargeBatchesKeepWhatTheyAcknowledged) {
  std::vector<std::string> many;
  for (int i = 0; i < 12; ++i) many.push_back(fmt::format("blob {}", i));
  cut_everywhere(
      [&](DiskStore& store, FaultyFileSystem&, Ledger& ledger) { ledger.finished = put_all(store, many, ledger); });
}

TEST(PowerCut, AnAdoptedFileIsKeptOnceAcknowledged) {
  Folder spool;
  testing::write_file(spool / "segment", "log lines");
  cut_everywhere([&](DiskStore& store, FaultyFileSystem&, Ledger& ledger) {
    sys::File file(::open((spool / "segment").c_str(), O_RDONLY));
    auto batch = store.begin_batch();
    if (!batch->adopt(file.fd(), spool / "segment") || !batch->commit()) return;
    ledger.acknowledged = {"log lines"};
    ledger.finished = true;
  });
}

TEST(PowerCut, StagedFilesAreKeptOnceAcknowledged) {
  for (std::size_t count : {std::size_t{2}, Committer::kFewFiles + 4}) {
    Folder source;
    std::vector<std::string> blobs = {std::string(300'000, 'l')};  // copied in pieces, unlike the others
    while (blobs.size() < count) blobs.push_back(fmt::format("file {}", blobs.size()));
    for (std::size_t i = 0; i < count; ++i) testing::write_file(source / std::to_string(i), blobs[i]);
    cut_everywhere([&](DiskStore& store, FaultyFileSystem& files, Ledger& ledger) {
      StagingArea area(store);
      auto place = area.open();
      if (!place) return;
      auto writer = StagingWriter::open(place->path, files).value();
      std::vector<BlobInfo> staged;
      for (std::size_t i = 0; i < count; ++i) {
        sys::File file(::open((source / std::to_string(i)).c_str(), O_RDONLY));
        auto digest = writer->take(file.fd(), blobs[i].size());
        if (!digest) return;
        staged.push_back({*digest, blobs[i].size()});
      }
      if (!area.commit(place->id, staged)) return;
      ledger.acknowledged = blobs;
      ledger.finished = true;
    });
  }
}

TEST(PowerCut, ABlobWithANameThatIsNotOnDiskYetIsNotPromised) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  auto store = DiskStore::open(folder.path(), files).value();
  auto batch = store->begin_batch();
  auto digest = batch->put("early").value().digest;
  files.cut_power_after(2);  // bytes synced, renamed; the folder never synced
  EXPECT_FALSE(batch->commit());
  EXPECT_TRUE(std::filesystem::exists(store->layout().blob(digest)));
  EXPECT_FALSE(store->find(digest));
  files.restart(Loss::names_and_bytes);
  EXPECT_FALSE(std::filesystem::exists(store->layout().blob(digest)));
}

TEST(PowerCut, ABlobThatTheDiskWouldNotGiveBackStaysDeniedThroughLaterRounds) {
  // A disk whose folders cannot be synced, and whose second rename (the one that takes the blob back) fails as well.
  class FailingDisk : public FaultyFileSystem {
   public:
    using FaultyFileSystem::FaultyFileSystem;
    bool fails = false;
    base::Result<void> sync_directory(const std::string& path) override {
      if (!std::exchange(fails, false)) return FaultyFileSystem::sync_directory(path);
      fail_call(1, EIO);
      return base::fail(base::Code::no_space, "the folder cannot be synced");
    }
  };
  Folder folder;
  FailingDisk files(folder.path());
  auto store = DiskStore::open(folder.path(), files).value();
  Ledger ledger;
  files.fails = true;
  EXPECT_FALSE(put_all(*store, {"stuck"}, ledger));
  const auto digest = base::sha256("stuck");
  ASSERT_TRUE(std::filesystem::exists(store->layout().blob(digest)));
  EXPECT_TRUE(put_all(*store, {"another"}, ledger)) << "others are not concerned";
  EXPECT_FALSE(store->find(digest)) << "a later round must not make it visible";
  EXPECT_FALSE(put_all(*store, {"stuck", "third"}, ledger));
  EXPECT_FALSE(store->find(digest));
  store = DiskStore::open(folder.path(), files).value();
  EXPECT_TRUE(put_all(*store, {"stuck"}, ledger));
  expect_intact(*store, ledger);
}

TEST(PowerCut, AResumedUploadNeverGoesBackBehindItsCheckpoint) {
  const std::string bytes = "first half, second half";
  const BlobInfo blob{base::sha256(bytes), bytes.size()};
  for (auto loss : sys::kEveryLoss) {
    bool finished = false;
    for (std::size_t step = 0; !finished; ++step) {
      SCOPED_TRACE(fmt::format("loss {}, cut after step {}", static_cast<int>(loss), step));
      Folder folder;
      FaultyFileSystem files(folder.path());
      std::uint64_t promised = 0;
      {
        auto store = DiskStore::open(folder.path(), files).value();
        PartialUploads uploads(*store);
        files.cut_power_after(step);
        auto upload = uploads.open(blob);
        if (upload && (*upload)->append(0, bytes.substr(0, 11)) && (*upload)->checkpoint()) {
          promised = 11;
          finished = (*upload)->append(11, bytes.substr(11)) && (*upload)->complete();
        }
      }
      files.restart(loss);
      auto store = DiskStore::open(folder.path(), files).value();
      PartialUploads uploads(*store);
      ASSERT_TRUE(verify_store(*store).value().damaged.empty());
      if (finished) EXPECT_EQ(store->read(blob.digest, 100).value(), bytes);
      if (store->find(blob.digest)) continue;
      // The client goes on from what the server says it has, and in the end the blob is right (perhaps after one
      // restart when the disk kept a length without its bytes).
      EXPECT_GE(uploads.length(blob.digest), promised);
      auto upload = uploads.open(blob).value();
      ASSERT_TRUE(upload->append(upload->length(), bytes.substr(upload->length())));
      if (!upload->complete()) {
        ASSERT_TRUE(upload->append(0, bytes));
        ASSERT_TRUE(upload->complete());
      }
      EXPECT_EQ(store->read(blob.digest, 100).value(), bytes);
    }
  }
}

base::Code put_one_code(DiskStore& store, std::string_view bytes) {
  auto batch = store.begin_batch();
  EXPECT_TRUE(batch->put(bytes));
  return batch->commit().error().code();
}

// The disk fails one call, of any kind, and works again.
TEST(IoError, AtAnyStepIsToldAndNeitherLosesNorInventsABlob) {
  const std::vector<std::string> blobs{"one", "two", std::string(300'000, 'x')};
  for (int error : {EIO, ENOSPC, EDQUOT, EROFS}) {
    bool untouched = false;
    for (std::size_t step = 1; !untouched; ++step) {
      SCOPED_TRACE(fmt::format("errno {} at step {}", error, step));
      Folder folder;
      FaultyFileSystem files(folder.path());
      Ledger ledger;
      auto store = DiskStore::open(folder.path(), files).value();
      std::vector<base::Error> failures;
      store->on_disk_failure([&](const base::Error& failure) { failures.push_back(failure); });
      const auto before = files.calls();
      files.fail_call(step, error);
      const bool acknowledged = put_all(*store, blobs, ledger);
      untouched = files.calls() < before + step;
      EXPECT_EQ(acknowledged, ledger.acknowledged.size() == blobs.size());
      expect_intact(*store, ledger);
      if (untouched) break;  // all calls of the batch have had their turn
      // A disk that refused to sync may have dropped what it holds: such a store promises nothing more.
      const bool refused_to_sync = base::errno_error(error, "").code() == base::Code::io &&
                                   files.journal()[before + step - 1].starts_with("sync");
      EXPECT_EQ(failures.size(), refused_to_sync ? 1u : 0u);
      if (refused_to_sync) {
        EXPECT_EQ(put_one_code(*store, "another"), base::Code::io);
        EXPECT_FALSE(store->find(base::sha256("another")));
      }
      store = DiskStore::open(folder.path(), files).value();
      EXPECT_TRUE(put_all(*store, blobs, ledger));
      expect_intact(*store, ledger);
      if (::testing::Test::HasFailure()) return;
      ASSERT_LT(step, 100u);
    }
  }
}

TEST(PowerCut, ACollectionInterruptedAnywhereKeepsAllThatIsReachableOrLeased) {
  const std::vector<std::string> garbage = {"g1", "g2", "g3"}, kept = {"k1", "k2"};
  auto setup = [&](DiskStore& store) {
    Ledger ignored;
    ASSERT_TRUE(put_all(store, garbage, ignored) && put_all(store, kept, ignored));
    for (const auto& bytes : {garbage[0], garbage[1], garbage[2], kept[0]})
      testing::set_modified(store.layout().blob(base::sha256(bytes)), 1000);  // k2 lives by its lease, k1 by its root
  };
  cut_everywhere(
      [&](DiskStore& store, FaultyFileSystem&, Ledger& ledger) {
        ledger.acknowledged = kept;
        auto roots = [&](const auto& visit) -> base::Result<void> {
          visit({base::sha256(kept[0]), false});
          return {};
        };
        auto report = collect_garbage(store, roots, {.expired_before = store.expired_before(std::chrono::hours(24))});
        ledger.finished = report.has_value();
        if (report) EXPECT_EQ(report->removed_blobs, 3u);
      },
      setup);
}

TEST(PowerCut, OpeningTheStoreIsInterruptibleToo) {
  for (std::size_t step = 0; step < 270; step += 9) {
    Folder folder;
    FaultyFileSystem files(folder.path());
    files.cut_power_after(step);
    (void)DiskStore::open(folder.path(), files);
    files.restart(Loss::names_and_bytes);
    auto store = DiskStore::open(folder.path(), files).value();
    Ledger ledger;
    EXPECT_TRUE(put_all(*store, {"x"}, ledger));
    expect_intact(*store, ledger);
  }
}

}  // namespace
}  // namespace lathe::cas
