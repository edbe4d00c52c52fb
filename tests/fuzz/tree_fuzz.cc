// A manifest from the wire: what is accepted must be canonical (it encodes to the same bytes) and hold only safe paths.
#include "cas/tree.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto tree = lathe::cas::decode_tree(input);
  if (!tree) return 0;
  if (lathe::cas::encode_tree(*tree) != input) __builtin_trap();
  for (const auto& entry : tree->entries)
    if (!lathe::cas::check_tree_path(entry.path)) __builtin_trap();
  return 0;
}
