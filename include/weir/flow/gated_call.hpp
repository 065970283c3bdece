// SPDX-License-Identifier: MIT
// Calls behind gates: what run(fn) and settle(fn) of a policy return, with or without a pipeline.
//
// gates_call    a call through adjacent gates of a pipeline, or through one gate; it may wait
// gated_call    a call behind one gate that never waits: nothing but the frame of the user's task
//               is allocated, and a refused or plain call does not suspend
// call_under    run(fn) and settle(fn) of any policy: one frame for the call and its layer
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/policy.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::detail {

// The passes of one call through adjacent gates: acquired from the outermost gate inwards, released
// in reverse order.
template <class... Gates>
class gate_row {
    static constexpr std::size_t count = sizeof...(Gates);
    static constexpr std::array<bool, count> waits = {waiting_gate<Gates>...};

public:
    // The tuple must outlive the row.
    gate_row(const std::tuple<Gates&...>& gates, call_context& call) noexcept
        : gates_(gates), call_(call) {}
    gate_row(const gate_row&) = delete;
    gate_row& operator=(const gate_row&) = delete;
    ~gate_row() { give_back<count>(); }

    // Passes gates until one refuses. True: all have admitted the call; otherwise refusal() is the
    // refusing gate's.
    bool enter() noexcept { return enter_from<0>(); }
    bool has_entered() const noexcept { return entered_ == count; }
    const weir::refusal& refusal() const noexcept { return refusal_; }
    // Whether the refusing gate can be waited for.
    bool may_wait() const noexcept { return waits[entered_]; }
    // Waits at that gate; true if it admits the call.
    task<bool> wait() { return wait_at<0>(); }

    void finish(const outcome_view& ended) noexcept { finish_from<count>(ended); }

private:
    template <std::size_t Index>
    bool enter_from() noexcept {
        if constexpr (Index == count) {
            return true;
        } else {
            if (entered_ <= Index) {
                auto admitted = std::get<Index>(gates_).try_enter(call_);
                if (!admitted) [[unlikely]] {
                    refusal_ = admitted.refusal();
                    return false;
                }
                std::get<Index>(passes_).emplace(std::move(admitted).pass());
                entered_ = Index + 1;
            }
            return enter_from<Index + 1>();
        }
    }
    template <std::size_t Index>
    task<bool> wait_at() {
        if constexpr (Index + 1 < count) {
            if (entered_ != Index) {
                return wait_at<Index + 1>();
            }
        }
        return wait_here<Index>();
    }
    template <std::size_t Index>
    task<bool> wait_here() {
        if constexpr (waits[Index]) {
            auto admitted = co_await std::get<Index>(gates_).enter(call_);
            call_.time_passed();
            if (admitted) {
                std::get<Index>(passes_).emplace(std::move(admitted).pass());
                entered_ = Index + 1;
                co_return true;
            }
            refusal_ = admitted.refusal();
        }
        co_return false;
    }
    template <std::size_t End>
    void finish_from(const outcome_view& ended) noexcept {
        if constexpr (End > 0) {
            auto& pass = *std::get<End - 1>(passes_);
            if constexpr (listening_pass<std::remove_reference_t<decltype(pass)>>) {
                pass.finish(ended, call_);
            }
            finish_from<End - 1>(ended);
        }
    }
    template <std::size_t End>
    void give_back() noexcept {
        if constexpr (End > 0) {
            std::get<End - 1>(passes_).reset();
            give_back<End - 1>();
        }
    }

    const std::tuple<Gates&...>& gates_;
    std::tuple<std::optional<typename Gates::pass>...> passes_;
    call_context& call_;
    std::size_t entered_ = 0;
    weir::refusal refusal_;
};

// The rest of a call that has to wait at a gate.
template <class Next, class... Gates>
task<outcome<typename Next::value_type>> wait_at_gates(gate_row<Gates...>& row, call_context& call,
                                                       Next& next) {
    using result = outcome<typename Next::value_type>;
    do {
        const bool is_admitted = co_await row.wait();
        if (!is_admitted) {
            co_return result::from_refusal(row.refusal());
        }
    } while (!row.enter());
    result ended = co_await settle_next(next, call);
    row.finish(ended);
    co_return ended;
}

// co_await: the outcome of `next` behind the gates, or a refusal.
template <class Next, class... Gates>
class WEIR_MUST_AWAIT gates_call final : public bounded<gates_call<Next, Gates...>, boundary> {
    using base = bounded<gates_call, boundary>;
    using result = outcome<typename Next::value_type>;

public:
    static constexpr const char* boundary_name = "gates";

    gates_call(call_context& call, Next& next, Gates&... gates) noexcept
        : base(table_of<gates_call>), gates_(gates...), call_(&call), next_(&next) {}
    gates_call(gates_call&& unentered) noexcept
        : base(table_of<gates_call>),
          gates_(unentered.gates_),
          call_(unentered.call_),
          next_(unentered.next_) {}

    void enter(fiber& on) noexcept {
        try {
            row_.emplace(gates_, *call_);
            if (row_->enter()) [[likely]] {
                inner_.emplace(*next_, *call_);
                inner_->enter(*this, on);
                return;
            }
            if (row_->may_wait()) {
                waiting_.assign(wait_at_gates(*row_, *call_, *next_));
                waiting_.enter(*this, on);
                return;
            }
        } catch (...) {
            inner_.reset();
            error_ = std::current_exception();
        }
        skip_child(*this, on);
    }
    void child_suspended() noexcept {
        if (inner_) {
            inner_->child_suspended();
        }
    }
    next_step advance(fiber& on) noexcept { return return_to_parent(*this, on); }
    next_step stopped(fiber& on, walk& by) noexcept {
        if (inner_) {
            inner_->lost();
            inner_.reset();
        }
        waiting_.lost();
        if (by.error == nullptr) {
            return let_pass(*this, on);
        }
        error_ = std::move(by.error);
        return return_to_parent(*this, on);
    }

    result await_resume() {
        if (inner_) [[likely]] {
            result ended = inner_->take();
            row_->finish(ended);
            return ended;
        }
        if (waiting_.exists()) {
            return waiting_.take();
        }
        if (error_ == nullptr) {
            return result::from_refusal(row_->refusal());
        }
        call_->time_passed();
        result ended = outcome_of_error<typename Next::value_type>(error_);
        if (row_->has_entered()) {
            row_->finish(ended);
        }
        return ended;
    }

private:
    std::tuple<Gates&...> gates_;
    call_context* call_;
    Next* next_;
    std::optional<gate_row<Gates...>> row_;
    std::optional<inner_call_of<Next>> inner_;
    inner_call<task<result>> waiting_;
    std::exception_ptr error_;
};

template <gate Gate, class Next>
auto through_gate(Gate& gate, call_context& call, Next& next) {
    return gates_call<Next, Gate>(call, next, gate);
}

// The work behind a gate: a callable, or a task in place of one.
template <class Work>
struct gated_work {
    using result = call_result_t<Work>;
    static constexpr bool is_task = false;
};
template <class T>
struct gated_work<task<T>> {
    using result = task<T>;
    static constexpr bool is_task = true;
};

// The callable is invoked after the gate has admitted the call, otherwise not at all. Work: how the
// callable is held; a reference for an lvalue.
template <class Gate, class Work, call_view View>
class WEIR_MUST_AWAIT gated_call final : public bounded<gated_call<Gate, Work, View>, boundary> {
    using base = bounded<gated_call, boundary>;
    using work = gated_work<std::remove_reference_t<Work>>;
    using value_type = typename call_value<typename work::result>::type;
    using outcome_type = outcome<value_type>;
    static constexpr bool is_plain = !awaitable<typename work::result>;

public:
    static constexpr const char* boundary_name = "gated call";

    gated_call(Gate& gate, Work&& given)
        : base(table_of<gated_call>),
          gate_(gate),
          work_(std::forward<Work>(given)),
          context_(gate.name()) {}
    gated_call(gated_call&&) = default;

    // Asks the gate and starts the work. True: there is nothing to wait for.
    bool await_ready() {
        auto admitted = gate_.try_enter(context_);
        if (!admitted) [[unlikely]] {
            refusal_.reason = admitted.refusal().reason;  // not as one block: see copy_of
            refusal_.retry_after = admitted.refusal().retry_after;
            discard();
            return true;
        }
        pass_.emplace(std::move(admitted).pass());
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
            finish(ended);
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

    void finish(const outcome_type& ended) noexcept {
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
    // Rethrows errors unchanged: an outcome would lose the name that a refusal carries.
    value_type take_value() {
        std::exception_ptr error;
        if constexpr (is_plain) {
            try {
                outcome_type ended = call_plain(work_, context_);
                finish(ended);
                return std::move(ended).value();
            } catch (...) {
                error = std::current_exception();
            }
        } else if (child_.has_value()) [[likely]] {
            outcome_type ended = take();
            finish(ended);
            return std::move(ended).value();
        } else {
            error = child_.error();
        }
        finish(outcome_of_error<value_type>(error));
        std::rethrow_exception(error);
    }

    Gate& gate_;
    Work work_;
    call_context context_;
    std::optional<typename Gate::pass> pass_;
    refusal refusal_;
    child_call<value_type> child_;  // unused for plain values
};

template <call_view View, class Gate, class Work>
auto call_through(Gate& gate, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return gated_call<Gate, held_t<Work>, View>(gate, std::forward<Work>(work));
}

template <call_view View, class Held, class Policy,
          class T = call_value_t<std::remove_reference_t<Held>>>
task<viewed_t<View, T>> call_under(Policy* policy, Held fn, double weight = 1) {
    call_context call(policy->name(), weight);
    auto next = innermost_of<outlives_call<Policy>, Held>(fn);
    if constexpr (gate<Policy>) {
        outcome<T> ended = co_await through_gate(*policy, call, next);
        co_return view_of<View>(std::move(ended), policy->name());
    } else {
        outcome<T> ended = co_await policy->around(call, next);
        co_return view_of<View>(std::move(ended), policy->name());
    }
}

}  // namespace weir::detail
