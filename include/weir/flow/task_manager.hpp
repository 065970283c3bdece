// SPDX-License-Identifier: MIT
// task_manager: background tasks that can be asked for by id: state, progress, result, error, and
// when.
//
//     weir::task_manager manager({.concurrency = 5, .executor = &threads});
//     std::string id = co_await manager.submit(make_report, "May");        // or {.id = "r-1"} first
//     std::optional<weir::managed_task> report = co_await manager.get(id);
//     std::string text = co_await manager.result<std::string>(id);         // waits; rethrows its error
//
// A task is a coroutine, which may take a task_context& first, or a plain function: those may
// block, so they run on the executor, never on the loop. Records live in a task_store, in memory or
// elsewhere; a state is reported when the store has it, and each change is fenced. A pending task
// that is cancelled never runs; an id is never used twice; finished tasks are kept up to a number
// and an age. Destroying the manager is shutdown_mode::now without the waiting. One loop, one
// thread.
#pragma once

#include <weir/error.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/detail/task_manager_core.hpp>

#include <concepts>
#include <stdexcept>

namespace weir {

// No task has this id, or none any more.
class unknown_task : public std::runtime_error {
public:
    explicit unknown_task(std::string_view id);
};
// A task failed in another process: its error is known as text only.
class task_failed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct task_options {
    std::string_view id{};    // empty: one is generated. One that is taken is refused
    std::string_view name{};  // what kind of task: can be asked for
};

class task_manager {
public:
    explicit task_manager(const task_manager_options& options = {})
        : core_(std::make_shared<detail::task_manager_core>(options)) {}
    task_manager(const task_manager&) = delete;
    task_manager& operator=(const task_manager&) = delete;
    ~task_manager() { core_->close(shutdown_mode::now); }

    // ---- in
    // --------------------------------------------------------------------------------------
    // co_await submit(fn, args...), or a task: the id. Throws weir::refused, or what the store
    // threw. Once begun it goes on even if the submitter is cancelled: the task is then accepted
    // all the same.
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<std::string> submit(const task_options& how, Callable&& callable, Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter_or_throw(
            core_, make(how, body(std::forward<Callable>(callable), std::forward<Args>(args)...)));
    }
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<std::string> submit(Callable&& callable, Args&&... args) {
        return submit(task_options{}, std::forward<Callable>(callable),
                      std::forward<Args>(args)...);
    }
    template <class T>
    task<std::string> submit(const task_options& how, task<T> work) {
        return enter_or_throw(core_, make(how, detail::body_of_task<T>(std::move(work))));
    }
    template <class T>
    task<std::string> submit(task<T> work) {
        return submit(task_options{}, std::move(work));
    }
    // The same as an admission of the id, a value.
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<admission<std::string>> offer(const task_options& how, Callable&& callable,
                                       Args&&... args) {
        WEIR_CHECK_CALLABLE(Callable);
        return enter(
            core_, make(how, body(std::forward<Callable>(callable), std::forward<Args>(args)...)));
    }
    template <class Callable, class... Args>
        requires detail::runs_as_task<std::decay_t<Callable>, std::decay_t<Args>...>
    task<admission<std::string>> offer(Callable&& callable, Args&&... args) {
        return offer(task_options{}, std::forward<Callable>(callable), std::forward<Args>(args)...);
    }

    // ---- tasks that a store can keep
    // ------------------------------------------------------------- A handler by name:
    // handler(task_context&, std::string payload) makes a task.
    template <class Handler>
        requires std::invocable<Handler&, task_context&, std::string>
    void define(std::string name, Handler handler) {
        core_->define(std::move(name), [handler = std::move(handler)](task_context& context,
                                                                      std::string payload) mutable {
            return detail::await_body<std::reference_wrapper<Handler>, std::string>(
                std::ref(handler), std::tuple<std::string>(std::move(payload)), context);
        });
    }
    // A task for the handler of its name. Throws invalid_argument if there is none.
    task<std::string> submit_named(const task_options& how, std::string payload);
    // Takes over what the store has from an earlier process: pending tasks whose handler is
    // defined, and those that it was running, which begin again. For a store that no other process
    // uses. How many.
    task<std::size_t> recover() { return detail::task_manager_core::recover(core_); }

    // ---- by id
    // ----------------------------------------------------------------------------------- Asks for
    // the stop and waits for the end. True: it ended as cancelled; false: it had ended already,
    // ended otherwise, or is unknown. Cancelling the waiter does not take the request back.
    task<bool> cancel(std::string id, std::string reason = {}) {
        return detail::task_manager_core::cancel(core_, std::move(id), std::move(reason));
    }
    // Just asks; false if it has ended, or is none of this manager's.
    bool request_cancel(std::string_view id, std::string_view reason = {}) {
        return core_->request_cancel(id, reason);
    }
    // Empty if there is none, or none any more.
    task<std::optional<managed_task>> get(std::string id) {
        return detail::task_manager_core::get(core_, std::move(id));
    }
    // When it has ended. Throws unknown_task.
    task<managed_task> wait(std::string id) {
        return detail::task_manager_core::wait(core_, std::move(id));
    }
    // What it returned, when it has ended. Throws what it threw, weir::cancelled, unknown_task, or
    // invalid_argument if it returned another type.
    template <class T>
    task<T> result(std::string id);
    // In the order of submission: a page, to be continued with .after.
    task<std::vector<managed_task>> list(const task_query& query = {}) {
        return detail::task_manager_core::list(core_, query);
    }
    // From now on; or, given the number of the last event seen, from the one after it.
    task_events subscribe() { return core_->subscribe(std::nullopt); }
    task_events subscribe_after(std::uint64_t seen) { return core_->subscribe(seen); }

    // ---- out
    // ------------------------------------------------------------------------------------- Until
    // nothing is pending or running; more may be submitted meanwhile.
    task<void> drain() { return detail::task_manager_core::drain(core_); }
    // From the first step on nothing more is accepted. Returns when every task has ended and the
    // store knows. Again with a harder mode, it does what that says. Cancelling the waiter changes
    // nothing.
    task<void> shutdown(shutdown_mode mode = shutdown_mode::drain) {
        return detail::task_manager_core::shutdown(core_, mode);
    }
    bool is_shut_down() const noexcept { return core_->is_closed(); }

    task_manager_stats stats() const noexcept { return core_->stats(); }
    void write_metrics(metric_writer& to) const { core_->write_metrics(to); }
    const std::string& name() const noexcept { return core_->name(); }

private:
    using core_pointer = std::shared_ptr<detail::task_manager_core>;
    using live_pointer = std::shared_ptr<detail::live_task>;

    template <class Callable, class... Args>
    detail::task_body body(Callable&& callable, Args&&... args) {
        return detail::make_task_body(core_->blocking_executor(), core_->name(),
                                      std::forward<Callable>(callable),
                                      std::forward<Args>(args)...);
    }
    static live_pointer make(const task_options& how, detail::task_body body);
    static task<std::string> enter_or_throw(core_pointer core, live_pointer fresh);
    static task<admission<std::string>> enter(core_pointer core, live_pointer fresh);
    [[noreturn]] static void throw_failure(const managed_task& ended);
    [[noreturn]] static void throw_other_type(const managed_task& ended);
    template <class T>
    static task<T> result_of(core_pointer core, std::string id);

    core_pointer core_;
};

template <class T>
task<T> task_manager::result_of(core_pointer core, std::string id) {
    const managed_task ended = co_await detail::task_manager_core::wait(core, std::move(id));
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
template <class T>
task<T> task_manager::result(std::string id) {
    return result_of<T>(core_, std::move(id));
}

}  // namespace weir
