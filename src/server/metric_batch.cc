#include "server/metric_batch.h"

#include <zstd.h>

#include "base/error.h"
#include "base/strings.h"

namespace lathe::server {

using base::Code;
using base::Error;

namespace {

constexpr std::int64_t kBlockBytes = 1 << 20;
// Below this, packing saves less than sharing a row with the next batch does.
constexpr std::int64_t kWorthPacking = 4096;
constexpr int kLevel = 3;

void pack(db::metrics::Block& block) {
  block.size = static_cast<std::int64_t>(block.bytes.size());
  if (block.size < kWorthPacking) return;
  std::string packed(ZSTD_compressBound(block.bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), block.bytes.data(), block.bytes.size(), kLevel);
  if (ZSTD_isError(size) || size >= block.bytes.size()) return;
  packed.resize(size);
  packed.shrink_to_fit();
  block.bytes = std::move(packed);
  block.packed = true;
}

class BatchMaker {
 public:
  BatchMaker(Malformed malformed, std::int64_t first_line) : malformed_(malformed), first_line_(first_line) {}

  void add(std::string_view line) {
    const std::int64_t number = first_line_ + batch_.lines++;
    line = base::trim(line);
    if (line.empty()) return;
    if (auto name = wire::check_metric(line))
      keep(line, std::move(*name));
    else
      refuse(number, name.error());
  }

  MetricBatch finish(std::int64_t bytes) {
    if (block_.records > 0) seal();
    batch_.bytes = bytes;
    return std::move(batch_);
  }

 private:
  void keep(std::string_view line, std::string name) {
    if (name == wire::kGapName && !batch_.gap) batch_.gap = wire::read_gap(line);
    if (block_.records > 0 && static_cast<std::int64_t>(block_.bytes.size() + line.size()) > kBlockBytes) seal();
    block_.bytes += line;
    block_.bytes += '\n';
    ++block_.records;
    block_.names.insert(std::move(name));
  }

  void refuse(std::int64_t number, const Error& why) {
    if (malformed_ == Malformed::refuse)
      throw Error(Code::invalid, fmt::format("line {} is not a metric record: {}", number, why.message()))
          .field(fmt::format("line {}", number))
          .hint("each line is an object with name, kind, value and time; nothing of this request was kept");
    if (batch_.skipped++ == 0) batch_.problem = fmt::format("line {}: {}", number, why.message());
  }

  void seal() {
    pack(block_);
    batch_.blocks.push_back(std::move(block_));
    block_ = {};
  }

  const Malformed malformed_;
  const std::int64_t first_line_;
  MetricBatch batch_;
  db::metrics::Block block_;
};

}  // namespace

MetricBatch make_metric_batch(std::string_view journal, Malformed malformed, std::int64_t first_line) {
  BatchMaker maker(malformed, first_line);
  std::size_t at = 0;
  for (std::size_t end; (end = journal.find('\n', at)) != journal.npos; at = end + 1)
    maker.add(journal.substr(at, end - at));
  return maker.finish(static_cast<std::int64_t>(at));
}

std::string unpack_metrics(const db::metrics::Block& block) {
  if (!block.packed) return block.bytes;
  std::string lines(static_cast<std::size_t>(block.size), '\0');
  const std::size_t size = ZSTD_decompress(lines.data(), lines.size(), block.bytes.data(), block.bytes.size());
  if (ZSTD_isError(size) || size != lines.size())
    throw Error(Code::corrupt, fmt::format("metric block {} is damaged", block.id))
        .hint("check the database and restore a backup: lathe restore");
  return lines;
}

}  // namespace lathe::server
