#include "model/saved_model.h"

#include <gtest/gtest.h>

namespace lathe::model {
namespace {

// A protobuf writer as small as the reader.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) { return varint(static_cast<unsigned>(field) << 3) + varint(value); }
std::string bytes(int field, const std::string& value) {
  return varint(static_cast<unsigned>(field) << 3 | 2) + varint(value.size()) + value;
}
std::string dimension(std::int64_t size) { return bytes(2, number(1, static_cast<std::uint64_t>(size))); }
std::string tensor(int dtype, const std::string& shape) {
  return bytes(1, "x:0") + number(2, static_cast<unsigned>(dtype)) + bytes(3, shape);
}
std::string entry(int field, const std::string& key, const std::string& value) {
  return bytes(field, bytes(1, key) + bytes(2, value));
}

std::string digits_model() {
  std::string signature = entry(1, "image", tensor(1, dimension(-1) + dimension(28) + dimension(28))) +
                          entry(2, "label", tensor(9, number(3, 1))) + bytes(3, "tensorflow/serving/predict");
  std::string graph = bytes(1, bytes(4, "serve") + bytes(5, "2.2.0")) + bytes(2, std::string(1000, 'g')) +
                      entry(5, "__saved_model_init_op", bytes(2, bytes(1, "op"))) + entry(5, "a", signature) +
                      entry(5, "serving_default", signature);
  return number(1, 1) + bytes(2, graph);
}

TEST(SavedModel, TellsItsSignatures) {
  auto info = parse_saved_model(digits_model());
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->tensorflow_version, "2.2.0");
  ASSERT_EQ(info->signatures.size(), 2u) << "TensorFlow's own entry point is none";
  const auto& signature = info->signatures[0];
  EXPECT_EQ(signature.name, "serving_default");
  EXPECT_EQ(signature.method, "tensorflow/serving/predict");
  EXPECT_EQ(signature.tags, (std::vector<std::string>{"serve"}));
  EXPECT_EQ(signature.inputs, (std::vector<TensorInfo>{{"image", "float32", std::vector<std::int64_t>{-1, 28, 28}}}));
  EXPECT_EQ(signature.outputs, (std::vector<TensorInfo>{{"label", "int64", std::nullopt}})) << "of no known rank";
}

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Small files that would cost gigabytes, or minutes, if all that they say were kept.
TEST(SavedModel, ThatIsMadeToExhaustTheServerIsRefusedEarly) {
  const std::string many_tags = bytes(1, repeat(bytes(4, "t"), 9000)), signature = bytes(5, bytes(1, "s"));
  const std::string long_text(4000, '\x01');
  for (const auto& graph : {many_tags + repeat(signature, 9000),          // every one tells every tag
                            bytes(1, repeat(bytes(4, long_text), 9000)),  // long texts
                            repeat(entry(5, "s", entry(1, "x", tensor(1, repeat(dimension(1), 9000)))), 300),  // shapes
                            repeat(entry(5, "s", repeat(entry(1, "x", ""), 9000)), 20),  // tensors
                            repeat(number(9, 0), 5'000'000)}) {                          // fields of no meaning
    auto info = parse_saved_model(bytes(2, graph));
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().code(), base::Code::too_large) << info.error().text();
  }
  EXPECT_FALSE(parse_saved_model(repeat(bytes(2, many_tags), 1000)));
}

TEST(SavedModel, ThatIsCutOrForeignIsRefused) {
  auto whole = digits_model();
  EXPECT_FALSE(parse_saved_model(""));
  EXPECT_FALSE(parse_saved_model("\x89HDF\r\n\x1a\n"));
  EXPECT_FALSE(parse_saved_model("<html>not found</html>"));
  for (std::size_t cut = 1; cut < whole.size(); cut += 7)
    if (cut != 2) EXPECT_FALSE(parse_saved_model(std::string_view(whole).substr(0, cut))) << cut;
  EXPECT_FALSE(parse_saved_model(number(1, 1))) << "no graph";
}

}  // namespace
}  // namespace lathe::model
