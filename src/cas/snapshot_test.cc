#include "cas/snapshot.h"

#include <gtest/gtest.h>

#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cas/blob_file.h"
#include "cas/disk_store.h"
#include "cas/materialize.h"
#include "cas/pack.h"
#include "cas/testing.h"

namespace lathe::cas {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::read_file;
using testing::write_file;

std::vector<std::string> paths(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const auto& entry : snapshot.tree().entries) out.push_back(entry.path);
  return out;
}

class SnapshotTest : public ::testing::Test {
 protected:
  Folder source_, other_;
  SnapshotOptions options_{
      .cache = other_ / "cache", .threads = 2, .limits = {}, .choose_digester = {}, .progress = {}};

  base::Result<Snapshot> take() { return Snapshot::take(source_.path(), options_); }
  base::Error refusal() {
    auto snapshot = take();
    EXPECT_FALSE(snapshot);
    return snapshot ? base::Error(base::Code::internal, "not refused") : snapshot.error();
  }
  static bool earlier(const timespec& a, const timespec& b) {
    return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
  }
  // So that nothing is younger than the snapshot: the cache trusts it.
  void age_everything() {
    timespec last{}, now{};
    for (const auto& entry : fs::recursive_directory_iterator(source_.path())) {
      testing::set_modified(entry.path(), 1'500'000'000);
      struct stat st{};
      ::lstat(entry.path().c_str(), &st);
      last = std::max(last, st.st_ctim, earlier);
    }
    // The clock that a snapshot compares change times with ticks slowly: wait until it has passed them.
    do ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (!earlier(last, now));
  }
};

TEST_F(SnapshotTest, HoldsFilesExecBitsAndLinksInCanonicalOrder) {
  write_file(source_ / "train.py", "print()");
  write_file(source_ / "a/b", "1");
  write_file(source_ / "a.txt", "2");
  write_file(source_ / "a-z", "3");
  write_file(source_ / "run.sh", "#!/bin/sh");
  fs::permissions(source_ / "run.sh", fs::perms(0755));
  fs::create_symlink("a/b", source_ / "latest");
  auto snapshot = take().value();
  EXPECT_EQ(paths(snapshot), (std::vector<std::string>{"a-z", "a.txt", "a/b", "latest", "run.sh", "train.py"}));
  EXPECT_EQ(snapshot.tree().entries[3].link_target, "a/b");
  EXPECT_TRUE(snapshot.tree().entries[4].executable);
  EXPECT_FALSE(snapshot.tree().entries[5].executable);
  EXPECT_EQ(snapshot.tree().entries[5].digest, base::sha256("print()"));
  EXPECT_EQ(snapshot.manifest().digest, base::sha256(encode_tree(snapshot.tree())));
  EXPECT_EQ(snapshot.stats().files, 5u);
  EXPECT_EQ(snapshot.stats().links, 1u);
  EXPECT_TRUE(decode_tree(encode_tree(snapshot.tree())));
}

TEST_F(SnapshotTest, ObeysGitignoreFilesAndNeverTakesGit) {
  write_file(source_ / ".git/config", "x");
  write_file(source_ / "sub/.git", "gitdir: elsewhere");
  write_file(source_ / ".gitignore", "*.log\n/out/\n");
  write_file(source_ / "sub/.gitignore", "!keep.log\n");
  write_file(source_ / "sub/keep.log", "");
  write_file(source_ / "b.log", "");
  write_file(source_ / "out/x", "");
  EXPECT_EQ(paths(take().value()), (std::vector<std::string>{".gitignore", "sub/.gitignore", "sub/keep.log"}));
}

TEST_F(SnapshotTest, AnAmlignoreAtTheRootReplacesAllGitignores) {
  write_file(source_ / ".gitignore", "a\n");
  write_file(source_ / ".amlignore", "b\n");
  write_file(source_ / "a", "");
  write_file(source_ / "b", "");
  write_file(source_ / "sub/.gitignore", "c\n");
  write_file(source_ / "sub/.amlignore", "d\n");
  write_file(source_ / "sub/c", "");
  write_file(source_ / "sub/d", "");
  EXPECT_EQ(paths(take().value()),
            (std::vector<std::string>{".amlignore", ".gitignore", "a", "sub/.amlignore", "sub/.gitignore", "sub/c"}));
}

TEST_F(SnapshotTest, ALinkThatLeavesIsRefusedByName) {
  fs::create_symlink("/etc/passwd", source_ / "secrets");
  auto error = refusal();
  EXPECT_EQ(error.code(), base::Code::invalid);
  EXPECT_NE(error.message().find("secrets"), std::string::npos);
  EXPECT_FALSE(error.hint().empty());
  write_file(source_ / ".amlignore", "secrets");
  EXPECT_TRUE(take()) << "the hint helps";
}

TEST_F(SnapshotTest, ALinkThatLeavesThroughAnotherIsRefused) {
  fs::create_directory(source_ / "d");
  fs::create_symlink("..", source_ / "d/up");
  fs::create_symlink("d/up/../x", source_ / "sneaky");
  EXPECT_NE(refusal().message().find("sneaky"), std::string::npos);
}

TEST_F(SnapshotTest, LinksToFoldersAreKeptAsLinksAndNotFollowed) {
  write_file(source_ / "data/x", "1");
  fs::create_symlink("data", source_ / "alias");
  fs::create_symlink(".", source_ / "loop");
  EXPECT_EQ(paths(take().value()), (std::vector<std::string>{"alias", "data/x", "loop"}));
}

TEST_F(SnapshotTest, PipesAndSocketsAreRefusedByName) {
  ASSERT_EQ(::mkfifo((source_ / "pipe").c_str(), 0600), 0);
  auto error = refusal();
  EXPECT_NE(error.message().find("'pipe' is a named pipe"), std::string::npos) << error.message();
  fs::remove(source_ / "pipe");
  int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, (source_ / "sock").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  EXPECT_NE(refusal().message().find("is a socket"), std::string::npos);
}

TEST_F(SnapshotTest, ANameThatIsNotUtf8IsRefusedReadably) {
  write_file(source_ / "caf\xe9.txt", "");
  EXPECT_NE(refusal().message().find("caf\\xe9.txt"), std::string::npos);
}

TEST_F(SnapshotTest, AnUnreadableFileIsNamed) {
  write_file(source_ / "sub/private", "x");
  fs::permissions(source_ / "sub/private", fs::perms::none);
  fs::permissions(source_.path(), fs::perms(0755));
  auto root = ::setfsuid(65534);  // of this thread only: root would read everything
  auto error = refusal();
  ::setfsuid(static_cast<uid_t>(root));
  EXPECT_EQ(error.code(), base::Code::forbidden);
  EXPECT_NE(error.message().find("sub/private"), std::string::npos);
}

TEST_F(SnapshotTest, AnAbsentSourceIsAClearError) {
  EXPECT_EQ(Snapshot::take(source_ / "absent", options_).error().code(), base::Code::not_found);
}

TEST_F(SnapshotTest, ALinkedIgnoreFileIsRefusedRatherThanMissed) {
  write_file(source_ / "rules", "x");
  fs::create_symlink("rules", source_ / ".amlignore");
  EXPECT_NE(refusal().message().find(".amlignore"), std::string::npos);
}

TEST_F(SnapshotTest, DeepFoldersNeedNoMoreDescriptors) {
  std::string path;
  for (int i = 0; i < 250; ++i) path += "d/";
  fs::create_directories(source_ / path);
  write_file(source_ / (path + "f"), "deep");
  EXPECT_EQ(take().value().tree().entries.size(), 1u);
  options_.limits.depth = 200;
  EXPECT_EQ(refusal().code(), base::Code::too_large);
}

TEST_F(SnapshotTest, TooManyEntriesAreRefused) {
  for (int i = 0; i < 5; ++i) write_file(source_ / fmt::format("{}", i), "");
  options_.limits.entries = 4;
  EXPECT_EQ(refusal().code(), base::Code::too_large);
}

TEST_F(SnapshotTest, ManyFoldersAreFoundInCanonicalOrderUnderTheirRules) {
  write_file(source_ / ".gitignore", "*.tmp\n");
  for (int i = 0; i < 40; ++i)
    for (const char* name : {"a.txt", "b.tmp", "deep/c.txt"})
      write_file(source_ / fmt::format("part{:02}", i) / name, "x");
  write_file(source_ / "part07" / ".gitignore", "deep/\n");  // ends with its folder, whoever looked at it
  auto found = paths(take().value());
  EXPECT_TRUE(std::ranges::is_sorted(found));
  EXPECT_EQ(found.size(), 1u + 40 * 2);  // one ignore file more, one deep file less
  EXPECT_EQ(std::ranges::count(found, "part07/deep/c.txt"), 0);
  options_.limits.entries = 60;
  auto error = refusal();
  EXPECT_EQ(error.code(), base::Code::too_large);
  EXPECT_NE(error.message().find(found[60]), std::string::npos) << error.message();
}

TEST_F(SnapshotTest, OfManyFoldersTheFirstRefusalIsTold) {
  for (int i = 0; i < 40; ++i) write_file(source_ / fmt::format("part{:02}", i) / "file", "x");
  for (const char* folder : {"part30", "part12", "part39"})
    ASSERT_EQ(::mkfifo((source_ / folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal().message().find("part12/pipe"), std::string::npos);
}

TEST_F(SnapshotTest, AnUnchangedTreeCostsNoReading) {
  for (int i = 0; i < 50; ++i) write_file(source_ / fmt::format("d{}/f{}", i % 7, i), fmt::format("content {}", i));
  age_everything();
  auto first = take().value();
  EXPECT_EQ(first.stats().files_read, 50u);
  auto second = take().value();
  EXPECT_EQ(second.stats().files_read, 0u);
  EXPECT_EQ(second.tree(), first.tree());
  write_file(source_ / "d1/f1", "changed");
  auto third = take().value();
  EXPECT_EQ(third.stats().files_read, 1u);
  EXPECT_NE(third.manifest().digest, first.manifest().digest);
}

TEST_F(SnapshotTest, AChangeThatHidesBehindSizeAndTimeIsStillSeen) {
  write_file(source_ / "f", "old");
  age_everything();
  ASSERT_TRUE(take());
  write_file(source_ / "f", "new");
  testing::set_modified(source_ / "f", 1'500'000'000);  // like cp -p or touch -r: only the change time tells
  EXPECT_EQ(take().value().tree().entries[0].digest, base::sha256("new"));
}

TEST_F(SnapshotTest, AFileYoungerThanTheSnapshotIsNotTrusted) {
  for (int i = 0; i < 200; ++i) {  // written right after the walk began, in the same tick of the clock
    write_file(source_ / "f", "A");
    ASSERT_EQ(take().value().tree().entries[0].digest, base::sha256("A"));
    write_file(source_ / "f", "B");
    ASSERT_EQ(take().value().tree().entries[0].digest, base::sha256("B"));
  }
}

TEST_F(SnapshotTest, ADamagedCacheIsAnEmptyOne) {
  write_file(source_ / "f", "x");
  age_everything();
  ASSERT_TRUE(take());
  auto kept = read_file(other_ / "cache");
  ASSERT_EQ(StatCache::load(other_ / "cache").size(), 1u);
  for (std::size_t i = 0; i < kept.size(); i += 5) {
    auto torn = kept;
    torn[i] = static_cast<char>(torn[i] ^ 1);
    write_file(other_ / "cache", torn);
    EXPECT_EQ(StatCache::load(other_ / "cache").size(), 0u);
    write_file(other_ / "cache", kept.substr(0, i));
    EXPECT_EQ(StatCache::load(other_ / "cache").size(), 0u);
  }
  EXPECT_EQ(take().value().stats().files_read, 1u);
}

// What is_unchanged() relies on: each of these must make another manifest, as without a cache.
TEST_F(SnapshotTest, AnyChangeToAKnownFolderMakesTheManifestThatItHasWithoutACache) {
  write_file(source_ / "a", "1");
  write_file(source_ / "b", "2");
  fs::create_symlink("a", source_ / "link");
  age_everything();
  ASSERT_TRUE(take());
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"nothing", [] {}},
      {"bytes", [&] { write_file(source_ / "a", "3"); }},
      {"mode", [&] { fs::permissions(source_ / "b", fs::perms::owner_exec, fs::perm_options::add); }},
      {"a new file", [&] { write_file(source_ / "c", "4"); }},
      {"a lost file", [&] { fs::remove(source_ / "c"); }},
      {"a new link", [&] { fs::create_symlink("b", source_ / "second"); }},
      {"a lost link", [&] { fs::remove(source_ / "second"); }},
      {"another target", [&] { fs::remove(source_ / "link"), fs::create_symlink("b", source_ / "link"); }}};
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    change();
    age_everything();
    SnapshotOptions bare;
    auto expected = Snapshot::take(source_.path(), bare).value().manifest();
    for (int round = 0; round < 2; ++round) {
      auto snapshot = take().value();
      EXPECT_EQ(snapshot.manifest().digest, expected.digest);
      EXPECT_EQ(snapshot.manifest().size, expected.size);
      auto bytes = snapshot.open(snapshot.manifest()).value();
      EXPECT_EQ(hash_file(bytes.fd(), bytes.size()).value(), expected.digest);
    }
  }
}

TEST_F(SnapshotTest, AFileThatKeepsChangingIsRefusedAndOneThatHoldsStillIsNot) {
  write_file(source_ / "log", std::string(8 << 20, 'x'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    sys::File file(::open((source_ / "log").c_str(), O_WRONLY | O_APPEND));
    while (!stop)
      if (::write(file.fd(), "y", 1) != 1) break;
  });
  // The writer may get no turn while one snapshot is taken; sooner or later it does.
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  auto snapshot = take();
  while (snapshot && std::chrono::steady_clock::now() < deadline) snapshot = take();
  stop = true;
  writer.join();
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code(), base::Code::conflict);
  EXPECT_NE(snapshot.error().message().find("'log' changes"), std::string::npos);
  EXPECT_TRUE(take());
}

