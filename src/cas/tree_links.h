// Rules for a tree as a whole: links stay inside it however they are followed, and no file is also a folder.
// Pure functions over a sorted Tree; used on manifests from the wire and on snapshots being made.
#pragma once

#include "cas/tree.h"

namespace lathe::cas {

// Follows every link through the tree's other links, as the kernel would. Error(invalid) names the first link that
// leaves the tree or is absolute. A link to something absent, or a loop, stays inside and is fine.
base::Result<void> check_tree_links(const Tree& tree);

// "a" and "a/b" cannot both be entries.
base::Result<void> check_no_file_is_a_folder(const Tree& tree);

}  // namespace lathe::cas
