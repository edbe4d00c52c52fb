// saved_model.pb as somebody uploaded it: read or refused, never more than its own size in names.
#include "model/saved_model.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto info = lathe::model::parse_saved_model(input);
  if (info && info->signatures.size() > size) __builtin_trap();
  return 0;
}
