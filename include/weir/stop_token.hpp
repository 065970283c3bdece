// SPDX-License-Identifier: MIT
// Stops and std::stop_token, in both directions.
#pragma once

#include <weir/scope.hpp>

#include <memory>
#include <stop_token>

namespace weir {

// A token that is requested when the running task is cancelled: for libraries that take one. Its
// callbacks run inside cancel(), on the loop's thread. Stops of a part of the task (a timeout, a
// scope) do not count. Throws loop_error outside of tasks.
std::stop_token stop_token_of_current();

namespace detail {

// Requests a stop of a scope, from any thread, as long as it exists.
class scope_stopper {
public:
    explicit scope_stopper(cancel_scope& stopped);
    scope_stopper(const scope_stopper&) = delete;
    scope_stopper& operator=(const scope_stopper&) = delete;
    ~scope_stopper() { *alive_ = nullptr; }
    void operator()() const;

private:
    std::shared_ptr<cancel_scope*> alive_;  // read and written on the loop's thread alone
    std::shared_ptr<inbox> mail_;
    loop_core* home_;
};

template <class T>
auto run_with_token(std::stop_token token, task<T> work)
    -> task<decltype(std::declval<cancel_scope_call<T>&>().await_resume())> {
    cancel_scope stoppable;
    const scope_stopper stopper(stoppable);
    const std::stop_callback watch(std::move(token), [&stopper] { stopper(); });
    co_return co_await stoppable.run(std::move(work));
}

}  // namespace detail

// co_await with_stop_token(token, work): the work, stopped when the token is requested, on any
// thread. Gives an optional with the work's value, empty if it was stopped for that; for work
// without a value, whether it ended without being stopped. A token that was requested before stops
// the work at its first suspension.
template <detail::task_like Work>
auto with_stop_token(std::stop_token token, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::run_with_token<detail::task_value_t<Work>>(
        std::move(token), detail::to_task(std::forward<Work>(work)));
}

}  // namespace weir
