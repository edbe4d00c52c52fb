#include "mount/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "mount/manifest_tree.h"
#include "mount/testing.h"
#include "sys/mounts.h"

namespace lathe::mount {
namespace {

namespace fs = std::filesystem;

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  std::string out(size, '\0');
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    auto word = random();
    __builtin_memcpy(out.data() + at, &word, 8);
  }
  return out;
}

// Each test mounts in the test program's own namespace, so nothing of it outlives the program.
class SessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { entered_ = sys::enter_mount_namespace().has_value(); }
  ~SessionTest() override {
    sys::unmount(folder_);
    session_.reset();
    fs::remove_all(folder_);
  }

  void start(std::uint64_t cache_bytes = 64 << 20) {
    if (!entered_) GTEST_SKIP() << "no mount namespaces here";
    fs::create_directories(folder_);
    tree_ = ManifestTree::create(source_.sorted()).value();
    auto device = sys::mount_fuse(folder_);
    if (!device) GTEST_SKIP() << device.error().text();
    session_ = Session::start(std::move(*device), *tree_, source_, {cache_bytes, nullptr}).value();
  }
  std::string read(const std::string& path) const {
    std::ifstream in(folder_ / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static inline bool entered_ = false;
  const fs::path folder_ = fs::path(::testing::TempDir()) / fmt::format("mount-{}", ::getpid());
  testing::MemorySource source_;
  std::unique_ptr<ManifestTree> tree_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ShowsTheTreeAsItIs) {
  source_.add("train/a.txt", "hello");
  source_.add("train/leer.txt", "");
  source_.add("größe/日本.csv", "x,y\n");
  source_.add("run.sh", "#!/bin/sh\n", true);
  source_.add_link("latest", "train/a.txt");
  ASSERT_NO_FATAL_FAILURE(start());
  if (IsSkipped()) return;
  EXPECT_EQ(read("train/a.txt"), "hello");
  EXPECT_EQ(read("latest"), "hello");
  EXPECT_EQ(read("größe/日本.csv"), "x,y\n");
  EXPECT_EQ(fs::file_size(folder_ / "train/leer.txt"), 0u);
  EXPECT_EQ(read("train/leer.txt"), "");
  struct stat status{};
  ASSERT_EQ(::stat((folder_ / "run.sh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0555u);
  std::vector<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    seen.push_back(entry.path().lexically_relative(folder_));
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<std::string>{"größe", "größe/日本.csv", "latest", "run.sh", "train", "train/a.txt",
                                            "train/leer.txt"}));
  EXPECT_FALSE(fs::exists(folder_ / "nothing"));
}

TEST_F(SessionTest, WritingIsRefused) {
  source_.add("a", "1");
  ASSERT_NO_FATAL_FAILURE(start());
  if (IsSkipped()) return;
  EXPECT_EQ(::open((folder_ / "a").c_str(), O_WRONLY), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(::open((folder_ / "new").c_str(), O_WRONLY | O_CREAT, 0644), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(::mkdir((folder_ / "b").c_str(), 0755), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(::unlink((folder_ / "a").c_str()), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(read("a"), "1");
}

TEST_F(SessionTest, PartsOfALargeFileAreItsBytesAndNoMoreIsFetchedThanNeeded) {
  const std::string bytes = random_bytes(5 * ChunkCache::kChunkBytes + 12'345);
  source_.add("large.bin", bytes);
  ASSERT_NO_FATAL_FAILURE(start(3 * ChunkCache::kChunkBytes));
  if (IsSkipped()) return;
  sys::Fd file(::open((folder_ / "large.bin").c_str(), O_RDONLY));
  ASSERT_TRUE(file);
  char last[100];
  ASSERT_EQ(::pread(file.get(), last, sizeof last, static_cast<off_t>(bytes.size()) - 50), 50);
  EXPECT_EQ(source_.reads, 1) << "one chunk for one read at the end";
  std::mt19937_64 random(1);
  std::string buffer(300'000, '\0');
  for (int i = 0; i < 200; ++i) {
    const auto offset = random() % bytes.size();
    const auto size = 1 + random() % buffer.size();
    const auto n = ::pread(file.get(), buffer.data(), size, static_cast<off_t>(offset));
    ASSERT_EQ(n, static_cast<ssize_t>(std::min(size, bytes.size() - offset)));
    ASSERT_EQ(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)),
              std::string_view(bytes).substr(offset, size));
  }
}

TEST_F(SessionTest, ManyReadersAtOnceGetTheirOwnFiles) {
  for (int i = 0; i < 2000; ++i)
    source_.add(fmt::format("d{}/f{}.txt", i % 7, i),
                fmt::format("{}-{}", i, std::string(static_cast<std::size_t>(i), 'x')));
  ASSERT_NO_FATAL_FAILURE(start());
  if (IsSkipped()) return;
  std::vector<std::thread> readers;
  std::atomic<int> wrong = 0;
  for (int reader = 0; reader < 8; ++reader)
    readers.emplace_back([&, reader] {
      for (int i = reader % 2; i < 2000; i += 2)
        if (read(fmt::format("d{}/f{}.txt", i % 7, i)) !=
            fmt::format("{}-{}", i, std::string(static_cast<std::size_t>(i), 'x')))
          ++wrong;
    });
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, BytesThatDoNotMatchAreAnErrorAndNeverShown) {
  source_.add("bad", std::string(1000, 'b'));
  source_.add("good", "good");
  source_.bytes_of(source_.tree.entries[0].digest)[999] = 'x';
  ASSERT_NO_FATAL_FAILURE(start());
  if (IsSkipped()) return;
  sys::Fd file(::open((folder_ / "bad").c_str(), O_RDONLY));
  ASSERT_TRUE(file);
  char buffer[10];
  EXPECT_EQ(::read(file.get(), buffer, sizeof buffer), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(read("good"), "good");
}

TEST_F(SessionTest, AfterItsEndReadersGetAnErrorInsteadOfWaiting) {
  source_.add("a", "1");
  ASSERT_NO_FATAL_FAILURE(start());
  if (IsSkipped()) return;
  session_.reset();
  EXPECT_EQ(::open((folder_ / "a").c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, ENOTCONN);
}

}  // namespace
}  // namespace lathe::mount
