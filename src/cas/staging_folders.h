// The folders in which clients of this machine leave copies of files for the store (docs/formats/store.md): each has an
// unguessable name and belongs to one client, which holds a shared lock on it for as long as it lives. Removing and
// measuring them; stateless.
#pragma once

#include "cas/store_layout.h"

namespace lathe::cas {

enum class Staging {
  every,      // no client can be using one: the store is being opened
  abandoned,  // nobody holds its lock, and it is not so new that its client may still be on the way to it
};
base::Result<void> remove_staging(const StoreLayout& layout, Staging which);

// What lies in all of them, for whoever counts the disk.
std::uint64_t staged_bytes(const StoreLayout& layout);

}  // namespace lathe::cas
