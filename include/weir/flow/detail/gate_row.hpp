// SPDX-License-Identifier: MIT
// Gates that stand side by side, and one call on its way through them.
#pragma once

#include <weir/flow/detail/inner_call.hpp>
#include <weir/flow/policy.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

namespace weir::detail {

// The passes of one call. They are taken from the outside in and given back from the inside out.
template <class... Gates>
class gate_row {
    static constexpr std::size_t count = sizeof...(Gates);
    static constexpr std::array<bool, count> waits = {waiting_gate<Gates>...};

public:
    // The tuple must outlive it.
    gate_row(const std::tuple<Gates&...>& gates, call_context& call) noexcept
        : gates_(gates), call_(call) {}
    gate_row(const gate_row&) = delete;
    gate_row& operator=(const gate_row&) = delete;
    ~gate_row() { give_back<count>(); }

    // Goes through as many as let it in; true if these are all. Otherwise refusal() is of the one
    // that did not.
    bool enter() noexcept { return enter_from<0>(); }
    bool has_entered() const noexcept { return entered_ == count; }
    const weir::refusal& refusal() const noexcept { return refusal_; }
    // Can one wait at the gate that refused?
    bool may_wait() const noexcept { return waits[entered_]; }
    // Waits there; true if it let in after all.
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

// For a call that has to wait at a gate.
template <class Next, class... Gates>
task<outcome<typename Next::value_type>> wait_at_gates(gate_row<Gates...>& row, call_context& call,
                                                       Next& next) {
    using result = outcome<typename Next::value_type>;
    do {
        const bool let_in = co_await row.wait();
        if (!let_in) {
            co_return result::from_refusal(row.refusal());
        }
    } while (!row.enter());
    result ended = co_await settle_next(next, call);
    row.finish(ended);
    co_return ended;
}

// co_await: the outcome of what is behind the gates, or a refusal.
template <class Next, class... Gates>
class gates_call final : public bounded<gates_call<Next, Gates...>, boundary> {
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

}  // namespace weir::detail
