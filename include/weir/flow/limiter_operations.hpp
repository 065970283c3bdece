// SPDX-License-Identifier: MIT
// What admit() and acquire() of a limiter give to await; and the passes they end with.
#pragma once

#include <weir/flow/limiter_line.hpp>

#include <utility>

namespace weir {

// Let through; and how long it had to wait.
struct let_through {
    clock::duration waited{};
};

namespace detail {

// Let through by a limiter that minds completion: the end of the turn is told to it, by done() or
// when this goes. The limiter must outlive it.
template <class Limiter>
class [[nodiscard]] limiter_turn : public let_through {
public:
    limiter_turn(Limiter& from, double weight, clock::duration waited) noexcept
        : let_through{waited}, from_(&from), weight_(weight) {}
    limiter_turn(limiter_turn&& other) noexcept
        : let_through(other), from_(std::exchange(other.from_, nullptr)), weight_(other.weight_) {}
    limiter_turn& operator=(limiter_turn&& other) noexcept {
        limiter_turn old(std::move(*this));
        let_through::operator=(other);
        from_ = std::exchange(other.from_, nullptr);
        weight_ = other.weight_;
        return *this;
    }
    ~limiter_turn() { done(); }

    void done() noexcept {
        if (from_ != nullptr) {
            std::exchange(from_, nullptr)->completed(weight_);
        }
    }

private:
    Limiter* from_;
    double weight_;
};

template <class Limiter>
class limiter_operation : public operation, protected limiter_waiter {
public:
    bool ready() noexcept override {
        since_ = weir::now();
        const decision::verdict said = from_->attempt(since_, weight_);
        if (said.granted) [[likely]] {
            from_->count_granted();
            return true;
        }
        if (from_->must_refuse(*this, since_, said.wait)) {
            state_ = wait_state::refused;
            return true;
        }
        return false;
    }
    bool start() noexcept override { return from_->limiter_line::enter(*this); }
    bool cancel() noexcept override {
        from_->leave(*this);
        return true;
    }

protected:
    limiter_operation(Limiter& from, double weight) noexcept
        : limiter_waiter(weight), from_(&from) {}
    limiter_operation(limiter_operation&& other) noexcept
        : operation(), limiter_waiter(other.weight_), from_(other.from_) {}
    ~limiter_operation() {
        if (state_ == wait_state::waiting || state_ == wait_state::granted) [[unlikely]] {
            from_->leave(*this);
        }
    }

    auto answer() -> admission<typename Limiter::pass> {
        switch (state_) {
            case wait_state::idle:
                return from_->make_pass(weight_, {});
            case wait_state::granted:
                from_->went_on(*this);
                return from_->make_pass(weight_, granted_ - since_);
            case wait_state::refused:
                state_ = wait_state::idle;
                return why_;
            default:
                throw_wait_error(std::exchange(state_, wait_state::idle), "rate limiter");
        }
    }

    Limiter* from_;

private:
    void answered(loop_core& home) noexcept override { complete_on(home); }
};

template <class Limiter>
class [[nodiscard]] limiter_admit final : public limiter_operation<Limiter> {
public:
    limiter_admit(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.admit"; }
    auto resume() { return this->answer(); }
};

template <class Limiter>
class [[nodiscard]] limiter_acquire final : public limiter_operation<Limiter> {
public:
    limiter_acquire(Limiter& from, double weight) noexcept
        : limiter_operation<Limiter>(from, weight) {}
    const char* name() const noexcept override { return "limiter.acquire"; }
    typename Limiter::acquired resume() {
        return static_cast<typename Limiter::acquired>(
            Limiter::to_acquired(this->answer().value(this->from_->name())));
    }
};

}  // namespace detail

}  // namespace weir
