// config.yaml as a person might break it: an answer or an Error that names something, never more.
#include "server/site_config.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto config = lathe::server::parse_site_config(std::string(reinterpret_cast<const char*>(data), size));
  if (!config && config.error().message().empty()) __builtin_trap();
  return 0;
}
