// Metric journals of any bytes: what is kept comes back line by line, and every byte up to the last line break is
// accounted for.
#include <cstddef>
#include <cstdint>

#include "server/metric_batch.h"
#include "wire/metric.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lathe;
  const std::string_view journal(reinterpret_cast<const char*>(data), size);
  const auto batch = server::make_metric_batch(journal, server::Malformed::skip, 1);
  const auto end = journal.rfind('\n');
  if (batch.bytes != static_cast<std::int64_t>(end == journal.npos ? 0 : end + 1)) __builtin_trap();
  std::int64_t records = 0;
  for (const auto& block : batch.blocks) {
    const std::string lines = server::unpack_metrics(block);
    for (std::size_t at = 0, stop; (stop = lines.find('\n', at)) != lines.npos; at = stop + 1) {
      const auto line = std::string_view(lines).substr(at, stop - at);
      if (line.front() != '{' || !block.names.contains(wire::metric_name(line))) __builtin_trap();
      ++records;
    }
  }
  if (records + batch.skipped > batch.lines) __builtin_trap();
  return 0;
}
