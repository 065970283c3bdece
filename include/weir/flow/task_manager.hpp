// SPDX-License-Identifier: MIT
// task_manager: runs background tasks and answers by id: state, progress, result, error, times.
//
//     weir::task_manager manager({.concurrency = 5, .executor = &threads});
//     std::string id = co_await manager.submit(make_report, "May");     // or {.id = "r-1"} first
//     std::optional<weir::managed_task> report = co_await manager.get(id);
//     std::string text = co_await manager.result<std::string>(id);      // waits; may rethrow
//
// A task is a coroutine, which may take a task_context& first, or a plain function: that one may
// block, so it runs on the executor, never on the loop. Records live in a task_store, in memory or
// elsewhere; a state is reported when the store has it, and each change is fenced. A pending task
// that is cancelled never runs; an id is never used twice; finished tasks are kept up to a number
// and an age. Destroying the manager is shutdown_mode::now without the waiting. One loop, one
// thread.
#pragma once

#include <weir/error.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/detail/task_body.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/task_events.hpp>
#include <weir/flow/task_store.hpp>
#include <weir/flow/telemetry.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// The id is unknown, or its task is no longer kept.
class unknown_task : public std::runtime_error {
public:
    explicit unknown_task(std::string_view id);
};
// A task failed in another process: only the text of its error is known.
class task_failed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct task_manager_options {
    std::string_view name = "tasks";
    std::size_t concurrency = 10;       // tasks that run at a time
    std::size_t most_pending = 10'000;  // further ones are refused: queue_full
    // How many finished tasks are kept, and how long; then they are removed from the store.
    std::size_t keep = 1000;
    clock::duration keep_for = std::chrono::hours(1);
    std::size_t event_history = 1024;    // events kept for subscribers that lag or reconnect
    task_store* store = nullptr;         // null: the manager's own, in memory
    weir::executor* executor = nullptr;  // runs functions that block; null: they are not accepted
    // Attempts of a store call that fails, and the first delay between them, which doubles.
    unsigned store_attempts = 5;
    clock::duration store_retry = std::chrono::milliseconds(100);
    // The time in records. Default: the time of day at the manager's first use, moved on by the
    // loop's clock; in simulated time it begins at 1970.
    hook<wall_time()> wall_clock{};
    weir::observer* observer = nullptr;  // "failed", "refused", "store_error", "shut_down"
};

struct task_manager_stats {
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;
    std::uint64_t removed = 0;       // finished ones, because of number or age
    std::uint64_t store_errors = 0;  // calls of the store that threw
    std::uint64_t unsaved = 0;       // tasks whose end the store did not take
    // Now:
    std::size_t pending = 0;
    std::size_t running = 0;
    std::size_t kept = 0;  // finished
};

struct task_options {
    std::string_view id{};    // empty: one is generated. A duplicate is refused
    std::string_view name{};  // the kind of task: lists can be filtered by it
};

namespace detail {
class task_manager_core;
}  // namespace detail

class task_manager {
public:
    explicit task_manager(const task_manager_options& options = {});
    task_manager(const task_manager&) = delete;
    task_manager& operator=(const task_manager&) = delete;
    ~task_manager();

    // ---- submitting -----------------------------------------------------------------------------

    // co_await submit(fn, args...), or submit(task): the id. Throws weir::refused, or what the
    // store threw. A submission that has begun continues even if the submitter is cancelled.
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<std::string> submit(const task_options& options, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return submit_body(options,
                           body(std::forward<Callable>(callable), std::forward<Args>(args)...));
    }
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<std::string> submit(Callable&& callable, Args&&... args) {
        return submit(task_options{}, std::forward<Callable>(callable),
                      std::forward<Args>(args)...);
    }
    template <class T>
    task<std::string> submit(const task_options& options, task<T> work) {
        return submit_body(options, detail::body_of_task<T>(std::move(work)));
    }
    template <class T>
    task<std::string> submit(task<T> work) {
        return submit(task_options{}, std::move(work));
    }
    // The same as an admission of the id, a value.
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<admission<std::string>> offer(const task_options& options, Callable&& callable,
                                       Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return offer_body(options,
                          body(std::forward<Callable>(callable), std::forward<Args>(args)...));
    }
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<admission<std::string>> offer(Callable&& callable, Args&&... args) {
        return offer(task_options{}, std::forward<Callable>(callable), std::forward<Args>(args)...);
    }

