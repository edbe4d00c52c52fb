#include "mount/chunk_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "mount/testing.h"

namespace lathe::mount {
namespace {

cas::BlobInfo info(const testing::MemorySource& source, std::size_t entry) {
  return {source.tree.entries[entry].digest, source.tree.entries[entry].size};
}

TEST(ChunkCache, FetchesOnceWhatManyWantAtOnce) {
  testing::MemorySource source;
  source.add("a", std::string(100'000, 'a'));
  ChunkCache cache(source, 1 << 20);
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] { EXPECT_EQ(*cache.get(info(source, 0), 0).value(), std::string(100'000, 'a')); });
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(source.reads, 1);
}

TEST(ChunkCache, LetsTheLeastRecentlyUsedGoAtItsLimit) {
  testing::MemorySource source;
  for (char c : {'a', 'b', 'c'}) source.add(std::string(1, c), std::string(1000, c));
  ChunkCache cache(source, 2500);
  for (std::size_t i : {0, 1, 0, 2}) ASSERT_TRUE(cache.get(info(source, i), 0));
  EXPECT_EQ(cache.bytes(), 2000u);
  EXPECT_TRUE(cache.has(info(source, 0), 0));
  EXPECT_FALSE(cache.has(info(source, 1), 0));
}

TEST(ChunkCache, NeverGivesOutBytesThatAreNotTheirDigest) {
  testing::MemorySource source;
  source.add("a", "good");
  source.add("large", std::string(ChunkCache::kChunkBytes * 2 + 5, 'x'));
  ChunkCache cache(source, 64 << 20);
  source.bytes_of(info(source, 0).digest)[1] = 'x';
  EXPECT_EQ(cache.get(info(source, 0), 0).error().code(), base::Code::corrupt);
  source.bytes_of(info(source, 0).digest)[1] = 'o';
  EXPECT_EQ(*cache.get(info(source, 0), 0).value(), "good") << "a healed source is asked again";

  EXPECT_EQ(cache.get(info(source, 1), 2).value()->size(), 5u);
  source.bytes_of(info(source, 1).digest)[ChunkCache::kChunkBytes] = 'y';
  EXPECT_EQ(cache.get(info(source, 1), 1).error().code(), base::Code::corrupt);
  EXPECT_TRUE(cache.get(info(source, 1), 0)) << "the other chunks are good";
  EXPECT_EQ(source.indexes, 1);
}

TEST(ChunkCache, RefusesAnIndexOfAnotherBlob) {
  testing::MemorySource source;
  source.add("large", std::string(ChunkCache::kChunkBytes + 1, 'x'));
  source.wrong_index = true;
  ChunkCache cache(source, 64 << 20);
  EXPECT_EQ(cache.get(info(source, 0), 0).error().code(), base::Code::corrupt);
}

}  // namespace
}  // namespace lathe::mount
