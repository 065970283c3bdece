// SPDX-License-Identifier: MIT
// run: the entry from ordinary code.
#pragma once

#include <weir/loop.hpp>
#include <weir/spawn.hpp>

namespace weir {

// Makes a loop, runs the task to its end, then cancels and awaits whatever else was started, closes
// the loop, and returns the task's value or throws its error. Inside a running loop it throws
// loop_error: await the task there instead.
template <class T>
T run(task<T> main, loop_options options = {}) {
    if (loop::current_or_null() != nullptr) {
        main.discard();
        detail::throw_nested_run();
    }
    loop fresh(std::move(options));
    return fresh.run(std::move(main));
}

template <class Callable, class... Args>
    requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>
auto run(Callable&& callable, Args&&... args) {
    return run(detail::make_task(std::forward<Callable>(callable), std::forward<Args>(args)...));
}

}  // namespace weir
