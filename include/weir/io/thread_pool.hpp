// SPDX-License-Identifier: MIT
// thread_pool: threads for functions that compute or block, awaited from loops.
//
//     weir::thread_pool pool;                                   // as many threads as processors
//     image small = co_await pool.run(shrink, photo, 640);      // elsewhere, while this loop goes on
//     std::vector<image> all = co_await pool.map(std::move(photos), thumbnail);
//
// Threads are started when there is work for them and end when they have been idle for a while.
// Calls begin in the order of asking. One pool may serve any number of loops.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/clock.hpp>
#include <weir/executor.hpp>
#include <weir/io/detail/parallel_map.hpp>
#include <weir/io/detail/thread_call.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string_view>

namespace weir {

namespace detail {
struct blocking_threads;
}

struct thread_pool_options {
    std::size_t max_threads = 0;  // 0: as many as there are processors
    // So many calls may wait for a thread; then try_run refuses, and run waits in the caller.
    std::size_t queue_limit = 1024;
    clock::duration idle_time = std::chrono::seconds(10);  // then an idle thread ends
    std::string_view name = "pool";                        // of the threads, and in errors
};

struct thread_pool_stats {
    std::size_t threads = 0;       // that there are now
    std::size_t running = 0;       // calls
    std::size_t queued = 0;        // calls that wait for a thread
    std::size_t most_threads = 0;  // at any one time
    std::uint64_t completed = 0;   // calls that have run to their end, errors included
    std::uint64_t refused = 0;     // queue full, or shut down
    std::uint64_t withdrawn = 0;   // cancelled before they began
};

class thread_pool final : public executor {
public:
    // Throws invalid_argument for a queue limit of 0 or a negative idle time. Starts no thread yet.
    explicit thread_pool(const thread_pool_options& options = {});
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;
    // Calls that have not begun are refused. Blocks until those that run have returned, and the
    // threads have ended: co_await shut_down() first, if that may take long.
    ~thread_pool();

    // co_await run(fn, args...): calls fn on a thread of the pool, with copies of the arguments
    // (std::ref for a reference), and gives what it returns or throws. Waits for its turn as long
    // as it takes. A stop before the call has begun takes effect at once: fn never runs. While fn
    // runs, the task stops only when fn has returned, and the result is dropped, since fn may use
    // what the task owns; if fn takes a std::stop_token as its first parameter, it is told to
    // hurry. Function, arguments and result are destroyed on the loop's thread. Simulated time
    // stands still meanwhile. Throws weir::refused if the pool is shut down, io_error if no thread
    // can be had.
    template <class Function, class... Args>
    auto run(Function&& function, Args&&... args) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::thread_call<std::decay_t<Function>, std::decay_t<Args>...>(
            core_, detail::thread_entry::waits, std::forward<Function>(function),
            std::forward<Args>(args)...);
    }
    // The same, but throws weir::refused, and does not wait, if as many calls wait as may.
    template <class Function, class... Args>
    auto try_run(Function&& function, Args&&... args) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::thread_call<std::decay_t<Function>, std::decay_t<Args>...>(
            core_, detail::thread_entry::refuses, std::forward<Function>(function),
            std::forward<Args>(args)...);
    }
    // co_await map(items, fn): fn(item) for each, on all threads of the pool, and a vector of the
    // results in the order of the items; nothing if fn returns nothing. The items are moved in, or
    // copied if they are an lvalue; of a view, what it refers to is left alone. fn is called from
    // several threads at once. The first error stops the rest, between two items, and is thrown
    // when all have stopped; so does a stop. A thread takes items for about a millisecond, then
    // other calls get their turn.
    template <std::ranges::input_range Range, class Function>
    auto map(Range&& items, Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::parallel_map<std::remove_cvref_t<Range>, std::decay_t<Function>>(
            core_, std::forward<Range>(items), std::forward<Function>(function));
    }

    // For what takes an executor, such as task_manager.
    task<void> run(work what) override;

    // co_await shut_down(): from now on calls are refused; those that were accepted still run.
    // Ends when the last thread has; give it a limit with timeout.
    [[nodiscard]] detail::thread_pool_end shut_down() noexcept {
        return detail::thread_pool_end(core_);
    }

    // May be called on any thread.
    thread_pool_stats stats() const;
    std::size_t max_threads() const noexcept;

private:
    friend struct detail::blocking_threads;
    detail::shared_pool core_;
};

}  // namespace weir
