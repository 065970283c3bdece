// SPDX-License-Identifier: MIT
// run_blocking: runs a blocking call without blocking the loop.
//
//     auto text = co_await weir::run_blocking(read_settings, path);
#pragma once

#include <weir/io/thread_pool.hpp>

namespace weir {

// The process's pool for blocking calls: up to 64 threads, which mostly wait, started on demand and
// ended when idle. Made on first use. Use a thread_pool of your own for long computations, so that
// they do not occupy the threads that wait for a disk.
thread_pool& blocking_pool();

// co_await run_blocking(fn, args...): as thread_pool::run, on blocking_pool().
template <class Function, class... Args>
auto run_blocking(Function&& function, Args&&... args) {
    return blocking_pool().run(std::forward<Function>(function), std::forward<Args>(args)...);
}

}  // namespace weir
