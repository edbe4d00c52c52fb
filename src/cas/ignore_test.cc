#include "cas/ignore.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "cas/testing.h"

namespace lathe::cas {
namespace {

namespace fs = std::filesystem;

bool ignored(std::string_view file, std::string_view path, bool is_folder = false) {
  return IgnoreFile(file).verdict(path, is_folder).value_or(false);
}

TEST(Ignore, CommentsBlankLinesAndLineEndings) {
  EXPECT_FALSE(ignored("# a\n\n", "a"));
  EXPECT_FALSE(ignored("#a", "#a"));
  EXPECT_TRUE(ignored("\\#a", "#a"));
  EXPECT_TRUE(ignored("a\r\nb\r\n", "a"));
  EXPECT_TRUE(
      ignored("\xef\xbb\xbf"
              "a",
              "a"))
      << "a byte order mark is skipped";
  EXPECT_TRUE(ignored("a", "a")) << "the last line needs no newline";
}

TEST(Ignore, TrailingSpacesCountOnlyWhenEscaped) {
  EXPECT_TRUE(ignored("a   ", "a"));
  EXPECT_TRUE(ignored("a\\ ", "a "));
  EXPECT_FALSE(ignored("a\\ ", "a"));
  EXPECT_TRUE(ignored("a\\  ", "a "));
  EXPECT_TRUE(ignored(" a", " a"));
  EXPECT_TRUE(ignored("a b", "a b"));
  EXPECT_TRUE(ignored("a\t", "a\t"));
}

TEST(Ignore, TheLastMatchingPatternDecides) {
  EXPECT_FALSE(ignored("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(ignored("!keep.log\n*.log", "keep.log"));
  EXPECT_TRUE(ignored("\\!important!.txt", "!important!.txt"));
}

TEST(Ignore, ASlashAnchorsAndNoSlashMatchesAtAnyDepth) {
  EXPECT_TRUE(ignored("a", "x/y/a"));
  EXPECT_FALSE(ignored("/a", "x/a"));
  EXPECT_TRUE(ignored("/a", "a"));
  EXPECT_TRUE(ignored("x/a", "x/a"));
  EXPECT_FALSE(ignored("x/a", "y/x/a"));
  EXPECT_FALSE(ignored("doc/*.txt", "doc/sub/a.txt"));
}

TEST(Ignore, ASlashAtTheEndMeansFoldersOnly) {
  EXPECT_TRUE(ignored("build/", "build", true));
  EXPECT_FALSE(ignored("build/", "build", false));
  EXPECT_TRUE(ignored("build/", "x/build", true)) << "the last slash does not anchor";
}

TEST(Ignore, TwoStarsCrossFolders) {
  EXPECT_TRUE(ignored("**/foo", "foo"));
  EXPECT_TRUE(ignored("**/foo", "a/b/foo"));
  EXPECT_TRUE(ignored("**/foo/bar", "x/foo/bar"));
  EXPECT_TRUE(ignored("abc/**", "abc/x/y"));
  EXPECT_FALSE(ignored("abc/**", "abc", true));
  EXPECT_TRUE(ignored("a/**/b", "a/b"));
  EXPECT_TRUE(ignored("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(ignored("a/**/b", "a/xb"));
  EXPECT_FALSE(ignored("x/a**b", "x/a/b")) << "elsewhere two stars are one";
}

TEST(Ignore, ClassesRangesAndEscapes) {
  EXPECT_TRUE(ignored("[a-c]x", "bx"));
  EXPECT_FALSE(ignored("[!a-c]x", "bx"));
  EXPECT_FALSE(ignored("[^a-c]x", "bx"));
  EXPECT_TRUE(ignored("[[:digit:][:upper:]]", "7"));
  EXPECT_FALSE(ignored("[[:digit:]]", "x"));
  EXPECT_TRUE(ignored("[]-]", "]"));
  EXPECT_TRUE(ignored("[]-]", "-"));
  EXPECT_TRUE(ignored("[\\]]", "]"));
  EXPECT_FALSE(ignored("a[!b]c/d", "a/c/d")) << "a class never matches a slash";
  EXPECT_FALSE(ignored("[a", "[a")) << "an open class matches nothing";
  EXPECT_FALSE(ignored("[[:nonsense:]]", "n"));
  EXPECT_FALSE(ignored("a\\", "a\\")) << "a backslash at the end matches nothing";
  EXPECT_TRUE(ignored("\\*", "*"));
  EXPECT_FALSE(ignored("\\*", "a"));
}

TEST(Ignore, DeeperFilesWinOverTheirParents) {
  IgnoreRules rules;
  rules.push("", IgnoreFile("*.bin\n/sub/secret"));
  EXPECT_TRUE(rules.ignores("sub/x.bin", false));
  rules.push("sub", IgnoreFile("!x.bin\n/only-here"));
  EXPECT_FALSE(rules.ignores("sub/x.bin", false));
  EXPECT_TRUE(rules.ignores("sub/secret", false));
  EXPECT_TRUE(rules.ignores("sub/only-here", false));
  EXPECT_FALSE(rules.ignores("sub/deep/only-here", false));
  rules.pop();
  EXPECT_TRUE(rules.ignores("other/x.bin", false));
}

TEST(Ignore, AHostilePatternCostsLittle) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "**/*a*";
  EXPECT_FALSE(ignored("/" + pattern + "b", std::string(3000, 'a')));
}

// ---- Compared with git itself ----

std::string run(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  std::size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) out.append(buffer, n);
  ::pclose(pipe);
  return out;
}

class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : random_(seed) {
    grow("", 0);
    write_ignore("");
    for (const auto& folder : folders_)
      if (pick(4) == 0) write_ignore(folder);
  }

  const std::set<std::string>& paths() const { return files_; }
  const std::set<std::string>& folders() const { return folders_; }
  const std::map<std::string, std::string>& ignore_files() const { return ignore_files_; }

 private:
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  std::string name() {
    static const std::vector<std::string> names = {"a",   "b",    "ab", "abc", "a.o", "b.o", "x-y", "[a]",
                                                   "a b", "c\\d", "*",  "A1",  "ba",  "!a",  "#b",  "a "};
    return names[pick(names.size())];
  }
  void grow(const std::string& folder, int depth) {
    auto prefix = folder.empty() ? "" : folder + "/";
    for (std::size_t i = 0, n = 2 + pick(4); i < n; ++i) {
      auto path = prefix + name();
      if (files_.contains(path) || folders_.contains(path)) continue;
      if (depth < 3 && pick(5) < 2) {
        folders_.insert(path);
        grow(path, depth + 1);
      } else {
        files_.insert(path);
      }
    }
  }
  std::string piece() {
    static const std::vector<std::string> pieces = {"a",
                                                    "b",
                                                    "ab",
                                                    "abc",
                                                    "*",
                                                    "**",
                                                    "?",
                                                    "[ab]",
                                                    "[!a]",
                                                    "[^b]",
                                                    "[a-c]",
                                                    "[[:alpha:]]",
                                                    "[[:alpha:]-z]",
                                                    "[[:space:]]",
                                                    "[]a]",
                                                    "[a",
                                                    "\\*",
                                                    "\\",
                                                    "\\a",
                                                    ".o",
                                                    "*.o",
                                                    "a*",
                                                    "*b",
                                                    "x-y",
                                                    "***",
                                                    "[[a]",
                                                    "[!]a]",
                                                    " ",
                                                    "\\ ",
                                                    "[a\\]]",
                                                    "[[:bad:]]",
                                                    "A",
                                                    "1",
                                                    "[A-Z]",
                                                    "-",
                                                    "c\\\\d",
                                                    "[+--]",
                                                    "[a-]",
                                                    "\\["};
    return pieces[pick(pieces.size())];
  }
  std::string pattern() {
    std::string out;
    if (pick(5) == 0) out += "!";
    if (pick(4) == 0) out += "/";
    for (std::size_t i = 0, n = 1 + pick(3); i < n; ++i) {
      if (i > 0) out += "/";
      for (std::size_t j = 0, m = 1 + pick(2); j < m; ++j) out += piece();
    }
    if (pick(5) == 0) out += "/";
    if (pick(12) == 0) out += "**";
    if (pick(12) == 0) out += "  ";
    if (pick(20) == 0) out += "\r";
    return pick(15) == 0 ? "# " + out : out;
  }
  void write_ignore(const std::string& folder) {
    std::string text;
    for (std::size_t i = 0, n = 1 + pick(4); i < n; ++i) text += pattern() + "\n";
    ignore_files_[folder] = text;
  }

  std::mt19937_64 random_;
  std::set<std::string> files_, folders_;
  std::map<std::string, std::string> ignore_files_;
};

// What a walk with our rules leaves out: an ignored folder takes everything below with it.
std::set<std::string> ignored_by_us(const RandomTree& tree) {
  std::set<std::string> out;
  auto all = tree.paths();
  all.insert(tree.folders().begin(), tree.folders().end());
  for (const auto& path : all) {
    IgnoreRules rules;
    if (auto root = tree.ignore_files().find(""); root != tree.ignore_files().end())
      rules.push("", IgnoreFile(root->second));
    bool gone = false;
    for (auto slash = path.find('/'); slash != std::string::npos && !gone; slash = path.find('/', slash + 1)) {
      auto folder = path.substr(0, slash);
      gone = rules.ignores(folder, true);
      if (auto file = tree.ignore_files().find(folder); file != tree.ignore_files().end())
        rules.push(folder, IgnoreFile(file->second));
    }
    if (gone || rules.ignores(path, tree.folders().contains(path))) out.insert(path);
  }
  return out;
}

std::set<std::string> ignored_by_git(const RandomTree& tree, const fs::path& root) {
  std::string questions;
  for (const auto& folder : tree.folders()) {
    fs::create_directories(root / folder);
    questions += folder + '\0';
  }
  for (const auto& path : tree.paths()) {
    testing::write_file(root / path, "");
    questions += path + '\0';
  }
  for (const auto& [folder, text] : tree.ignore_files()) testing::write_file(root / folder / ".gitignore", text);
  testing::write_file(root / ".git/questions", questions);
  auto out = run(fmt::format("cd {} && git check-ignore -z --no-index --stdin < .git/questions", root.string()));
  std::set<std::string> ignored;
  for (std::size_t start = 0; start < out.size();) {
    auto end = out.find('\0', start);
    ignored.insert(out.substr(start, end - start));
    start = end + 1;
  }
  return ignored;
}

TEST(IgnoreAgainstGit, AgreesOnRandomTreesAndPatterns) {
  if (run("git --version").empty()) GTEST_SKIP() << "git is not installed";
  const char* given = std::getenv("LATHE_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}() % 1'000'000'000;
  const int cases = given != nullptr ? 1 : 300;
  std::size_t ignored = 0, asked = 0;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    testing::Folder folder;
    run(fmt::format("git init -q {}", folder.path().string()));
    RandomTree tree(seed);
    auto ours = ignored_by_us(tree), theirs = ignored_by_git(tree, folder.path());
    ignored += theirs.size();
    asked += tree.paths().size() + tree.folders().size();
    std::string files;
    for (const auto& [at, text] : tree.ignore_files()) files += fmt::format("--- {}/.gitignore\n{}", at, text);
    ASSERT_EQ(ours, theirs) << "replay with LATHE_TEST_SEED=" << seed << "\n" << files;
  }
  EXPECT_TRUE(given != nullptr || (ignored > asked / 20 && ignored < asked * 19 / 20))
      << "the cases say too little: " << ignored << " of " << asked;
}

}  // namespace
}  // namespace lathe::cas
