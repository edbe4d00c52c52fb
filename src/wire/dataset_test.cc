#include "wire/dataset.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/json.h"

namespace lathe::wire {
namespace {

base::Result<model::DatasetDefinition> parse(const char* text) {
  return parse_dataset(base::value_or_throw(parse_json(text)));
}

TEST(DatasetDefinition, IsReadWithItsSteps) {
  auto definition =
      parse(R"({"kind": "file", "sources": [{"url": "http://a/b"}, {"datastore": "d", "path": "./x//*.gz"}],
    "steps": [{"skip": 1}, {"split": {"percentage": 0.8, "seed": 7, "part": 1}}, {"keep_columns": ["a"]},
              {"filter": {"and": [{">": [{"file": "size"}, 10]}, {"not": {"endswith": [{"file": "path"}, ".tmp"]}}]}}],
    "options": {"validate": true}})");
  ASSERT_TRUE(definition) << definition.error().text();
  EXPECT_EQ(definition->sources[1].path, "x/*.gz");
  ASSERT_EQ(definition->steps.size(), 3u) << "columns are the SDK's";
  EXPECT_EQ(definition->steps[1].part, 1);
  EXPECT_TRUE(definition->steps[2].filter.accepts({"/a.gz", 11}));
  EXPECT_FALSE(definition->steps[2].filter.accepts({"/a.tmp", 11}));
}

TEST(DatasetDefinition, OfATableLeavesItsRowsToTheSdk) {
  auto definition = parse(R"({"kind": "tabular", "sources": [{"datastore": "d"}], "steps": [{"take": 5}]})");
  ASSERT_TRUE(definition);
  EXPECT_TRUE(definition->steps.empty());
}

TEST(DatasetDefinition, ThatIsWrongIsRefusedByName) {
  for (
      const char* text : {
          R"([])",
          R"({"kind": "file"})",
          R"({"kind": "file", "sources": []})",
          R"({"kind": "video", "sources": [{"url": "http://a/"}]})",
          R"({"kind": "file", "sources": [{}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/", "datastore": "d"}]})",
          R"({"kind": "file", "sources": [{"datastore": "d", "path": "../x"}]})",
          R"({"kind": "file", "sources": [{"datastore": "d", "pth": "x"}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": [{"take": -1}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": [{"take": 1, "skip": 1}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": [{"sample": {"probability": 2}}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": [{"filter": {"near": []}}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": [{"filter": {">": [{"file": "size"}, "x"]}}]})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "steps": {}})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "options": 3})",
          R"({"kind": "file", "sources": [{"url": "http://a/"}], "extra": 3})",
      }) {
    auto definition = parse(text);
    ASSERT_FALSE(definition) << text;
    EXPECT_EQ(definition.error().code(), base::Code::invalid);
  }
}

}  // namespace
}  // namespace lathe::wire
