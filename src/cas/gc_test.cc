#include "cas/gc.h"

#include <gtest/gtest.h>

#include "cas/partial_uploads.h"
#include "cas/testing.h"
#include "cas/tree.h"

namespace lathe::cas {
namespace {

constexpr std::int64_t kDay = 86'400;

class GcTest : public ::testing::Test {
 protected:
  testing::Folder folder_;
  std::unique_ptr<DiskStore> store_ = DiskStore::open(folder_.path()).value();
  std::vector<Reference> roots_;

  // A blob whose lease ran out long ago.
  base::Digest put_old(std::string_view bytes) {
    auto digest = put_new(bytes);
    testing::set_modified(store_->layout().blob(digest), 1000);
    return digest;
  }
  base::Digest put_new(std::string_view bytes) {
    auto batch = store_->begin_batch();
    auto digest = batch->put(bytes).value().digest;
    EXPECT_TRUE(batch->commit());
    return digest;
  }
  std::int64_t long_ago() const { return store_->lease_clock().now().micros / 1'000'000 - 2 * kDay; }
  base::UtcTime expired() const { return store_->expired_before(std::chrono::hours(24)); }
  base::Result<GcReport> collect(bool dry_run = false) {
    return collect_garbage(*store_,
                           [this](const auto& visit) -> base::Result<void> {
                             for (const auto& root : roots_) visit(root);
                             return {};
                           },
                           {.expired_before = expired(), .dry_run = dry_run});
  }
  // Not find(): that would renew the lease.
  bool exists(const base::Digest& digest) const { return std::filesystem::exists(store_->layout().blob(digest)); }
};

TEST_F(GcTest, WorkThatGoesOnKeepsWhatItFoundHoweverLongItTakes) {
  auto loose = put_new("found by the work"), other = put_old("nobody's");
  auto hold = store_->hold_leases();
  // As if the shortest lease were over: everything but the hold says that it may go.
  auto expired = store_->expired_before(std::chrono::seconds(-3600));
  auto nothing = [](const auto&) -> base::Result<void> { return {}; };
  ASSERT_TRUE(collect_garbage(*store_, nothing, {.expired_before = expired}));
  EXPECT_TRUE(exists(loose));
  EXPECT_FALSE(exists(other));
  hold = nullptr;
  expired = store_->expired_before(std::chrono::seconds(-3600));
  ASSERT_TRUE(collect_garbage(*store_, nothing, {.expired_before = expired}));
  EXPECT_FALSE(exists(loose));
}

TEST_F(GcTest, StopsWhenNobodyWantsItAnyMore) {
  auto loose = put_old("loose"), other = put_old("other");
  int asked = 0;
  GcOptions options{.expired_before = expired(), .go_on = [&] { return ++asked < 2; }};
  auto none = [](const auto&) -> base::Result<void> { return {}; };
  auto report = collect_garbage(*store_, none, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), base::Code::cancelled);
  EXPECT_EQ(exists(loose) + exists(other), 1) << "what it did so far stays done";
  EXPECT_TRUE(collect()) << "its lock is free again";
}

TEST_F(GcTest, RemovesOnlyWhatNobodyReachesAndNobodyLeases) {
  auto file = put_old("file"), loose = put_old("loose"), young = put_new("young"), named = put_old("named");
  Tree tree{{{.path = "f", .digest = file, .size = 4, .executable = false, .link_target = {}},
             {.path = "g", .digest = file, .size = 4, .executable = false, .link_target = {}},
             {.path = "l", .digest = {}, .size = 0, .executable = false, .link_target = "f"}}};
  auto manifest = put_old(encode_tree(tree));
  roots_ = {{manifest, true}, {manifest, true}, {named, false}};
  auto report = collect().value();
  EXPECT_TRUE(exists(file) && exists(manifest) && exists(named) && exists(young));
  EXPECT_FALSE(exists(loose));
  EXPECT_EQ(report.blobs, 5u);
  EXPECT_EQ(report.reachable_blobs, 3u);
  EXPECT_EQ(report.leased_blobs, 1u);
  EXPECT_EQ(report.removed_blobs, 1u);
  EXPECT_EQ(report.removed_bytes, 5u);
  EXPECT_EQ(report.references.at(manifest), 2u);
  EXPECT_EQ(report.references.at(file), 2u);
  EXPECT_TRUE(report.missing.empty());
}

TEST_F(GcTest, ADryRunSaysTheSameAndRemovesNothing) {
  auto loose = put_old("loose");
  EXPECT_EQ(collect(true).value().removed_blobs, 1u);
  EXPECT_TRUE(exists(loose));
  EXPECT_EQ(collect().value().removed_blobs, 1u);
  EXPECT_FALSE(exists(loose));
}

TEST_F(GcTest, ALeaseRenewedAfterTheMarkStillProtects) {
  auto promised = put_old("promised");
  auto report =
      collect_garbage(*store_,
                      [&](const auto&) -> base::Result<void> {
                        EXPECT_TRUE(store_->find(promised));  // a client is told "present" while the roots are read
                        return {};
                      },
                      {.expired_before = expired()});
  EXPECT_EQ(report.value().removed_blobs, 0u);
  EXPECT_TRUE(exists(promised));
}

TEST_F(GcTest, RemovesNothingWhileAManifestCannotBeRead) {
  auto loose = put_old("loose"), manifest = put_old("not a manifest");
  roots_ = {{manifest, true}};
  EXPECT_EQ(collect().error().code(), base::Code::corrupt);
  roots_ = {{base::sha256("absent"), true}};
  EXPECT_EQ(collect().error().code(), base::Code::corrupt);
  EXPECT_TRUE(exists(loose));
}

TEST_F(GcTest, NamesWhatIsReferencedButGone) {
  roots_ = {{base::sha256("gone"), false}};
  EXPECT_EQ(collect().value().missing, std::vector{base::sha256("gone")});
}

TEST_F(GcTest, AbandonedPartialUploadsGoLivingOnesStay) {
  PartialUploads uploads(*store_);
  for (std::string_view name : {"old", "live"})
    ASSERT_TRUE(uploads.open({base::sha256(name), 100}).value()->append(0, name));
  testing::set_modified(store_->layout().partial(base::sha256("old")), long_ago());
  EXPECT_EQ(collect().value().removed_partials, 1u);
  EXPECT_EQ(uploads.length(base::sha256("old")), 0u);
  EXPECT_EQ(uploads.length(base::sha256("live")), 4u);
}

TEST_F(GcTest, ABackupHoldsItOff) {
  auto loose = put_old("loose");
  {
    auto hold = GcHold::acquire(store_->layout()).value();
    ASSERT_TRUE(GcHold::acquire(store_->layout())) << "two backups are fine";
    EXPECT_EQ(collect().error().code(), base::Code::conflict);
  }
  EXPECT_TRUE(exists(loose));
  EXPECT_TRUE(collect());
  EXPECT_FALSE(exists(loose));
}

TEST_F(GcTest, TheChunkIndexGoesWithItsBlob) {
  auto digest = put_new(std::string(ChunkIndex::kLargeBlob, 'x'));
  ASSERT_TRUE(store_->chunk_index(digest));
  testing::set_modified(store_->layout().blob(digest), 1000);
  ASSERT_TRUE(collect());
  EXPECT_FALSE(std::filesystem::exists(store_->layout().chunks(digest)));
}

}  // namespace
}  // namespace lathe::cas
