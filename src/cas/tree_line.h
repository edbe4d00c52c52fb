// One line of a tree manifest (docs/formats/tree.md): an entry as text and back. For those in cas/ who read or write
// manifests. Pure functions.
#pragma once

#include "cas/tree.h"

namespace lathe::cas {

// Every manifest begins with it.
inline constexpr std::string_view kTreeHeader = "lathe-tree 1\n";

// With the newline at its end.
void append_tree_line(std::string& out, const TreeEntry& entry);
// Without the newline. Error(corrupt) for another spelling than the one.
base::Result<TreeEntry> decode_tree_line(std::string_view line);

}  // namespace lathe::cas
