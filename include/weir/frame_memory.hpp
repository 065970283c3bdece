// SPDX-License-Identifier: MIT
// Where the memory of coroutine frames comes from.
//
//     weir::set_frame_memory(&huge_pages);   // at the beginning of main()
//
// Frames, fibers and groups are recycled by a pool per thread, which takes chunks of 256 KiB from
// this resource when it has no free block, and never gives them back. So the choice costs an await
// nothing, and the resource may count, limit, pin or place the memory: huge pages, a NUMA node, a
// fixed arena. A resource that throws makes the call of the coroutine throw. Frames of more than
// 2.5 kB come from operator new. Sanitizer builds do not recycle, and do not ask the resource.
//
// For all threads: a frame may be freed on another thread than that which made it, or by another
// task, and carries no header that could say where it belongs (docs/design.md, Memory).
#pragma once

#include <memory_resource>

namespace weir {

// For chunks from now on; null restores operator new. The resource must be safe to use from several
// threads, and stay for as long as the process runs. Returns the one before.
std::pmr::memory_resource* set_frame_memory(std::pmr::memory_resource* upstream) noexcept;

}  // namespace weir
