#include "db/metrics.h"

#include "db/test_support.h"

namespace lathe::db {
namespace {

struct Metrics : Rows {
  model::RunRecord run = add_run(connection, make_run("a")), other = add_run(connection, make_run("b"));

  static metrics::Block lines(const std::string& text, const std::string& name, bool packed = false) {
    return {0, 1, static_cast<std::int64_t>(text.size()), packed, text, {name}};
  }
  std::vector<metrics::Block> all(std::optional<std::string> name = {}) {
    return metrics::blocks_after(connection, run.sequence, 0, name, INT64_MAX);
  }
};

TEST_F(Metrics, SmallBatchesShareARowUntilItIsLarge) {
  const std::string text(1000, 'x');
  for (int i = 0; i < 40; ++i) metrics::append(connection, run.sequence, lines(text, "loss"));
  const auto blocks = all();
  ASSERT_EQ(blocks.size(), 3u);
  std::int64_t records = 0, bytes = 0;
  for (const auto& block : blocks) {
    EXPECT_LE(block.size, metrics::kTailBytes);
    EXPECT_EQ(block.size, static_cast<std::int64_t>(block.bytes.size()));
    records += block.records;
    bytes += block.size;
  }
  EXPECT_EQ(records, 40);
  EXPECT_EQ(bytes, 40'000);
}

TEST_F(Metrics, APackedBatchStandsAloneAndNothingJoinsIt) {
  metrics::append(connection, run.sequence, lines("a", "x"));
  metrics::append(connection, run.sequence, lines(std::string("\0\1", 2), "x", true));
  metrics::append(connection, run.sequence, lines("c", "x"));
  const auto blocks = all();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_TRUE(blocks[1].packed);
  EXPECT_EQ(blocks[1].bytes, std::string("\0\1", 2));
}

TEST_F(Metrics, AreFoundByNameAndApartFromOtherRuns) {
  metrics::append(connection, run.sequence, lines("a", "loss", true));
  metrics::append(connection, run.sequence, lines("b", "accuracy", true));
  metrics::append(connection, run.sequence, lines("c", "loss", true));
  metrics::append(connection, other.sequence, lines("d", "loss", true));
  EXPECT_EQ(all().size(), 3u);
  const auto loss = all("loss");
  ASSERT_EQ(loss.size(), 2u);
  EXPECT_EQ(loss[1].bytes, "c");
  EXPECT_TRUE(all("none").empty());
  EXPECT_EQ(metrics::names(connection, run.sequence), (std::vector<std::string>{"accuracy", "loss"}));
}

TEST_F(Metrics, AreReadInPiecesOfBoundedSize) {
  for (int i = 0; i < 5; ++i) metrics::append(connection, run.sequence, lines(std::string(100, 'x'), "a", true));
  const auto first = metrics::blocks_after(connection, run.sequence, 0, std::nullopt, 200);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(metrics::blocks_after(connection, run.sequence, first[1].id, std::nullopt, 1).size(), 1u);
}

TEST_F(Metrics, RememberHowMuchOfAJournalIsHere) {
  EXPECT_EQ(metrics::find_source(connection, run.sequence, "s").offset, 0);
  metrics::store_source(connection, run.sequence, "s", {10, 2, 1});
  metrics::store_source(connection, run.sequence, "s", {20, 3, 1});
  EXPECT_EQ(metrics::find_source(connection, run.sequence, "s").offset, 20);
  EXPECT_EQ(metrics::find_source(connection, run.sequence, "s").lines, 3);
  EXPECT_EQ(metrics::find_source(connection, other.sequence, "s").offset, 0);
}

}  // namespace
}  // namespace lathe::db
