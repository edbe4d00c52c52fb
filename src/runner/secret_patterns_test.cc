#include "runner/secret_patterns.h"

#include <gtest/gtest.h>

#include <random>

namespace lathe::runner {
namespace {

// The input in pieces of this size, as a log would show it.
std::string shown(const SecretPatterns& patterns, const std::string& input, std::size_t piece) {
  std::string out, pending;
  std::size_t covered = 0;
  auto step = [&](bool last) {
    auto hidden = patterns.hide(pending, covered, last);
    out += hidden.text;
    pending.erase(0, hidden.used);
    covered = hidden.covered;
  };
  for (std::size_t at = 0; at < input.size(); at += piece) {
    pending += input.substr(at, piece);
    step(false);
  }
  step(true);
  EXPECT_TRUE(pending.empty());
  return out;
}

// Secrets side by side may share a mark or have one each.
std::string with_single_marks(std::string text) {
  for (auto at = text.find("******"); at != text.npos; at = text.find("******")) text.erase(at, 3);
  return text;
}

SecretPatterns patterns_of(const std::vector<std::string>& secrets) {
  SecretPatterns patterns;
  for (const auto& secret : secrets) patterns.add(secret);
  return patterns;
}

TEST(SecretPatterns, HidesASecretHoweverItsTextIsCut) {
  auto patterns = patterns_of({"pass-word"});
  for (std::size_t piece = 1; piece < 30; ++piece)
    EXPECT_EQ(shown(patterns, "a pass-word, pass-wor, pass-pass-word\n", piece), "a ***, pass-wor, pass-***\n")
        << piece;
}

TEST(SecretPatterns, HidesTheFormsInWhichScriptsPrint) {
  auto patterns = patterns_of({"a b/c?\xc3\xbc\"\n~>>?"});
  for (const char* form :
       {"a b/c?\xc3\xbc\"\n~>>?", "YSBiL2M/w7wiCn4+Pj8=", "YSBiL2M_w7wiCn4-Pj8", "a%20b/c%3F%C3%BC%22%0A~%3E%3E%3F",
        "a%20b%2Fc%3F%C3%BC%22%0A~%3E%3E%3F", "a+b%2Fc%3F%C3%BC%22%0A~%3E%3E%3F", "a b/c?\xc3\xbc\\\"\\n~>>?"}) {
    auto out = shown(patterns, std::string("<") + form + ">", 5);
    EXPECT_TRUE(out == "<***>" || out == "<***=>") << form << " became " << out;
  }
}

TEST(SecretPatterns, LeavesWhatIsTooShortToBeASecret) {
  auto patterns = patterns_of({"abc", ""});
  EXPECT_TRUE(patterns.empty());
  EXPECT_EQ(shown(patterns, "abcabc", 1), "abcabc");
}

TEST(SecretPatterns, ShowsNoPartOfSecretsThatOverlap) {
  auto patterns = patterns_of({"abcd", "abcdefgh", "cdXY", "XYZW"});
  for (std::size_t piece = 1; piece < 12; ++piece) {
    EXPECT_EQ(shown(patterns, "1abcdefgh2", piece), "1***2") << piece;
    EXPECT_EQ(shown(patterns, "1abcdefg2", piece), "1***efg2") << piece;
    EXPECT_EQ(shown(patterns, "1abcdXYZW2", piece), "1***2") << piece;
  }
}

TEST(SecretPatterns, KeepsBackNoMoreThanMayBeASecret) {
  auto patterns = patterns_of({"secret"});
  auto hidden = patterns.hide("a line\n", 0, false);
  EXPECT_EQ(hidden.text, "a line\n");
  EXPECT_EQ(patterns.hide("a secr", 0, false).used, 2u);
}

TEST(SecretPatterns, EveryCutOfEveryTextGivesTheSameWithoutASecretInIt) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    auto word = [&](std::size_t size) {
      std::string out;
      for (std::size_t i = 0; i < size; ++i) out += static_cast<char>('a' + random() % 2);
      return out;
    };
    std::vector<std::string> secrets{word(4 + random() % 3), word(4 + random() % 5)};
    auto patterns = patterns_of(secrets);
    auto input = word(random() % 40);
    auto whole = shown(patterns, input, 1000);
    for (const auto& secret : secrets) EXPECT_EQ(whole.find(secret), std::string::npos) << input;
    for (std::size_t piece : {1, 2, 3, 7}) {
      auto cut = shown(patterns, input, piece);
      EXPECT_EQ(with_single_marks(cut), with_single_marks(whole))
          << input << " in pieces of " << piece << " with " << secrets[0] << " and " << secrets[1];
    }
  }
}

}  // namespace
}  // namespace lathe::runner
