#include "model/saved_model.h"

#include <array>

#include "base/strings.h"

namespace lathe::model {
namespace {

using base::Code;

constexpr std::size_t kMaxItems = 10'000;  // signatures, tensors, dimensions: each far below
constexpr std::size_t kMaxText = 4096;
// Of all that is told, in bytes as it is kept; and of all fields that are looked at: whoever makes a file of names
// within names within names is stopped long before the server is short of memory or time.
constexpr std::size_t kMaxTold = 4 << 20, kMaxFields = 4'000'000;
constexpr std::string_view kDefault = "serving_default";

std::unexpected<base::Error> broken() {
  return base::fail(
      base::Error(Code::corrupt, "saved_model.pb is not a SavedModel").hint("was it written completely?"));
}

// One field of a protobuf message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a varint
  std::string_view bytes;   // of a length-delimited one
};

// The fields of one message, in order.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // Nothing at the end, and when the bytes are no message (see is_broken()).
  std::optional<Field> next() {
    if (rest_.empty() || broken_) return std::nullopt;
    auto key = varint();
    if (!key) return fail();
    Field field{*key >> 3, 0, {}};
    switch (*key & 7) {
      case 0: {
        auto value = varint();
        if (!value) return fail();
        field.value = *value;
        return field;
      }
      case 1:
        return skip(8) ? std::optional(field) : fail();
      case 2: {
        auto length = varint();
        if (!length || *length > rest_.size()) return fail();
        field.bytes = rest_.substr(0, *length);
        rest_.remove_prefix(*length);
        return field;
      }
      case 5:
        return skip(4) ? std::optional(field) : fail();
      default:
        return fail();
    }
  }
  bool is_broken() const { return broken_; }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  bool skip(std::size_t bytes) {
    if (rest_.size() < bytes) return false;
    rest_.remove_prefix(bytes);
    return true;
  }
  std::nullopt_t fail() {
    broken_ = true;
    return std::nullopt;
  }
  std::string_view rest_;
  bool broken_ = false;
};

// What one file may cost.
class Budget {
 public:
  bool spend_field() { return ++fields_ <= kMaxFields; }
  bool spend(std::size_t bytes) {
    told_ += bytes;
    return told_ <= kMaxTold;
  }
  bool is_over() const { return fields_ > kMaxFields || told_ > kMaxTold; }

 private:
  std::size_t fields_ = 0, told_ = 0;
};

// Calls `take` with every field; false when the bytes are no message, `take` says so, or the budget is spent.
template <class Take>
bool each(std::string_view bytes, Budget& budget, Take take) {
  Message message(bytes);
  while (auto field = message.next())
    if (!budget.spend_field() || !take(*field) || budget.is_over()) return false;
  return !message.is_broken();
}

std::string text_of(std::string_view bytes, Budget& budget) {
  auto text = base::printable(bytes, kMaxText);
  budget.spend(sizeof text + text.size());
  return text;
}

// DataType of tensorflow/core/framework/types.proto, by number.
constexpr std::array<std::string_view, 24> kTypes{"invalid",    "float32", "float64",   "int32",   "uint8",   "int16",
                                                  "int8",       "string",  "complex64", "int64",   "bool",    "qint8",
                                                  "quint8",     "qint32",  "bfloat16",  "qint16",  "quint16", "uint16",
                                                  "complex128", "float16", "resource",  "variant", "uint32",  "uint64"};

bool read_shape(std::string_view bytes, Budget& budget, TensorInfo& tensor) {
  std::vector<std::int64_t> shape;
  bool has_rank = true;
  bool good = each(bytes, budget, [&](const Field& field) {
    if (field.number == 3 && field.value != 0) has_rank = false;
    if (field.number != 2) return true;
    std::int64_t size = 0;
    bool is_dimension = each(field.bytes, budget, [&](const Field& part) {
      if (part.number == 1) size = static_cast<std::int64_t>(part.value);
      return true;
    });
    shape.push_back(size);
    return is_dimension && budget.spend(sizeof size) && shape.size() <= kMaxItems;
  });
  if (has_rank) tensor.shape = std::move(shape);
  return good;
}

