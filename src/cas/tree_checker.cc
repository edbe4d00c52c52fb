#include "cas/tree_checker.h"

#include "base/strings.h"
#include "cas/tree_line.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

// A path and a target of the largest size, every byte escaped, and a digest: no line of a good manifest is longer.
constexpr std::size_t kLongestLine = 32 * 1024;

}  // namespace

base::Result<void> TreeChecker::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ > kMaxTreeBytes)
    return base::fail(base::Code::too_large, "a tree manifest is larger than {}", base::human_bytes(kMaxTreeBytes));
  for (auto end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
    std::string joined = std::exchange(rest_, {});
    const auto piece = bytes.substr(0, end);
    const std::string_view line = joined.empty() ? piece : std::string_view(joined += piece);
    LATHE_TRY_VOID(take_line(line));
    bytes.remove_prefix(end + 1);
  }
  if (rest_.size() + bytes.size() > kLongestLine)
    return base::fail(base::Code::corrupt, "a tree manifest has a line of more than {} bytes", kLongestLine);
  rest_ += bytes;
  return {};
}

base::Result<void> TreeChecker::take_line(std::string_view line) {
  if (lines_++ == 0) {
    if (line == kTreeHeader.substr(0, kTreeHeader.size() - 1)) return {};
    return base::fail(base::Code::corrupt, "these bytes are not a tree manifest of version 1");
  }
  if (lines_ > kMaxTreeEntries + 1)
    return base::fail(base::Code::too_large, "a tree manifest has more than {} entries", kMaxTreeEntries);
  LATHE_TRY(auto entry, decode_tree_line(line));
  LATHE_TRY_VOID(check_tree_path(entry.path));
  if (lines_ > 2 && !(last_path_ < entry.path))
    return base::fail(base::Code::corrupt, "tree entries are not sorted at '{}'", base::printable(entry.path));
  while (!beginnings_.empty() && !entry.path.starts_with(beginnings_.back())) beginnings_.pop_back();
  if (!beginnings_.empty() && entry.path[beginnings_.back().size()] == '/')
    return base::fail(base::Code::corrupt, "'{}' is both a file and a folder in a tree",
                      base::printable(beginnings_.back()));
  beginnings_.push_back(entry.path);
  last_path_ = entry.path;
  if (!entry.link_target.empty()) links_.entries.push_back(std::move(entry));
  return {};
}

base::Result<void> TreeChecker::finish() {
  if (lines_ == 0) return base::fail(base::Code::corrupt, "these bytes are not a tree manifest of version 1");
  if (!rest_.empty()) return base::fail(base::Code::corrupt, "a tree manifest is cut short");
  return check_tree_links(links_);
}

}  // namespace lathe::cas
