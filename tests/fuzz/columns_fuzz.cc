// What the database's columns really hold: what was read once and written is read as the same, and damage is told as an
// Error, never as anything else.
#include "base/error.h"
#include "db/columns.h"

namespace {

template <class Decode, class Encode>
void check(std::string_view input, Decode decode, Encode encode) {
  std::string text;
  try {
    text = encode(decode(input));
  } catch (const lathe::base::Error&) {
    return;
  }
  if (encode(decode(text)) != text) __builtin_trap();  // an Error from here on ends the fuzzer, too
}

// The last digit of a fraction may change on its way through text.
template <class Decode, class Encode>
void check_readable(std::string_view input, Decode decode, Encode encode) {
  std::string text;
  try {
    text = encode(decode(input));
  } catch (const lathe::base::Error&) {
    return;
  }
  (void)decode(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  namespace columns = lathe::db::columns;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(input, columns::decode_spec, columns::encode_spec);
  check(input, columns::decode_slices, columns::encode_slices);
  check_readable(input, columns::decode_exit, columns::encode_exit);
  check_readable(input, columns::decode_usage, columns::encode_usage);
  check(input, columns::decode_notes, columns::encode_notes);
  return 0;
}
