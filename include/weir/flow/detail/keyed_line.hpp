// SPDX-License-Identifier: MIT
// The waiters for one key of a keyed_limiter. A line exists only while it has waiters; its timer is
// armed for the first. Tokens are taken when a waiter's turn has come, so a waiter that leaves the
// line has nothing to give back.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/decision/keyed_gcra.hpp>
#include <weir/loop.hpp>

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

namespace weir {
struct keyed_limiter_stats;
class metric_writer;
}  // namespace weir

namespace weir::detail {

[[noreturn]] void throw_bad_tokens(double tokens);
[[noreturn]] void throw_bad_class(std::string_view name, std::size_t which, std::size_t count);
void check_keyed_options(std::string_view name, std::size_t max_keys, clock::duration max_wait);
void write_keyed_metrics(metric_writer& to, std::string_view name,
                         const keyed_limiter_stats& stats);

// The part of a waiter that does not depend on the key.
class keyed_waiter : public listed_operation {
protected:
    template <class, class>
    friend class keyed_line;
    explicit keyed_waiter(double tokens) noexcept : tokens_(tokens) {}
    keyed_waiter(keyed_waiter&&) noexcept = default;
    ~keyed_waiter() = default;

    double tokens_;
    clock::time_point since_{};
    clock::time_point granted_{};
    decision::keyed_answer answer_;  // once decided
};

template <class Key, class Limiter>
class keyed_line final : private timer {
public:
    explicit keyed_line(Limiter& limiter) noexcept : limiter_(&limiter) {}
    ~keyed_line() {
        disarm();
        waiters_.orphan();
    }
    void set_key(const Key& key) noexcept { key_ = &key; }
    const Key& key() const noexcept { return *key_; }

    bool has_waiting() const noexcept { return waiters_.has_waiting(); }
    double queued() const noexcept { return queued_; }

    bool enter(keyed_waiter& last, clock::time_point now) noexcept {
        if (!waiters_.enter(last)) {
            return false;
        }
        home_ = static_cast<loop*>(this_thread.loop);
        queued_ += last.tokens_;
        ++limiter_->waiting_;
        if (&waiters_.first_waiting() == &last) {
            serve(now);
        }
        return true;
    }
    // The waiter stops waiting.
    void leave(keyed_waiter& gone, clock::time_point now) noexcept {
        const bool was_first = &waiters_.first_waiting() == &gone;
        waiters_.remove(gone);
        forget(gone);
        if (was_first) {
            serve(now);
        }
    }
    // The waiter continues with its grant.
    void leave_granted(keyed_waiter& gone) noexcept { waiters_.remove_granted(gone); }
    // The waiter was granted and is stopped before it continues.
    void give_back(keyed_waiter& gone, clock::time_point now) noexcept {
        waiters_.remove_granted(gone);
        limiter_->decision_.refund(key(), gone.answer_, now);
        --limiter_->granted_;
        ++limiter_->returned_;
        serve(now);
    }

    // Admits the waiters whose turn has come; arms the timer for the next one.
    void serve(clock::time_point now) noexcept {
        disarm();
        while (waiters_.has_waiting()) {
            auto& first = static_cast<keyed_waiter&>(wait_list::at(waiters_.first_waiting()));
            if (!decide(first, now)) {
                home_->arm(*this, after(now, first.answer_.wait));
                return;
            }
        }
    }
    // No waiter refers to the line.
    bool is_empty() const noexcept { return waiters_.is_empty(); }

private:
    // False: the waiter continues to wait.
    bool decide(keyed_waiter& first, clock::time_point now) noexcept {
        try {
            first.answer_ =
                limiter_->decision_.take(key(), first.tokens_, limiter_->rate_of(key()), now);
        } catch (...) {  // no memory: retried later
            first.answer_ = {.verdict = decision::keyed_verdict::too_early,
                             .wait = std::chrono::milliseconds(1)};
        }
        if (first.answer_.granted()) {
            ++limiter_->granted_;
            first.granted_ = now;
            waiters_.grant_first();
            forget(first);
            return true;
        }
        if (first.answer_.verdict == decision::keyed_verdict::too_much) {  // the rate was changed
            ++limiter_->limited_;
            waiters_.release_first(wait_state::refused);
            forget(first);
            return true;
        }
        return false;
    }
    void fire() noexcept override {
        serve(home_->now());
        limiter_->end_if_empty(*this);
    }
    void disarm() noexcept {
        if (is_armed()) {
            home_->disarm(*this);
        }
    }
    void forget(keyed_waiter& one) noexcept {
        queued_ = waiters_.has_waiting() ? queued_ - one.tokens_ : 0;
        --limiter_->waiting_;
    }

    Limiter* limiter_;
    const Key* key_ = nullptr;
    loop* home_ = nullptr;
    wait_list waiters_;
    double queued_ = 0;  // tokens that the waiters request
};

// co_await limiter.admit(key), or acquire(key).
template <class Key, class Limiter, bool Throws>
class WEIR_MUST_AWAIT keyed_wait final : public keyed_waiter {
public:
    keyed_wait(Limiter& from, Key key, double tokens)
        : keyed_waiter(tokens), from_(&from), key_(std::move(key)) {}
    keyed_wait(keyed_wait&&) = default;
    ~keyed_wait() {
        if (state_ == wait_state::waiting) [[unlikely]] {
            cancel();
        } else if (state_ == wait_state::granted) [[unlikely]] {
            line_->give_back(*this, now());
            from_->end_if_empty(*line_);
        }
    }

    bool ready() noexcept override {
        try {
            return from_->decide_at_once(*this);
        } catch (...) {
            failure_ = std::current_exception();
            return true;
        }
    }
    bool start() noexcept override {
        try {
            line_ = &from_->line_of(key_);
        } catch (...) {
            failure_ = std::current_exception();
            return false;
        }
        const bool waits = line_->enter(*this, now());
        from_->end_if_empty(*line_);
        return waits;
    }
    bool cancel() noexcept override {
        line_->leave(*this, now());
        state_ = wait_state::idle;
        from_->end_if_empty(*line_);
        return true;
    }
    const char* name() const noexcept override {
        return Throws ? "keyed_limiter.acquire" : "keyed_limiter.admit";
    }
    std::conditional_t<Throws, clock::duration, admission<let_through>> resume() {
        clock::duration waited{};
        const wait_state end = std::exchange(state_, wait_state::idle);
        if (failure_ != nullptr) [[unlikely]] {
            std::rethrow_exception(failure_);
        }
        if (end == wait_state::granted) {
            line_->leave_granted(*this);
            from_->end_if_empty(*line_);
            waited = granted_ - since_;
        } else if (end == wait_state::refused) {
            refusal_ = {refusal_reason::rate_limited, refusal::never};
            is_refused_ = true;
        } else if (end != wait_state::idle) [[unlikely]] {
            throw_wait_error(end, "keyed_limiter");
        }
        if constexpr (Throws) {
            if (is_refused_) {
                throw refused(refusal_, from_->name());
            }
            return waited;
        } else {
            if (is_refused_) {
                return refusal_;
            }
            return let_through{waited};
        }
    }

private:
    friend Limiter;
    void refuse(const refusal& why) noexcept {
        refusal_ = why;
        is_refused_ = true;
    }
    // The destructor may run while no task is running.
    clock::time_point now() const noexcept { return static_cast<loop&>(waiter().home()).now(); }

    Limiter* from_;
    Key key_;
    keyed_line<Key, Limiter>* line_ = nullptr;
    std::exception_ptr failure_;
    refusal refusal_;
    bool is_refused_ = false;
};

}  // namespace weir::detail
