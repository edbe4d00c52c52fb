// What a runner reads from the server and finds in a spool: orders and exit records.
#include "wire/order.h"
#include "wire/records.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace lathe;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (auto order = wire::decode_order(input))
    if (!wire::decode_order(wire::encode_order(*order))) __builtin_trap();
  if (auto exit = wire::decode_exit(input))
    if (!wire::decode_exit(wire::encode_exit(*exit))) __builtin_trap();
  return 0;
}
