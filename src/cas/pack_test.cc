#include "cas/pack.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "cas/disk_store.h"
#include "cas/testing.h"

namespace lathe::cas {
namespace {

// Keeps what a decoder feeds it.
class Collected final : public BlobSink {
 public:
  base::Result<void> begin(std::optional<base::Digest> expected) override {
    expected_ = *expected;
    bytes_.clear();
    return {};
  }
  base::Result<void> write(std::string_view bytes) override {
    bytes_ += bytes;
    return {};
  }
  base::Result<BlobInfo> finish() override {
    if (base::sha256(bytes_) != expected_) return base::fail(base::Code::corrupt, "mismatch");
    blobs.push_back(bytes_);
    return BlobInfo{expected_, bytes_.size()};
  }
  std::vector<std::string> blobs;

 private:
  base::Digest expected_;
  std::string bytes_;
};

base::Result<BlobFile> file_with(std::string_view bytes) {
  int fd = ::memfd_create("blob", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return BlobFile(fd, bytes.size());
}

std::string encode(const std::vector<std::string>& blobs, std::size_t step) {
  std::vector<BlobInfo> infos;
  std::map<base::Digest, std::string> content;
  for (const auto& blob : blobs) {
    infos.push_back({base::sha256(blob), blob.size()});
    content[infos.back().digest] = blob;
  }
  PackEncoder encoder(infos, [&](const BlobInfo& info) { return file_with(content.at(info.digest)); });
  std::string out;
  std::vector<char> buffer(step);
  for (;;) {
    auto n = encoder.read(buffer).value();
    if (n == 0) break;
    out.append(buffer.data(), n);
  }
  EXPECT_EQ(out.size(), encoder.total_bytes());
  return out;
}

TEST(Pack, ComesThroughWhateverTheSizesOfItsPieces) {
  const std::vector<std::string> blobs = {"", "one", std::string(100'000, 'z'), std::string("\0\n", 2)};
  for (std::size_t out : {1, 7, 40, 4096})
    for (std::size_t in : {1, 39, 41, 100'000}) {
      auto stream = encode(blobs, out);
      Collected sink;
      PackDecoder decoder(sink);
      for (std::size_t i = 0; i < stream.size(); i += in)
        ASSERT_TRUE(decoder.feed(std::string_view(stream).substr(i, in)));
      auto summary = decoder.finish().value();
      EXPECT_EQ(sink.blobs, blobs);
      EXPECT_EQ(summary.blobs, 4u);
      EXPECT_EQ(summary.bytes, 100'005u);
    }
}

TEST(Pack, AStreamCutAnywhereIsNotTakenForComplete) {
  auto stream = encode({"abc", ""}, 64);
  for (std::size_t n = 0; n < stream.size(); ++n) {
    Collected sink;
    PackDecoder decoder(sink);
    ASSERT_TRUE(decoder.feed(std::string_view(stream).substr(0, n)));
    EXPECT_EQ(decoder.finish().error().code(), base::Code::corrupt) << n;
  }
}

TEST(Pack, BytesAfterTheEndAreRefused) {
  Collected sink;
  PackDecoder decoder(sink);
  EXPECT_FALSE(decoder.feed(encode({}, 64) + "x"));
  EXPECT_FALSE(decoder.finish());
}

TEST(Pack, AFailedDecoderTakesNoMore) {
  auto stream = encode({"abc"}, 64);
  stream[40] = 'X';
  Collected sink;
  PackDecoder decoder(sink);
  EXPECT_EQ(decoder.feed(stream).error().code(), base::Code::corrupt);
  EXPECT_FALSE(decoder.feed(encode({}, 64)));
  EXPECT_FALSE(decoder.finish());
}

TEST(Pack, AnnouncedSizesAndCountsHaveLimits) {
  Collected sink;
  PackDecoder small(sink, {.blobs = 10, .blob_bytes = 2});
  EXPECT_EQ(small.feed(encode({"abc"}, 64)).error().code(), base::Code::too_large);
  PackDecoder few(sink, {.blobs = 1, .blob_bytes = 100});
  EXPECT_EQ(few.feed(encode({"a", "b"}, 64)).error().code(), base::Code::too_large);
}

TEST(Pack, AFileThatIsNotAsAnnouncedIsAnErrorNotABadStream) {
  PackEncoder encoder({{base::sha256("abc"), 3}}, [](const BlobInfo&) { return file_with("ab"); });
  std::vector<char> buffer(100);
  EXPECT_EQ(encoder.read(buffer).error().code(), base::Code::corrupt);
}

TEST(Pack, FillsAStoreFromAnother) {
  testing::Folder from, to;
  auto source = DiskStore::open(from.path()).value();
  auto target = DiskStore::open(to.path()).value();
  auto batch = source->begin_batch();
  std::vector<BlobInfo> infos;
  for (int i = 0; i < 20; ++i) infos.push_back(batch->put(fmt::format("blob {}", i)).value());
  ASSERT_TRUE(batch->commit());
  PackEncoder encoder(infos, [&](const BlobInfo& info) { return source->open(info.digest); });
  auto receiving = target->begin_batch();
  PackDecoder decoder(*receiving);
  std::vector<char> buffer(100);
  while (auto n = encoder.read(buffer).value()) ASSERT_TRUE(decoder.feed({buffer.data(), n}));
  EXPECT_EQ(decoder.finish().value().blobs, 20u);
  ASSERT_TRUE(receiving->commit());
  for (const auto& info : infos)
    EXPECT_EQ(target->read(info.digest, 100).value(), source->read(info.digest, 100).value());
}

}  // namespace
}  // namespace lathe::cas
