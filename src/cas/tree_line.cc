#include "cas/tree_line.h"

#include "base/strings.h"

namespace lathe::cas {
namespace {

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

}  // namespace

base::Result<TreeEntry> decode_tree_line(std::string_view line) {
  auto kind = line.substr(0, 2);
  if (kind == "f ") return decode_file(line.substr(2), false);
  if (kind == "x ") return decode_file(line.substr(2), true);
  if (kind == "l ") return decode_link(line.substr(2));
  return base::fail(base::Code::corrupt, "a tree entry of unknown kind '{}'", base::printable(kind));
}

void append_tree_line(std::string& out, const TreeEntry& entry) {
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

}  // namespace lathe::cas
