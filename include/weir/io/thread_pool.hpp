// SPDX-License-Identifier: MIT
// thread_pool: threads for functions that compute or block, awaited from loops.
//
//     weir::thread_pool pool;                               // as many threads as processors
//     image small = co_await pool.run(shrink, photo, 640);  // does not block this loop
//     std::vector<image> all = co_await pool.map(std::move(photos), thumbnail);
//
// Threads start when there is work for them and end when they have been idle for a while. Calls
// begin in the order in which they were made. One pool may serve any number of loops.
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
    // How many calls may wait for a thread; beyond that try_run refuses, and run waits.
    std::size_t queue_limit = 1024;
    clock::duration idle_time = std::chrono::seconds(10);  // then an idle thread ends
    std::string_view name = "pool";                        // of the threads, and in errors
};

struct thread_pool_stats {
    std::size_t threads = 0;       // existing now
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
    // Refuses calls that have not begun. Blocks until the running ones have returned and the
    // threads have ended: co_await close() first if that may take long.
    ~thread_pool();

    // co_await run(fn, args...): calls fn on a thread of the pool, with copies of the arguments
    // (std::ref for a reference), and returns its result or throws its error. Waits for its turn
    // without limit. A stop before the call has begun takes effect at once: fn never runs. While fn
    // runs, the task stops only when fn has returned, since fn may use what the task owns; the
    // result is dropped. If fn takes a std::stop_token as its first parameter, the stop requests
    // it. Function, arguments and result are destroyed on the loop's thread. Simulated time does
    // not advance meanwhile. Throws weir::refused if the pool is shut down, io_error if no thread
    // can be started.
    template <class Function, class... Args>
    auto run(Function&& function, Args&&... args) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::thread_call<std::decay_t<Function>, std::decay_t<Args>...>(
            core_, detail::thread_entry::waits, std::forward<Function>(function),
            std::forward<Args>(args)...);
    }
    // The same, but throws weir::refused if queue_limit calls are waiting.
    template <class Function, class... Args>
    auto try_run(Function&& function, Args&&... args) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::thread_call<std::decay_t<Function>, std::decay_t<Args>...>(
            core_, detail::thread_entry::refuses, std::forward<Function>(function),
            std::forward<Args>(args)...);
    }
    // co_await map(items, fn): calls fn(item) for each, on all threads of the pool. Returns a
    // vector of the results in the order of the items, or nothing if fn returns void. The items are
    // moved in, or copied if they are an lvalue; the elements of a view are not moved from. fn is
    // called from several threads at once. The first error, or a stop, ends the work between two
    // items; it takes effect when all threads have stopped. A thread takes items for about a
    // millisecond, then other calls get their turn.
    template <std::ranges::input_range Range, class Function>
    auto map(Range&& items, Function&& function) {
        WEIR_CHECK_CALLABLE(Function);
        return detail::parallel_map<std::remove_cvref_t<Range>, std::decay_t<Function>>(
            core_, std::forward<Range>(items), std::forward<Function>(function));
    }

    // As an executor, for example of task_manager.
    task<void> run(work what) override;

    // co_await close(): refuses calls from now on; accepted ones still run. Returns when the last
    // thread has ended; limit it with timeout.
    detail::thread_pool_end close() noexcept { return detail::thread_pool_end(core_); }
    [[deprecated("use close()")]] detail::thread_pool_end shut_down() noexcept { return close(); }

    // May be called on any thread.
    thread_pool_stats stats() const;
    std::size_t max_threads() const noexcept;

private:
    friend struct detail::blocking_threads;
    detail::shared_pool core_;
};

}  // namespace weir
