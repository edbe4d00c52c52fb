#include "cas/tree.h"

#include <algorithm>

#include "base/strings.h"
#include "cas/tree_links.h"

namespace lathe::cas {
namespace {

constexpr std::string_view kHeader = "lathe-tree 1\n";
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxPart = 255;
constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 50;

// A tab separates a link from its target and a newline ends an entry, so both are escaped inside names.
void append_escaped(std::string& out, std::string_view text) {
  for (char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

base::Result<std::string> unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\t') return base::fail(base::Code::corrupt, "a tree entry has a tab that is not escaped");
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    char next = ++i < text.size() ? text[i] : '\0';
    if (next == '\\')
      out += '\\';
    else if (next == 't')
      out += '\t';
    else if (next == 'n')
      out += '\n';
    else
      return base::fail(base::Code::corrupt, "a tree entry has an unknown escape");
  }
  return out;
}

base::Result<TreeEntry> decode_file(std::string_view line, bool executable) {
  TreeEntry entry;
  entry.executable = executable;
  if (line.size() < 66 || line[64] != ' ') return base::fail(base::Code::corrupt, "a tree entry is too short");
  LATHE_TRY(entry.digest, base::Digest::parse(line.substr(0, 64)));
  line.remove_prefix(65);
  auto space = line.find(' ');
  if (space == std::string_view::npos) return base::fail(base::Code::corrupt, "a tree entry has no path");
  auto digits = line.substr(0, space);
  auto size = base::parse_u64(digits);
  if (!size || *size > kMaxFileSize || (digits.size() > 1 && digits[0] == '0'))
    return base::fail(base::Code::corrupt, "a tree entry has the bad size '{}'", base::printable(digits, 40));
  entry.size = *size;
  LATHE_TRY(entry.path, unescape(line.substr(space + 1)));
  return entry;
}

base::Result<TreeEntry> decode_link(std::string_view line) {
  auto tab = line.find('\t');
  if (tab == std::string_view::npos) return base::fail(base::Code::corrupt, "a tree link has no target");
  TreeEntry entry;
  LATHE_TRY(entry.path, unescape(line.substr(0, tab)));
  LATHE_TRY(entry.link_target, unescape(line.substr(tab + 1)));
  if (entry.link_target.empty()) return base::fail(base::Code::corrupt, "a tree link has an empty target");
  return entry;
}

base::Result<TreeEntry> decode_line(std::string_view line) {
  auto kind = line.substr(0, 2);
  if (kind == "f ") return decode_file(line.substr(2), false);
  if (kind == "x ") return decode_file(line.substr(2), true);
  if (kind == "l ") return decode_link(line.substr(2));
  return base::fail(base::Code::corrupt, "a tree entry of unknown kind '{}'", base::printable(kind));
}

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
  std::string out(kHeader);
  out.reserve(tree.entries.size() * 128);
  for (const auto& entry : tree.entries) {
    if (!entry.link_target.empty()) {
      out += "l ";
      append_escaped(out, entry.path);
      out += '\t';
      append_escaped(out, entry.link_target);
    } else {
      out += entry.executable ? "x " : "f ";
      out += entry.digest.hex();
      out += ' ';
      fmt::format_to(std::back_inserter(out), "{}", entry.size);
      out += ' ';
      append_escaped(out, entry.path);
    }
    out += '\n';
  }
  return out;
}

base::Result<Tree> decode_tree(std::string_view bytes) {
  if (!bytes.starts_with(kHeader))
    return base::fail(base::Code::corrupt, "these bytes are not a tree manifest of version 1");
  LATHE_TRY_VOID(check_size(bytes));
  bytes.remove_prefix(kHeader.size());
  Tree tree;
  tree.entries.reserve(static_cast<std::size_t>(std::ranges::count(bytes, '\n')));
  while (!bytes.empty()) {
    auto end = bytes.find('\n');
    if (end == std::string_view::npos) return base::fail(base::Code::corrupt, "a tree manifest is cut short");
    LATHE_TRY(auto entry, decode_line(bytes.substr(0, end)));
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
