// SPDX-License-Identifier: MIT
// A call behind a gate that never waits: what run(fn) and settle(fn) of such a gate give.
//
// It is a boundary on the stack of awaits, not a coroutine: a call that is refused, or whose
// function gives a plain value, does not even suspend, and nothing is allocated but the frame of
// the function's own task. The function is called when the gate has let it in, and not at all
// otherwise.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/flow/call.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace weir::detail {

// A task may stand in place of a callable.
template <class Work>
struct gated_work {
    using made = call_result_t<Work>;
    static constexpr bool is_task = false;
};
template <class T>
struct gated_work<task<T>> {
    using made = task<T>;
    static constexpr bool is_task = true;
};

// Work: what is kept of the callable; a reference, if it has a name.
template <class Gate, class Work, call_view View>
class [[nodiscard]] gated_call final : public bounded<gated_call<Gate, Work, View>, boundary> {
    using base = bounded<gated_call, boundary>;
    using work = gated_work<std::remove_reference_t<Work>>;
    using value_type = typename call_value<typename work::made>::type;
    using outcome_type = outcome<value_type>;
    static constexpr bool is_plain = !awaitable<typename work::made>;

public:
    static constexpr const char* boundary_name = "gated call";

    gated_call(Gate& gate, Work&& given)
        : base(table_of<gated_call>),
          gate_(gate),
          work_(std::forward<Work>(given)),
          context_(gate.name()) {}
    gated_call(gated_call&&) = default;
    ~gated_call() { discard(); }

    // Asks the gate, and calls the function. True: nothing is left to wait for.
    bool await_ready() {
        auto let_in = gate_.try_enter(context_);
        if (!let_in) [[unlikely]] {
            refusal_.reason = let_in.refusal().reason;  // not as one block: see copy_of
            refusal_.retry_after = let_in.refusal().retry_after;
            discard();
            return true;
        }
        pass_.emplace(std::move(let_in).pass());
        if constexpr (is_plain) {
            return true;
        } else {
            try {
                start();
            } catch (...) {
                child_.fail(std::current_exception());
                return true;
            }
            return false;
        }
    }
    void enter(fiber& on) noexcept { child_.enter(*this, on); }
    next_step advance(fiber& on) noexcept { return return_to_parent(*this, on); }
    next_step stopped(fiber& on, walk& by) noexcept {
        child_.lost();
        if (by.error != nullptr) {
            child_.fail(std::move(by.error));
            return return_to_parent(*this, on);
        }
        pass_.reset();
        return let_pass(*this, on);
    }

    decltype(auto) await_resume() {
        if constexpr (View == call_view::outcome) {
            if (!pass_) [[unlikely]] {
                return outcome_type::from_refusal(refusal_);
            }
            outcome_type ended = take();
            tell(ended);
            return ended;
        } else {
            if (!pass_) [[unlikely]] {
                throw refused(refusal_, gate_.name());
            }
            return take_value();
        }
    }

private:
    void discard() noexcept {
        if constexpr (work::is_task) {
            work_.discard();
        }
    }
    void start() {
        if constexpr (work::is_task) {
            child_.assign(std::move(work_));
        } else {
            child_.assign(to_task(invoke_call(work_, context_)));
        }
    }

    void tell(const outcome_type& ended) noexcept {
        if constexpr (listening_pass<typename Gate::pass>) {
            context_.time_passed();
            pass_->finish(outcome_view(ended), context_);
        }
    }
    outcome_type take() {
        if constexpr (is_plain) {
            try {
                return call_plain(work_, context_);
            } catch (...) {
                return outcome_of_error<value_type>(std::current_exception());
            }
        } else if (!child_.has_value()) {
            return outcome_of_error<value_type>(child_.error());
        } else if constexpr (std::is_void_v<value_type>) {
            child_.take();
            return outcome_type::from_value();
        } else {
            return outcome_type::from_value(child_.take());
        }
    }
    // An error is thrown on as it is: an outcome would keep less of a refusal.
    value_type take_value() {
        std::exception_ptr error;
        if constexpr (is_plain) {
            try {
                outcome_type ended = call_plain(work_, context_);
                tell(ended);
                return std::move(ended).value();
            } catch (...) {
                error = std::current_exception();
            }
        } else if (child_.has_value()) [[likely]] {
            outcome_type ended = take();
            tell(ended);
            return std::move(ended).value();
        } else {
            error = child_.error();
        }
        tell(outcome_of_error<value_type>(error));
        std::rethrow_exception(error);
    }
    Gate& gate_;
    Work work_;
    call_context context_;
    std::optional<typename Gate::pass> pass_;
    refusal refusal_;
    child_call<value_type> child_;  // not where the value is plain
};

template <call_view View, class Gate, class Work>
auto call_through(Gate& gate, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return gated_call<Gate, held_t<Work>, View>(gate, std::forward<Work>(work));
}

}  // namespace weir::detail
