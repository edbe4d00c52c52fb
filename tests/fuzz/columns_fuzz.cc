// What the database holds of a run, in the form that is really stored (db/columns.h): whatever a column says is read or
// refused as corrupt; what was read once is written in a form that reads the same and does not change any more.
#include "db/columns.h"

#include "base/error.h"

namespace {

template <class Decode, class Encode>
void check(std::string_view input, Decode decode, Encode encode) {
  std::string stored;
  try {
    stored = encode(decode(input));
  } catch (const lathe::base::Error& error) {
    if (error.code() != lathe::base::Code::corrupt) __builtin_trap();
    return;
  }
  if (encode(decode(stored)) != stored) __builtin_trap();  // an Error here ends the program, too
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace lathe::db;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(input, columns::decode_spec, columns::encode_spec);
  check(input, columns::decode_slices, columns::encode_slices);
  check(input, columns::decode_exit, columns::encode_exit);
  check(input, columns::decode_usage, columns::encode_usage);
  check(input, columns::decode_notes, columns::encode_notes);
  return 0;
}
