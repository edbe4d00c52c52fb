#include "server/metric_batch.h"

#include "server/test_support.h"

namespace lathe::server {
namespace {

std::string record(int step) {
  return fmt::format(R"({{"name":"loss","kind":"scalar","value":{}.5,"time":1,"step":{}}})", step, step) + "\n";
}

TEST(MetricBatch, KeepsWholeLinesAsTheyAreAndLeavesTheRest) {
  const std::string lines = record(1) + "\n  \r\n" + record(2);
  auto batch = make_metric_batch(lines + R"({"name":"half)", Malformed::refuse, 1);
  EXPECT_EQ(batch.bytes, static_cast<std::int64_t>(lines.size()));
  EXPECT_EQ(batch.lines, 4);
  ASSERT_EQ(batch.blocks.size(), 1u);
  EXPECT_EQ(unpack_metrics(batch.blocks[0]), record(1) + record(2));
  EXPECT_EQ(batch.blocks[0].records, 2);
  EXPECT_EQ(batch.blocks[0].names, (std::set<std::string>{"loss"}));
}

TEST(MetricBatch, LargeOnesArePackedInBlocksAndComeBackAsTheyWere) {
  std::string lines;
  for (int i = 0; i < 50'000; ++i) lines += record(i);
  auto batch = make_metric_batch(lines, Malformed::refuse, 1);
  ASSERT_GT(batch.blocks.size(), 1u);
  std::string back;
  std::size_t stored = 0;
  for (const auto& block : batch.blocks) {
    EXPECT_TRUE(block.packed);
    EXPECT_LE(block.size, 1 << 20);
    back += unpack_metrics(block);
    stored += block.bytes.size();
  }
  EXPECT_EQ(back, lines);
  EXPECT_LT(stored, lines.size() / 5);
}

TEST(MetricBatch, AClientsMistakeIsNamedByItsLine) {
  try {
    make_metric_batch(record(1) + "nonsense\n", Malformed::refuse, 7);
    FAIL() << "it was taken";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), base::Code::invalid);
    EXPECT_EQ(error.field(), "line 8");
  }
}

TEST(MetricBatch, AScriptsMistakeCostsOnlyItself) {
  auto batch = make_metric_batch(record(1) + "nonsense\n{}\n" + record(2), Malformed::skip, 1);
  EXPECT_EQ(batch.skipped, 2);
  EXPECT_TRUE(batch.problem.starts_with("line 2: ")) << batch.problem;
  ASSERT_EQ(batch.blocks.size(), 1u);
  EXPECT_EQ(batch.blocks[0].records, 2);
}

TEST(MetricBatch, AGapIsKeptInItsPlaceAndTold) {
  const std::string gap =
      R"({"name":"lathe.gap","kind":"gap","value":{"records":3,"error":"No space left on device"},"time":1})"
      "\n";
  auto batch = make_metric_batch(record(1) + gap + record(2), Malformed::refuse, 1);
  ASSERT_TRUE(batch.gap);
  EXPECT_EQ(batch.gap->records, 3);
  EXPECT_EQ(batch.gap->error, "No space left on device");
  EXPECT_EQ(unpack_metrics(batch.blocks.at(0)), record(1) + gap + record(2));
  const std::string other = R"({"name":"lathe.gap","kind":"scalar","value":3,"time":1})"
                            "\n";
  EXPECT_FALSE(make_metric_batch(other, Malformed::refuse, 1).gap) << "a script may call its metric so";
}

TEST(MetricBatch, ADamagedBlockIsToldApart) {
  db::metrics::Block block{7, 1, 100, true, "not zstd", {}};
  EXPECT_THROW(unpack_metrics(block), base::Error);
}

}  // namespace
}  // namespace lathe::server
