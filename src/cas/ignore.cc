#include "cas/ignore.h"

#include <algorithm>
#include <ranges>

namespace lathe::cas {
namespace {

// Spaces at the end do not count unless a backslash keeps them.
std::string_view without_trailing_spaces(std::string_view line) {
  std::size_t keep = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] == '\\' && ++i == line.size()) return line;
    keep = i + 1;
  }
  return line.substr(0, keep);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

IgnoreFile::IgnoreFile(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto pattern = parse(line)) patterns_.push_back(std::move(*pattern));
  }
}

std::optional<IgnoreFile::Pattern> IgnoreFile::parse(std::string_view line) {
  if (line.starts_with('#')) return std::nullopt;
  line = without_trailing_spaces(line.substr(0, line.find('\0')));
  Pattern pattern;
  if (line.starts_with('!')) {
    pattern.negated = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.folders_only = true;
    line.remove_suffix(1);
  }
  if (line.empty()) return std::nullopt;
  pattern.by_name = line.find('/') == std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  // Comparing the plain beginning apart is fast, and it is also what git does: so "a**" begins a new pattern with "**".
  auto plain = pattern.by_name ? (line.find_first_of("*?[\\") == std::string_view::npos ? line.size() : 0)
                               : std::min(line.find_first_of("*?[\\"), line.size());
  pattern.prefix = line.substr(0, plain);
  if (plain < line.size()) pattern.wildcard.emplace(line.substr(plain));
  return pattern;
}

bool IgnoreFile::matches(const Pattern& pattern, std::string_view path, bool is_folder) {
  if (pattern.folders_only && !is_folder) return false;
  auto text = pattern.by_name ? last_part(path) : path;
  if (!text.starts_with(pattern.prefix)) return false;
  text.remove_prefix(pattern.prefix.size());
  return pattern.wildcard ? pattern.wildcard->matches(text) : text.empty();
}

std::optional<bool> IgnoreFile::verdict(std::string_view path, bool is_folder) const {
  for (const auto& pattern : std::views::reverse(patterns_))
    if (matches(pattern, path, is_folder)) return !pattern.negated;
  return std::nullopt;
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (const auto& level : std::views::reverse(levels_)) {
    auto relative = level.folder.empty() ? path : path.substr(level.folder.size() + 1);
    if (auto verdict = level.file.verdict(relative, is_folder)) return *verdict;
  }
  return false;
}

}  // namespace lathe::cas
