// A requirements file out of a source folder, line by line as the resolver takes it.
#include "envs/pip_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  lathe::envs::Spec spec;
  for (const auto& line : lathe::envs::requirement_lines({reinterpret_cast<const char*>(data), size})) {
    auto taken = lathe::envs::take_pip_line(spec, line, "requirements");
    if (!taken && taken.error().message().empty()) __builtin_trap();
  }
  return 0;
}
