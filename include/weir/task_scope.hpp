// SPDX-License-Identifier: MIT
// task_scope: the tasks of an object. A class that works in the background has one as its last
// member, and a close() that its users await.
//
//     class monitor {
//     public:
//         void watch(std::string host) { tasks_.spawn(&monitor::check, this, std::move(host)); }
//         weir::task<> close() { return tasks_.close(); }
//     private:
//         weir::task<> check(std::string host);
//         std::map<std::string, bool> state_;  // tasks use it: declared before the scope
//         weir::task_scope tasks_;
//     };
//
//     monitor hosts;
//     co_await weir::with(hosts, body);  // runs body(hosts), and closes it however that ends
//
// A task that fails does not stop the others; its error goes to the task that awaits its handle,
// and is reported if none does. Belongs to one loop: the one where it is first used. What is still
// open when the loop shuts down is closed then.
//
// Destroyed without close(), while tasks run: that is a mistake of the program, and is reported
// (report_kind::unclosed_scope). Nothing of them runs after the destructor, because they may use
// the object that is going: each is stopped on the spot, with the destructors of its locals. One
// that cannot be stopped at once, because its clean-up awaits, because it is shielded, or because
// the kernel still has its buffers, is given up: its frames stay in memory for ever, and those who
// await its handle see it cancelled.
#pragma once

#include <weir/base/closable.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/spawn.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace weir {

namespace detail {

class group_owner {
public:
    explicit group_owner(group_state& shared) noexcept : group_(&shared) { retain_group(group_); }
    group_owner(const group_owner& other) noexcept : group_owner(*other.group_) {}
    group_owner& operator=(const group_owner&) = delete;
    ~group_owner() { release_group(group_); }
    group_state* operator->() const noexcept { return group_; }

private:
    group_state* group_;
};

}  // namespace detail

class task_scope final : private detail::child_observer, private detail::closable {
public:
    explicit task_scope(std::source_location where = std::source_location::current()) noexcept
        : made_(where) {}
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;
    ~task_scope();

    // Starts a task in the scope. Throws invalid_state after close(); the task is then destroyed
    // unstarted.
    template <class T>
    handle<T> spawn(task<T>&& work, const spawn_options& options = {},
                    std::source_location where = std::source_location::current()) {
        try {
            form();
        } catch (...) {
            work.discard();
            throw;
        }
        detail::start_options starting = detail::to_start_options(options, *group_->home);
        starting.created = where;
        return handle<T>(detail::start_fiber(*group_, std::move(work), starting));
    }
    WEIR_SPAWN_CALLS()
    template <class Given, class... Args>
        requires detail::not_spawnable<Given, Args...>
    detail::refused_call spawn(Given&&, Args&&...) {
        detail::explain_spawn<detail::kind_of_unspawnable<Given, Args...>()>();
        return {};
    }

    // Waits until no task is left, those included that are spawned meanwhile. Stopping the waiter
    // leaves the tasks alone. Throws invalid_state in a task of the scope, which would wait for
    // itself.
    task<void> join();
    // Accepts no more tasks, cancels those that run, and waits for their end. If the waiter is
    // stopped, they end all the same. Once more, also at the same time, only waits. Throws
    // invalid_state in a task of the scope.
    task<void> close(std::string reason = {});
    // Cancels the tasks that run now, and does not wait. The scope stays open.
    void cancel(std::string_view reason = {});

    std::size_t size() const noexcept { return group_ != nullptr ? group_->child_count : 0; }
    bool is_closed() const noexcept { return is_closed_; }  // close() was called

private:
    void form();
    void check_waiter(const char* call) const;
    task<void> wait_until_empty();
    static task<void> wait_for(detail::group_owner group, task_scope& scope);
    static task<void> no_wait();
    void child_ended(detail::fiber& ended) noexcept override;
    void close_at_shutdown() noexcept override;
    void leave_at_shutdown(bool closes) noexcept override;
    void drop_tasks() noexcept;
    void give_up_tasks() noexcept;

    detail::group_state* group_ = nullptr;  // made with the first task
    event ended_;                           // the last task that ran has ended
    std::source_location made_;
    bool is_closed_ = false;
};

}  // namespace weir
