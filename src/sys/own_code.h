// The program's own code as private memory. A fork leaves the page tables of file mappings out: each child meets its
// code anew, by a fault for every few pages, some eighty for a short task. Private memory is taken along, in large
// pages where the kernel has them.
#pragma once

namespace lathe::sys {

// For a process that does little but fork. Where it cannot be done everything stays as it was. On a thread that is the
// only one.
void own_code();

}  // namespace lathe::sys
