// SPDX-License-Identifier: MIT
// run and run_main: the entries from ordinary code.
#pragma once

#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <exception>
#include <optional>

namespace weir {

// Makes a loop, runs the task to its end, then cancels and awaits all other tasks, closes the loop,
// and returns the task's value or throws its error. SIGINT and SIGTERM cancel the task, and run
// throws interrupted when all has ended (loop_options::signals); a task that answers the
// cancellation with a value is believed. Inside a running loop it throws loop_error: await the task
// there instead.
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

// The exit code of run_main when tasks had to be stopped at the shutdown deadline or left behind.
inline constexpr int exit_with_late_tasks = 70;

namespace detail {
// The exit code of a run that has thrown; prints the error unless it is a stop by a signal. The
// loop is null if it could not be made.
int exit_code_of(loop* ended, const std::exception_ptr& failure) noexcept;
// The same for one that has returned.
int exit_code_of(loop& ended, int value) noexcept;
}  // namespace detail

// The whole of main: int main() { return weir::run_main(serve()); }
//
// Runs as run does and gives an exit code:
//   0, or the value of a task<int>, when the task has ended with success;
//   0 when SIGINT or SIGTERM has stopped it and all tasks ended in time, none with an error;
//   1 when it failed, with the error on standard error: 'program: what';
//   exit_with_late_tasks when tasks did not end before the deadline; standard error names them.
// SIGUSR1 prints the tree of tasks unless the program handles or ignores that signal.
template <class T>
int run_main(task<T> main, loop_options options = {}) {
    static_assert(std::is_void_v<T> || std::is_same_v<T, int>,
                  "run_main: the task gives nothing, or an int, which is the exit code");
    std::optional<loop> fresh;
    try {
        options.dump_on_sigusr1 = options.dump_on_sigusr1.value_or(true);
        fresh.emplace(std::move(options));
        if constexpr (std::is_void_v<T>) {
            fresh->run(std::move(main));
            return detail::exit_code_of(*fresh, 0);
        } else {
            return detail::exit_code_of(*fresh, fresh->run(std::move(main)));
        }
    } catch (...) {
        return detail::exit_code_of(fresh.has_value() ? &*fresh : nullptr,
                                    std::current_exception());
    }
}

// Calls the callable in a task that owns it: int main() { return weir::run_main(serve); }
template <class Callable>
    requires detail::starts_task<std::decay_t<Callable>&>
int run_main(Callable&& callable, loop_options options = {}) {
    return run_main(detail::call_owned<std::decay_t<Callable>>(std::forward<Callable>(callable)),
                    std::move(options));
}

}  // namespace weir