bool read_tensor(std::string_view bytes, Budget& budget, TensorInfo& tensor) {
  tensor.shape.emplace();
  return each(bytes, budget, [&](const Field& field) {
    if (field.number == 2)
      tensor.dtype =
          field.value < kTypes.size() ? std::string(kTypes[field.value]) : fmt::format("type {}", field.value);
    if (field.number != 3) return true;
    tensor.shape.reset();
    return read_shape(field.bytes, budget, tensor);
  });
}

// An entry of map<string, …>: the key and the bytes of the value.
bool read_entry(std::string_view bytes, Budget& budget, std::string& key, std::string_view& value) {
  return each(bytes, budget, [&](const Field& field) {
    if (field.number == 1) key = text_of(field.bytes, budget);
    if (field.number == 2) value = field.bytes;
    return true;
  });
}

bool read_signature(std::string_view bytes, Budget& budget, Signature& signature) {
  return each(bytes, budget, [&](const Field& field) {
    if (field.number == 3) signature.method = text_of(field.bytes, budget);
    if (field.number != 1 && field.number != 2) return true;
    auto& tensors = field.number == 1 ? signature.inputs : signature.outputs;
    std::string_view value;
    TensorInfo tensor;
    bool good = budget.spend(sizeof tensor) && read_entry(field.bytes, budget, tensor.name, value) &&
                read_tensor(value, budget, tensor);
    tensors.push_back(std::move(tensor));
    return good && tensors.size() <= kMaxItems;
  });
}

bool read_meta_info(std::string_view bytes, Budget& budget, std::vector<std::string>& tags, std::string& version) {
  return each(bytes, budget, [&](const Field& field) {
    if (field.number == 4) tags.push_back(text_of(field.bytes, budget));
    if (field.number == 5) version = text_of(field.bytes, budget);
    return tags.size() <= kMaxItems;
  });
}

bool read_graph(std::string_view bytes, Budget& budget, SavedModelInfo& info) {
  std::vector<std::string> tags;
  auto first = info.signatures.size();
  bool good = each(bytes, budget, [&](const Field& field) {
    if (field.number == 1) return read_meta_info(field.bytes, budget, tags, info.tensorflow_version);
    if (field.number != 5) return true;  // the graph itself, and all else
    std::string_view value;
    auto& signature = info.signatures.emplace_back();
    return budget.spend(sizeof signature) && read_entry(field.bytes, budget, signature.name, value) &&
           read_signature(value, budget, signature) && info.signatures.size() <= kMaxItems;
  });
  if (!good) return false;
  // Every signature tells them all.
  std::size_t bytes_of_tags = 0;
  for (const auto& tag : tags) bytes_of_tags += sizeof tag + tag.size();
  if (!budget.spend((info.signatures.size() - first) * bytes_of_tags)) return false;
  for (auto i = first; i < info.signatures.size(); ++i) info.signatures[i].tags = tags;
  return true;
}

}  // namespace

base::Result<SavedModelInfo> parse_saved_model(std::string_view bytes) {
  SavedModelInfo info;
  bool has_graph = false;
  Budget budget;
  bool good = each(bytes, budget, [&](const Field& field) {
    if (field.number != 2) return true;
    has_graph = true;
    return read_graph(field.bytes, budget, info);
  });
  if (budget.is_over())
    return base::fail(base::Error(Code::too_large, "saved_model.pb describes more signatures than any model has"));
  if (!good || !has_graph) return broken();
  // TensorFlow keeps its own entry points among the signatures; nobody may call them.
  std::erase_if(info.signatures, [](const auto& signature) { return signature.name.starts_with("__saved_model_"); });
  std::ranges::sort(info.signatures, {},
                    [](const auto& signature) { return std::pair(signature.name != kDefault, signature.name); });
  return info;
}

}  // namespace lathe::model
