#include "cas/tree.h"

#include <algorithm>

#include "base/strings.h"
#include "cas/tree_line.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxPart = 255;

base::Result<void> check_size(std::string_view bytes) {
  if (bytes.size() > kMaxTreeBytes)
    return base::fail(base::Code::too_large, "a tree manifest of {}; at most {}", base::human_bytes(bytes.size()),
                      base::human_bytes(kMaxTreeBytes));
  if (static_cast<std::size_t>(std::ranges::count(bytes, '\n')) > kMaxTreeEntries + 1)
    return base::fail(base::Code::too_large, "a tree manifest has more than {} entries", kMaxTreeEntries);
  return {};
}

// Sorted without repeats, and no path is both a file and a folder.
base::Result<void> check_order(const Tree& tree) {
  for (std::size_t i = 1; i < tree.entries.size(); ++i)
    if (!(tree.entries[i - 1].path < tree.entries[i].path))
      return base::fail(base::Code::corrupt, "tree entries are not sorted at '{}'",
                        base::printable(tree.entries[i].path));
  return check_no_file_is_a_folder(tree);
}

}  // namespace

std::uint64_t Tree::total_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& entry : entries) sum += entry.size;
  return sum;
}

std::string encode_tree(const Tree& tree) {
  std::string out(kTreeHeader);
  out.reserve(tree.entries.size() * 128);
  for (const auto& entry : tree.entries) append_tree_line(out, entry);
  return out;
}

base::Result<Tree> decode_tree(std::string_view bytes) {
  if (!bytes.starts_with(kTreeHeader))
    return base::fail(base::Code::corrupt, "these bytes are not a tree manifest of version 1");
  LATHE_TRY_VOID(check_size(bytes));
  bytes.remove_prefix(kTreeHeader.size());
  Tree tree;
  tree.entries.reserve(static_cast<std::size_t>(std::ranges::count(bytes, '\n')));
  while (!bytes.empty()) {
    auto end = bytes.find('\n');
    if (end == std::string_view::npos) return base::fail(base::Code::corrupt, "a tree manifest is cut short");
    LATHE_TRY(auto entry, decode_tree_line(bytes.substr(0, end)));
    LATHE_TRY_VOID(check_tree_path(entry.path));
    tree.entries.push_back(std::move(entry));
    bytes.remove_prefix(end + 1);
  }
  LATHE_TRY_VOID(check_order(tree));
  LATHE_TRY_VOID(check_tree_links(tree));
  return tree;
}

base::Result<void> check_tree_path(std::string_view path) {
  auto bad = [&](std::string_view why) {
    return base::fail(
        base::Error(base::Code::invalid, fmt::format("the path '{}' {}", base::printable(path), why)).field("path"));
  };
  if (path.empty()) return bad("is empty");
  if (path.size() > kMaxPath) return bad(fmt::format("is longer than {} bytes", kMaxPath));
  if (static_cast<std::size_t>(std::ranges::count(path, '/')) >= kMaxPathParts)
    return bad(fmt::format("has more than {} parts", kMaxPathParts));
  if (path.find('\0') != std::string_view::npos) return bad("has a NUL byte");
  if (!base::is_valid_utf8(path)) return bad("is not valid UTF-8");
  for (std::size_t start = 0; start <= path.size();) {
    auto end = std::min(path.find('/', start), path.size());
    auto part = path.substr(start, end - start);
    if (part.empty()) return bad("has an empty part");
    if (part == "." || part == "..") return bad("has a '.' or '..' part");
    if (part.size() > kMaxPart) return bad(fmt::format("has a part longer than {} bytes", kMaxPart));
    start = end + 1;
  }
  return {};
}

}  // namespace lathe::cas
