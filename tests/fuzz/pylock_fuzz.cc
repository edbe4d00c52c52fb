// What the resolver wrote: TOML, then packages with their files.
#include "envs/pylock.h"
#include "envs/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text{reinterpret_cast<const char*>(data), size};
  if (lathe::envs::parse_toml(text)) (void)lathe::envs::parse_pylock(text);
  return 0;
}