TEST_F(SnapshotTest, AFileChangedBeforeItsUploadIsNotSentUnderItsOldName) {
  write_file(source_ / "f", "old");
  auto snapshot = take().value();
  write_file(source_ / "f", "newer");
  EXPECT_EQ(snapshot.open({base::sha256("old"), 3}).error().code(), base::Code::conflict);
}

TEST_F(SnapshotTest, ASwappedFolderNeverLeadsOutside) {
  write_file(other_ / "target/f", "foreign");
  write_file(source_ / "d/f", "mine");
  fs::create_symlink(other_ / "target", source_ / "link");
  write_file(source_ / ".amlignore", "link\n");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) ::renameat2(AT_FDCWD, (source_ / "d").c_str(), AT_FDCWD, (source_ / "link").c_str(), RENAME_EXCHANGE);
  });
  options_.cache.reset();
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    auto snapshot = take();
    if (!snapshot) continue;  // the link was met under the name that is not ignored
    ++taken;
    for (const auto& entry : snapshot->tree().entries) EXPECT_NE(entry.digest, base::sha256("foreign"));
  }
  stop = true;
  swapper.join();
  EXPECT_GT(taken, 0);
}

TEST_F(SnapshotTest, GoesThroughAPackIntoAStoreAndOutAgainUnchanged) {
  for (int i = 0; i < 30; ++i)
    write_file(source_ / fmt::format("dir{}/file{}", i % 3, i), fmt::format("content {}", i % 10));
  write_file(source_ / "empty", "");
  write_file(source_ / "run", "#!");
  fs::permissions(source_ / "run", fs::perms(0755));
  fs::create_symlink("dir0", source_ / "deep-link");
  auto snapshot = take().value();
  auto store = DiskStore::open(other_ / "store").value();
  auto batch = store->begin_batch();
  PackDecoder decoder(*batch);
  PackEncoder encoder(snapshot.blobs(), [&](const BlobInfo& blob) { return snapshot.open(blob); });
  std::vector<char> buffer(1000);
  while (auto n = encoder.read(buffer).value()) ASSERT_TRUE(decoder.feed({buffer.data(), n}));
  ASSERT_EQ(decoder.finish().value().blobs, 13u) << "equal files travel once";
  ASSERT_TRUE(batch->commit());

  auto tree = decode_tree(store->read(snapshot.manifest().digest, 1 << 20).value()).value();
  fs::create_directory(other_ / "copy");
  ASSERT_TRUE(materialize(tree, other_ / "copy", [&](const BlobInfo& blob) { return store->open(blob.digest); }));
  auto again = Snapshot::take(other_ / "copy", {}).value();
  EXPECT_EQ(again.tree(), snapshot.tree());
  EXPECT_EQ(fs::hard_link_count(other_ / "copy/run"), 1u) << "a private copy, not a name of the blob";
}

}  // namespace
}  // namespace lathe::cas
