// Ignore rules with git's syntax and meaning: comments, escapes, negation, `**`, anchoring, folder-only patterns,
// classes. IgnoreFile is one parsed file; IgnoreRules is the stack of those from the root down to the folder being
// walked, where the deepest file speaks first and, inside a file, the last pattern. A folder that is ignored is not
// entered, so nothing below it can be taken back, as in git. Not thread-safe; values otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cas/wildcard.h"

namespace lathe::cas {

class IgnoreFile {
 public:
  explicit IgnoreFile(std::string_view text);
  // What the last matching pattern says: true ignore, false take back; nothing when none matches. `path` is relative to
  // the folder of this file.
  std::optional<bool> verdict(std::string_view path, bool is_folder) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    bool negated = false;
    bool folders_only = false;
    bool by_name = false;              // no slash: compared with the last part at any depth
    std::string prefix;                // leading text without wildcards, compared byte by byte
    std::optional<Wildcard> wildcard;  // the rest; nothing when prefix is all
  };
  static std::optional<Pattern> parse(std::string_view line);
  static bool matches(const Pattern& pattern, std::string_view path, bool is_folder);

  std::vector<Pattern> patterns_;
};

class IgnoreRules {
 public:
  // Call on entering a folder that has an ignore file; `folder` is relative to the root, "" for the root itself.
  void push(std::string folder, IgnoreFile file) { levels_.push_back({std::move(folder), std::move(file)}); }
  // Call on leaving it.
  void pop() { levels_.pop_back(); }
  bool empty() const { return levels_.empty(); }
  // Whether the entry is left out, given that the folders above it are not.
  bool ignores(std::string_view path, bool is_folder) const;

 private:
  struct Level {
    std::string folder;
    IgnoreFile file;
  };
  std::vector<Level> levels_;
};

}  // namespace lathe::cas
