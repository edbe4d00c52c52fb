// The body of a submit: what is accepted must survive being written and read again, and keep its digest.
#include "wire/run.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace lathe;
  auto submit = wire::parse_run_submit({reinterpret_cast<const char*>(data), size});
  if (!submit) return 0;
  auto again = wire::parse_run_submit(wire::encode_run_submit(*submit));
  if (!again || again->id != submit->id || again->spec != submit->spec) __builtin_trap();
  auto stored = wire::decode_spec(wire::encode_spec(submit->spec));
  if (!stored || wire::spec_digest(*stored) != wire::spec_digest(submit->spec)) __builtin_trap();
  return 0;
}
