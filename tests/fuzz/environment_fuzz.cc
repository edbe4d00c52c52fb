// An environment's definition from the wire, with its pip lines: a Spec or an Error that names something.
#include "envs/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto spec = lathe::envs::parse_definition({reinterpret_cast<const char*>(data), size});
  if (!spec && spec.error().message().empty()) __builtin_trap();
  return 0;
}
