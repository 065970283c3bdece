// SPDX-License-Identifier: MIT
// run_blocking: a call that blocks, without blocking the loop.
//
//     auto text = co_await weir::run_blocking(read_whole_file, path);
#pragma once

#include <weir/io/thread_pool.hpp>

namespace weir {

// The pool of the process for calls that block: up to 64 threads, which mostly wait, started on
// demand; they end when idle. Made on first use. For long computations make a thread_pool of your
// own, so that they do not take the threads of those who wait for a disk.
thread_pool& blocking_pool();

// co_await run_blocking(fn, args...): as thread_pool::run, on blocking_pool().
template <class Function, class... Args>
auto run_blocking(Function&& function, Args&&... args) {
    return blocking_pool().run(std::forward<Function>(function), std::forward<Args>(args)...);
}

}  // namespace weir
