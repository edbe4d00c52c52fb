// An ignore file and the paths it is asked about, split at the first NUL: any bytes must give an answer, in bounded
// time.
#include "cas/ignore.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto split = input.find('\0');
  lathe::cas::IgnoreFile file(input.substr(0, split));
  auto path = split == std::string_view::npos ? std::string_view("a/b.o") : input.substr(split + 1);
  bool as_file = file.verdict(path, false).value_or(false);
  lathe::cas::IgnoreRules rules;
  rules.push("", lathe::cas::IgnoreFile(input.substr(0, split)));
  if (rules.ignores(path, false) != as_file) __builtin_trap();
  (void)file.verdict(path, true);
  return 0;
}
