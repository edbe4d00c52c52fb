// saved_model.pb as somebody uploaded it: read or refused, never more than its own size in names.
#include "model/saved_model.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto info = lathe::model::parse_saved_model(input);
  if (!info) return 0;
  std::size_t told = 0;
  for (const auto& signature : info->signatures) {
    told += signature.name.size() + signature.method.size();
    for (const auto& tag : signature.tags) told += tag.size();
    for (const auto* tensors : {&signature.inputs, &signature.outputs})
      for (const auto& tensor : *tensors) told += tensor.name.size() + (tensor.shape ? 8 * tensor.shape->size() : 0);
  }
  if (info->signatures.size() > size || told > std::size_t{5} << 20) __builtin_trap();
  return 0;
}
