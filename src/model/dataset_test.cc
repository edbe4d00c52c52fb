#include "model/dataset.h"

#include <gtest/gtest.h>

#include <set>

namespace lathe::model {
namespace {

using Kind = FileStep::Kind;

std::vector<std::string> choose(const std::vector<FileStep>& steps, int files) {
  FileSelection selection(steps);
  std::vector<std::string> chosen;
  for (int i = 0; i < files && !selection.is_over(); ++i) {
    std::string path = "/f" + std::to_string(i);
    if (selection.admits({path})) chosen.push_back(path);
  }
  return chosen;
}

TEST(FileSelection, TakesAndSkipsInTheOrderOfTheSteps) {
  FileStep skip{.kind = Kind::skip, .count = 2}, take{.kind = Kind::take, .count = 3};
  EXPECT_EQ(choose({skip, take}, 10), (std::vector<std::string>{"/f2", "/f3", "/f4"}));
  EXPECT_EQ(choose({take, skip}, 10), (std::vector<std::string>{"/f2"}));
  EXPECT_TRUE(choose({FileStep{.kind = Kind::take, .count = 0}}, 10).empty());
}

TEST(FileSelection, GoesOnFromItsCounts) {
  std::vector<FileStep> steps{{.kind = Kind::skip, .count = 1}, {.kind = Kind::take, .count = 2}};
  FileSelection first(steps);
  EXPECT_FALSE(first.admits({"/a"}));
  EXPECT_TRUE(first.admits({"/b"}));
  FileSelection second(steps, first.counts());
  EXPECT_FALSE(second.is_over());
  EXPECT_TRUE(second.admits({"/c"}));
  EXPECT_TRUE(second.is_over());
  EXPECT_FALSE(second.admits({"/d"}));
}

TEST(FileSelection, SplitsIntoPartsThatAreDisjointAndWhole) {
  auto part = [](int number) {
    return choose({{.kind = Kind::split, .probability = 0.7, .seed = 5, .part = number}}, 1000);
  };
  auto first = part(0), second = part(1);
  EXPECT_EQ(first.size() + second.size(), 1000u);
  EXPECT_GT(first.size(), 600u);
  EXPECT_LT(first.size(), 800u);
  std::set<std::string> all(first.begin(), first.end());
  for (const auto& path : second) EXPECT_TRUE(all.insert(path).second) << path;
  EXPECT_EQ(part(0), first) << "the same question has the same answer";
}

TEST(FileSelection, SamplesAnotherSetForAnotherSeed) {
  auto sample = [](std::int64_t seed) {
    return choose({{.kind = Kind::sample, .probability = 0.5, .seed = seed}}, 200);
  };
  EXPECT_NE(sample(1), sample(2));
  EXPECT_TRUE(choose({{.kind = Kind::sample, .probability = 0.0}}, 100).empty());
  EXPECT_EQ(choose({{.kind = Kind::sample, .probability = 1.0}}, 100).size(), 100u);
}

TEST(FileFilter, ComparesFactsAndCombines) {
  using Op = FileFilter::Op;
  using Fact = FileFilter::Fact;
  FileFilter large{.op = Op::more, .fact = Fact::size, .value = std::int64_t{100}};
  FileFilter csv{.op = Op::equal, .fact = Fact::extension, .value = std::string(".csv")};
  FileFilter both{.op = Op::all, .parts = {large, csv}}, neither{.op = Op::none, .parts = {large, csv}};
  EXPECT_TRUE(both.accepts({"/a/b.csv", 101}));
  EXPECT_FALSE(both.accepts({"/a/b.csv", 100}));
  EXPECT_FALSE(large.accepts({"/a/b.csv"})) << "a size that nobody knows";
  EXPECT_TRUE(neither.accepts({"/a/b.txt", 1}));
  FileFilter named{.op = Op::begins, .fact = Fact::name, .value = std::string("tr")};
  EXPECT_TRUE(named.accepts({"/x/train.gz"}));
  EXPECT_FALSE(named.accepts({"/train/x.gz"}));
}

}  // namespace
}  // namespace lathe::model