    // ---- tasks that survive the process ---------------------------------------------------------

    // The handler of all tasks with this name: handler(task_context&, std::string payload), which
    // returns a task.
    template <class Handler>
        requires std::invocable<Handler&, task_context&, std::string>
    void define(std::string name, Handler handler) {
        define_handler(std::move(name), [handler = std::move(handler)](
                                            task_context& context, std::string payload) mutable {
            return detail::await_body<std::reference_wrapper<Handler>, std::string>(
                std::ref(handler), std::tuple<std::string>(std::move(payload)), context);
        });
    }
    // Submits a task for the handler of options.name. Throws invalid_argument if none is defined.
    task<std::string> submit_named(const task_options& options, std::string payload);
    // Takes over the tasks of an earlier process that the store has: pending ones whose handler is
    // defined, and those that were running, which start again. Only for a store that no other
    // process uses. The number of tasks taken over.
    task<std::size_t> recover();

    // ---- by id ----------------------------------------------------------------------------------

    // Requests the stop and waits for the end. True: it ended as cancelled; false: it had ended
    // before, ended otherwise, or is unknown. Cancelling the waiter does not withdraw the request.
    task<bool> cancel(std::string id, std::string reason = {});
    // Requests the stop only; false if the task has ended, or is not one of this manager's.
    bool request_cancel(std::string_view id, std::string_view reason = {});
    // Empty if the id is unknown, or its task is no longer kept.
    task<std::optional<managed_task>> get(std::string id);
    // The record of the task when it has ended. Throws unknown_task.
    task<managed_task> wait(std::string id);
    // The value of the task when it has ended. Throws what the task threw, weir::cancelled,
    // unknown_task, or invalid_argument if the value has another type.
    template <class T>
    task<T> result(std::string id) {
        return result_of<T>(wait(std::move(id)));
    }
    // A page of tasks in the order of submission; the next page starts with .after.
    task<std::vector<managed_task>> list(const task_query& query = {});
    // From now on; or from the event after the one with the given number.
    task_events subscribe();
    task_events subscribe_after(std::uint64_t seen);

    // ---- the end -------------------------------------------------------------------------------

    // Waits until no task is pending or running; tasks may be submitted meanwhile.
    task<void> drain();
    // Accepts nothing from its first step on. Returns when every task has ended and the store
    // knows. A further call with a harder mode applies that mode. Cancelling the waiter changes
    // nothing.
    task<void> close(shutdown_mode mode = shutdown_mode::drain);
    bool is_closed() const noexcept;
    [[deprecated("use close()")]] task<void> shutdown(shutdown_mode mode = shutdown_mode::drain) {
        return close(mode);
    }
    [[deprecated("use is_closed()")]] bool is_shut_down() const noexcept { return is_closed(); }

    task_manager_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    const std::string& name() const noexcept;

private:
    template <class Callable, class... Args>
    detail::task_body body(Callable&& callable, Args&&... args) {
        return detail::make_task_body(blocking_executor(), name(), std::forward<Callable>(callable),
                                      std::forward<Args>(args)...);
    }
    executor* blocking_executor() const noexcept;
    task<std::string> submit_body(const task_options& options, detail::task_body body,
                                  std::string payload = {});
    task<admission<std::string>> offer_body(const task_options& options, detail::task_body body);
    void define_handler(std::string name, detail::task_handler handler);
    [[noreturn]] static void throw_failure(const managed_task& ended);
    [[noreturn]] static void throw_other_type(const managed_task& ended);
    template <class T>
    static task<T> result_of(task<managed_task> waiting);

    std::shared_ptr<detail::task_manager_core> core_;
};

template <class T>
task<T> task_manager::result_of(task<managed_task> waiting) {
    const managed_task ended = co_await std::move(waiting);
    if (ended.state != task_state::completed) {
        throw_failure(ended);
    }
    if constexpr (!std::is_void_v<T>) {
        if (const T* const value = std::any_cast<T>(&ended.value)) {
            co_return *value;
        }
        if constexpr (std::is_same_v<T, std::string>) {
            if (!ended.value.has_value()) {  // another process ran it
                co_return ended.result;
            }
        }
        throw_other_type(ended);
    }
}

}  // namespace weir
