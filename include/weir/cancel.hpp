// SPDX-License-Identifier: MIT
// What can be done about a stop: hold it off, see it as a value or an exception, clean up after it.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/base/to_task.hpp>
#include <weir/error.hpp>
#include <weir/outcome.hpp>

namespace weir {

namespace detail {

template <class T>
class WEIR_MUST_AWAIT shield_call final : public bounded<shield_call<T>, scope> {
public:
    static constexpr const char* boundary_name = "shield";
    explicit shield_call(task<T>&& work)
        : bounded<shield_call, scope>(table_of<shield_call>), work_(std::move(work)) {
        this->shielding = true;
    }

    void enter(fiber& on) noexcept {
        enter_scope(*this, on);
        work_.enter(*this, on);
    }
    next_step advance(fiber& on) noexcept {
        leave_scope(*this);
        return give_way(*this, on, work_);
    }
    next_step stopped(fiber& on, walk& stop) noexcept {
        leave_scope(*this);
        work_.lost();
        if (stop.error != nullptr) {
            work_.fail(std::move(stop.error));
            return return_to_parent(*this, on);
        }
        return let_pass(*this, on);  // the shield was broken: the loop is past its deadline
    }
    T await_resume() { return work_.take(); }

private:
    given_work<T> work_;
};

// settle, intercept and catchable: one boundary, three views of how the work ended.
enum class view : unsigned char { settled, intercepted, thrown };

template <class T, view View>
class WEIR_MUST_AWAIT observed_call final : public bounded<observed_call<T, View>, boundary> {
public:
    static constexpr const char* boundary_name = View == view::settled       ? "settle"
                                                 : View == view::intercepted ? "intercept"
                                                                             : "catchable";
    explicit observed_call(task<T>&& work)
        : bounded<observed_call, boundary>(table_of<observed_call>), work_(std::move(work)) {}

    void enter(fiber& on) noexcept { work_.enter(*this, on); }
    next_step advance(fiber& on) noexcept { return return_to_parent(*this, on); }
    next_step stopped(fiber& on, walk& stop) noexcept {
        work_.lost();
        if (stop.error != nullptr) {
            work_.fail(std::move(stop.error));
            return return_to_parent(*this, on);
        }
        if constexpr (View == view::settled) {
            return let_pass(*this, on);
        } else {
            origin_ = origin_of(on, stop.target);
            return return_to_parent(*this, on);
        }
    }

    decltype(auto) await_resume() {
        if constexpr (View == view::thrown) {
            if (origin_.on != nullptr) {
                throw cancelled(take_reason(origin_), origin_.tag());
            }
            return work_.take();
        } else {
            if (origin_.on != nullptr) {
                return outcome<T>::from_stop(origin_, take_reason(origin_));
            }
            if (std::exception_ptr error = work_.error()) {
                return outcome<T>::from_error(std::move(error));
            }
            if constexpr (std::is_void_v<T>) {
                work_.take();
                return outcome<T>::from_value();
            } else {
                return outcome<T>::from_value(work_.take());
            }
        }
    }

private:
    given_work<T> work_;
    stop_origin origin_;
};

// shield(handle): waits without forwarding cancellation.
template <class T>
class WEIR_MUST_AWAIT shielding_join final : public join_operation {
public:
    explicit shielding_join(fiber& target) noexcept : join_operation(target, mode::leave) {}
    T resume() {
        check_await();
        auto& ended = static_cast<fiber_box<T>&>(target());
        check_ended_well(ended);
        return own_value(ended);
    }
};

}  // namespace detail

// Runs the work inline and holds off a stop until it has ended: then the fiber stops, unless the
// work threw (an error beats a stop). Put things here that must not be left half done, and keep
// them short.
template <detail::task_like Work>
    requires(!std::derived_from<std::remove_cvref_t<Work>, any_handle>)
auto shield(Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::shield_call<detail::task_value_t<Work>>(
        detail::to_task(std::forward<Work>(work)));
}
// Waits for a started task and gives a copy of its value (the value itself where there is no
// copying); a stop of the waiter leaves at once and the task runs on.
template <class T>
detail::shielding_join<T> shield(const handle<T>& started) {
    return detail::shielding_join<T>(started.checked());
}

// The outcome as a value: value, error, or another task's cancellation. This fiber's own stop
// passes through, so a loop over settle stays cancellable.
template <detail::task_like Work>
auto settle(Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::observed_call<detail::task_value_t<Work>, detail::view::settled>(
        detail::to_task(std::forward<Work>(work)));
}

// The outcome as a value, this fiber's own stop included: the fiber continues normally. Awaiting
// the outcome (co_await std::move(result)) resumes the stop.
template <detail::task_like Work>
auto intercept(Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::observed_call<detail::task_value_t<Work>, detail::view::intercepted>(
        detail::to_task(std::forward<Work>(work)));
}

// Turns this fiber's own stop into an exception, weir::cancelled, thrown here: for code that must
// catch.
template <detail::task_like Work>
auto catchable(Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::observed_call<detail::task_value_t<Work>, detail::view::thrown>(
        detail::to_task(std::forward<Work>(work)));
}

// What is no work: what to write instead.
template <class Work>
    requires(!detail::task_like<Work>)
detail::refused_call shield(Work&&) {
    detail::explain_work<Work>();
    return {};
}
template <class Work>
    requires(!detail::task_like<Work>)
detail::refused_call settle(Work&&) {
    detail::explain_work<Work>();
    return {};
}
template <class Work>
    requires(!detail::task_like<Work>)
detail::refused_call intercept(Work&&) {
    detail::explain_work<Work>();
    return {};
}
template <class Work>
    requires(!detail::task_like<Work>)
detail::refused_call catchable(Work&&) {
    detail::explain_work<Work>();
    return {};
}

}  // namespace weir
