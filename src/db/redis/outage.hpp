// SPDX-License-Identifier: MIT
// The time during which Redis does not answer: the cause, the time of the next probe, and the tasks
// that wait for this process's own limiter meanwhile.
#pragma once

#include <weir/base/intrusive_list.hpp>
#include <weir/clock.hpp>
#include <weir/scope.hpp>
#include <weir/task.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace weir::redis::detail {

class outage {
public:
    bool is_on() const noexcept { return is_on_; }
    // The error of the last question; empty while Redis answers.
    const std::string& error() const noexcept { return error_; }
    clock::time_point next_probe() const noexcept { return next_probe_; }
    void set_next_probe(clock::time_point at) noexcept { next_probe_ = at; }

    void begin(const std::exception_ptr& reason) noexcept {
        is_on_ = true;
        try {
            std::rethrow_exception(reason);
        } catch (const std::exception& error) {
            error_ = error.what();
        } catch (...) {
            error_ = "an exception of an unknown type";
        }
    }
    void end() noexcept {
        is_on_ = false;
        error_.clear();
        end_waits();
    }
    // Ends the waits of all tasks, in the order in which they came.
    void end_waits() noexcept {
        for (waiter& each : waiters_) {
            each.scope.cancel();
        }
    }
    // co_await wait(work): its result; none if the outage ends first.
    template <class T>
    task<std::optional<T>> wait(task<T> work) {
        struct listed : waiter {
            explicit listed(weir::detail::intrusive_list<waiter>& all) { all.push_back(*this); }
            ~listed() { this->unlink(); }
        };
        listed here(waiters_);
        std::optional<T> result = co_await here.scope.run(std::move(work));
        co_return result;
    }

private:
    struct waiter : weir::detail::list_link<> {
        cancel_scope scope;
    };

    bool is_on_ = false;
    std::string error_;
    clock::time_point next_probe_{};
    weir::detail::intrusive_list<waiter> waiters_;
};

}  // namespace weir::redis::detail
