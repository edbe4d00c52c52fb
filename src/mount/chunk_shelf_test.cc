#include "mount/chunk_shelf.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "mount/chunk_cache.h"
#include "mount/testing.h"
#include "support/temp_folder.h"

namespace lathe::mount {
namespace {

namespace fs = std::filesystem;
using support::TempFolder;

int count_files(const fs::path& folder) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) files += entry.is_regular_file();
  return files;
}

std::string numbered(int number, std::size_t size) {
  std::string out = std::to_string(number) + " ";
  out.resize(size, 'x');
  return out;
}

std::unique_ptr<ChunkShelf> open_shelf(const fs::path& folder, std::uint64_t limit = 64 << 20) {
  return base::value_or_throw(ChunkShelf::open(folder, limit));
}

fs::path file_of(const fs::path& folder, const std::string& bytes) {
  const std::string name = base::sha256(bytes).hex();
  return folder / name.substr(0, 1) / name;
}

TEST(ChunkShelf, KeepsChunksForTheNextProcess) {
  TempFolder folder;
  const std::string bytes = numbered(1, 100'000);
  open_shelf(folder / "c")->put(base::sha256(bytes), bytes);
  auto shelf = open_shelf(folder / "c");
  EXPECT_EQ(shelf->find(base::sha256(bytes), bytes.size()), bytes);
  EXPECT_EQ(shelf->find(base::sha256("other"), 5), std::nullopt);
  struct stat status{};
  ASSERT_EQ(::stat((folder / "c").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(ChunkShelf, NeverGivesOutDamagedBytesAndLetsThemGo) {
  TempFolder folder;
  auto shelf = open_shelf(folder / "c");
  for (const char* damage : {"short", "changed", "link"}) {
    const std::string bytes = numbered(2, 10'000);
    shelf->put(base::sha256(bytes), bytes);
    const auto path = file_of(folder / "c", bytes);
    ASSERT_TRUE(fs::exists(path)) << damage;
    if (damage == std::string("short")) fs::resize_file(path, 10);
    if (damage == std::string("changed")) std::fstream(path, std::ios::in | std::ios::out).put('?');
    if (damage == std::string("link")) {
      fs::rename(path, folder / "elsewhere");
      fs::create_symlink(folder / "elsewhere", path);
    }
    EXPECT_EQ(shelf->find(base::sha256(bytes), bytes.size()), std::nullopt) << damage;
    if (damage != std::string("link")) EXPECT_FALSE(fs::exists(path)) << damage;
  }
}

TEST(ChunkShelf, StaysBelowItsLimitAndLosesWhatWasUsedLongestAgo) {
  TempFolder folder;
  constexpr std::uint64_t kLimit = 16 * 64 * 1024;
  auto shelf = open_shelf(folder / "c", kLimit);
  const std::string old = numbered(0, 4096), kept = numbered(1, 4096);
  for (const auto* bytes : {&old, &kept}) shelf->put(base::sha256(*bytes), *bytes);
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  for (const auto* bytes : {&old, &kept})
    ASSERT_EQ(::utimensat(AT_FDCWD, file_of(folder / "c", *bytes).c_str(), long_ago, 0), 0);
  EXPECT_TRUE(shelf->find(base::sha256(kept), kept.size())) << "a use makes it young again";
  for (int i = 2; i < 400; ++i) {
    const std::string bytes = numbered(i, 4096);
    shelf->put(base::sha256(bytes), bytes);
    ASSERT_LE(shelf->bytes(), kLimit);
  }
  EXPECT_EQ(shelf->find(base::sha256(old), old.size()), std::nullopt);
  EXPECT_GT(shelf->bytes(), kLimit / 2);
  EXPECT_EQ(shelf->find(base::sha256(std::string(70'000, 'y')), 70'000), std::nullopt);
  shelf->put(base::sha256(std::string(70'000, 'y')), std::string(70'000, 'y'));
  EXPECT_LE(shelf->bytes(), kLimit) << "a chunk that is larger than its part of the shelf is not kept";
}

TEST(ChunkShelf, AKilledWriterLeavesNothingHalf) {
  TempFolder folder;
  for (int round = 0; round < 20; ++round) {
    const fs::path shelf = folder / std::to_string(round);  // a new one, which cannot be full
    open_shelf(shelf);
    pid_t writer = ::fork();
    if (writer == 0) {
      auto own = open_shelf(shelf);
      for (int i = 0;; ++i) {
        const std::string bytes = numbered(i, 200'000);
        own->put(base::sha256(bytes), bytes);
      }
    }
    while (count_files(shelf) <= round % 3) std::this_thread::yield();
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(entry.file_size(), 200'000u) << entry.path();
    EXPECT_EQ(entry.path().filename().string().size(), 64u) << entry.path();
  }
}

TEST(ChunkShelf, RefusesAFolderThatIsNotPrivate) {
  TempFolder folder;
  fs::create_directory(folder / "open");
  ::chmod((folder / "open").c_str(), 0755);
  EXPECT_FALSE(ChunkShelf::open(folder / "open", 1 << 20));
  fs::create_directory(folder / "target");
  ::chmod((folder / "target").c_str(), 0700);
  fs::create_directory_symlink(folder / "target", folder / "link");
  EXPECT_FALSE(ChunkShelf::open(folder / "link", 1 << 20));
}

TEST(ChunkCache, ASecondCacheReadsFromTheShelfAndHealsIt) {
  TempFolder folder;
  testing::MemorySource source;
  source.add("small", "bytes");
  source.add("large", std::string(ChunkCache::kChunkBytes + 10, 'x'));
  const cas::BlobInfo small{source.tree.entries[0].digest, source.tree.entries[0].size};
  const cas::BlobInfo large{source.tree.entries[1].digest, source.tree.entries[1].size};
  auto read_all = [&] {
    auto shelf = open_shelf(folder / "c", 1 << 30);
    ChunkCache cache(source, 64 << 20, shelf.get());
    EXPECT_EQ(*cache.get(small, 0).value(), "bytes");
    EXPECT_EQ(cache.get(large, 0).value()->size(), ChunkCache::kChunkBytes);
    EXPECT_EQ(*cache.get(large, 1).value(), std::string(10, 'x'));
  };
  read_all();
  EXPECT_EQ(source.reads, 3);
  read_all();
  EXPECT_EQ(source.reads, 3) << "nothing was fetched again";
  std::fstream(file_of(folder / "c", "bytes"), std::ios::in | std::ios::out).put('?');
  read_all();
  EXPECT_EQ(source.reads, 4);
  read_all();
  EXPECT_EQ(source.reads, 4);
}

}  // namespace
}  // namespace lathe::mount
