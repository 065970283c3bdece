// SPDX-License-Identifier: MIT
// run_on_threads: a loop on each of several threads.
//
//     weir::run_on_threads([](std::size_t index) -> weir::task<> {...});     // on all processors
//     co_await weir::on_threads(2, crunch);                                  // from a running loop
//
// main(index) is the main task of loop number `index`. It is called on each thread: data that it
// refers to is shared, and needs channels, atomics or locks. The first failure cancels the others,
// and is thrown when all have ended; so is any cancellation. Further errors are reported.
#pragma once

#include <weir/io/detail/thread_crew.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace weir {

// The number of loops that use the complete machine: one for each processor.
std::size_t processor_count() noexcept;

// From ordinary code: makes the loops and blocks until all have ended. Loop 0 is on the calling
// thread; it alone handles signals, as run does, until all have ended, and a cancellation by signal
// reaches all loops. Returns a vector of the tasks' results by index, or nothing if they have none.
// A stop request of the token cancels all. The options are those of loop 0; the others share them,
// except for signals, and reports come from one thread at a time. Throws invalid_argument for a
// count of 0, loop_error inside a running loop.
template <detail::thread_main Main>
auto run_on_threads(std::size_t count, Main&& main, loop_options options = {},
                    std::stop_token stop = {}) {
    detail::thread_mains<std::remove_cvref_t<Main>> mains(count, main);
    detail::thread_crew(count, mains).run_here(std::move(options), std::move(stop));
    return mains.take_results();
}
template <detail::thread_main Main>
auto run_on_threads(Main&& main) {
    return run_on_threads(processor_count(), std::forward<Main>(main));
}

// co_await on_threads(count, main): the same from a running loop, which is not blocked: all loops
// are on new threads. A stop cancels them all, and takes effect when they have ended.
template <detail::thread_main Main>
auto on_threads(std::size_t count, Main&& main) {
    WEIR_CHECK_CALLABLE(Main);
    detail::check_thread_count(count);
    return detail::run_crew<std::decay_t<Main>>(count, std::forward<Main>(main));
}

}  // namespace weir
