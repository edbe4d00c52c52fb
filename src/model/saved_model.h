// What a TensorFlow SavedModel says about itself: its signatures, read from saved_model.pb without TensorFlow. Bytes of
// other people: bounded, no recursion on input, never throws. Unknown fields are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::model {

struct TensorInfo {
  std::string name;                                // the key that a request uses
  std::string dtype;                               // "float32", "string", …
  std::optional<std::vector<std::int64_t>> shape;  // -1: any; nothing: the rank is not known
  bool operator==(const TensorInfo&) const = default;
};

struct Signature {
  std::string name, method;
  std::vector<std::string> tags;  // of the graph that it belongs to
  std::vector<TensorInfo> inputs, outputs;
};

struct SavedModelInfo {
  std::string tensorflow_version;
  std::vector<Signature> signatures;  // those that a service can call, serving_default first
};

base::Result<SavedModelInfo> parse_saved_model(std::string_view bytes);

}  // namespace lathe::model
