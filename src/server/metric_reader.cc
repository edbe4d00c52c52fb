#include "server/metric_reader.h"

#include "base/strings.h"
#include "db/cursor.h"
#include "db/metrics.h"
#include "server/metric_batch.h"
#include "wire/metric.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::metrics::Block;
using rt::Task;

namespace {

constexpr std::int64_t kReadBytes = 1 << 20;
constexpr std::size_t kPageBytes = 4u << 20;

// The next line to be read: `line` of `block`, of the first run that is not before `run`.
struct Position {
  std::int64_t run = 0, block = 0, line = 0;
};

std::string format_position(const Position& at) { return fmt::format("{} {} {}", at.run, at.block, at.line); }

Position parse_position(const std::string& text) {
  auto parts = base::split(text, ' ');
  std::int64_t numbers[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    auto number = parts.size() == 3 ? base::parse_u64(parts[i]) : std::nullopt;
    if (!number || *number > INT64_MAX) throw Error(Code::invalid, "the cursor is not one of ours").field("cursor");
    numbers[i] = static_cast<std::int64_t>(*number);
  }
  return {numbers[0], numbers[1], numbers[2]};
}

// Lines of one run, as the answer shows them.
struct LineFilter {
  const std::optional<std::string>& name;
  std::string prefix;  // what every line begins with instead of its brace

  LineFilter(const MetricSelection& selection, const MetricSelection::Run& run)
      : name(selection.name), prefix(selection.name_runs ? fmt::format("{{\"run\":\"{}\",", run.id.value) : "{") {}
  bool passes(std::string_view line) const { return !name || wire::metric_name(line) == *name; }
};

// Adds lines of `block` to `out` until `full` says that the next one is too many; true when the block is done.
template <class Full>
bool add_lines(const Block& block, const LineFilter& filter, Position& at, char separator, std::string& out,
               Full full) {
  const std::string text = unpack_metrics(block);
  if (at.block != block.id) at = {at.run, block.id, 0};
  std::int64_t number = 0;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    if (number++ < at.line) continue;
    std::string_view line(text.data() + begin, end - begin);
    if (filter.passes(line)) {
      if (full()) return false;
      if (separator == ',' && !out.empty()) out += ',';
      out += filter.prefix;
      out += line.substr(1);
      if (separator == '\n') out += '\n';
    }
    at.line = number;
  }
  return true;
}

Task<std::vector<Block>> read_blocks(Core& core, const MetricSelection& selection, Position at) {
  // Together with the block of the position itself, of which lines may be left.
  co_return co_await core.database.read([&](db::Connection& connection) {
    return db::metrics::blocks_after(connection, at.run, at.block - 1, selection.name, kReadBytes);
  });
}

}  // namespace

Task<MetricPage> read_metric_page(Core& core, const MetricSelection& selection, const std::string& scope, int limit,
                                  const std::string& cursor) {
  MetricPage page;
  Position at = cursor.empty() ? Position{} : parse_position(db::read_cursor(scope, cursor));
  int count = 0;
  auto full = [&] { return count++ == limit || page.items.size() >= kPageBytes; };
  for (const auto& run : selection.runs) {
    if (run.sequence < at.run) continue;
    if (run.sequence != at.run) at = {run.sequence, 0, 0};
    LineFilter filter(selection, run);
    for (bool more = true; more;) {
      auto blocks = co_await read_blocks(core, selection, at);
      const bool whole = co_await core.files.run(core.home, [&] {
        for (const auto& block : blocks)
          if (!add_lines(block, filter, at, ',', page.items, full)) return false;
        return true;
      });
      if (!whole) {
        page.next = db::make_cursor(scope, format_position(at));
        co_return page;
      }
      more = !blocks.empty();
      if (more) ++at.block, at.line = 0;  // behind the last one
    }
  }
  co_return page;
}

Task<void> stream_metrics(Core& core, MetricSelection selection, rt::CancelToken cancel, net::BodyWriter& out) {
  for (const auto& run : selection.runs) {
    Position at{run.sequence, 0, 0};
    LineFilter filter(selection, run);
    for (;;) {
      cancel.check();
      auto blocks = co_await read_blocks(core, selection, at);
      if (blocks.empty()) break;
      auto text = co_await core.files.run(core.home, [&] {
        std::string lines;
        for (const auto& block : blocks) add_lines(block, filter, at, '\n', lines, [] { return false; });
        return lines;
      });
      if (!text.empty()) co_await out.write(text);
      ++at.block, at.line = 0;
    }
  }
}

}  // namespace lathe::server
