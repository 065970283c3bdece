// SPDX-License-Identifier: MIT
// circuit_breaker: stops calling a failing dependency, and detects when it has recovered.
//
//     weir::circuit_breaker breaker({.name = "payments", .consecutive_failures = 5});
//     weir::outcome<receipt> paid = co_await breaker.settle([&] { return pay(order); });
//     if (paid.is_refused()) { retry_later(paid.refusal().retry_after); }
//
// Closed, the breaker admits calls and counts their endings. When one of the configured rules
// applies, it opens and refuses all calls. After a while it is half-open: it admits a limited
// number of trial calls, whose endings decide. Results of calls that began in an earlier state are
// not counted.
//
// A call whose caller is stopped (cancelled, or past an outer deadline) counts neither as success
// nor as failure. Put the timeout inside, breaker.run([&] { return timeout(1s, pay(order)); }), so
// that a slow callee is a failure. Belongs to one loop and must outlive its calls; with several
// loops, give each its own breaker, which learns from the calls of its loop. A call costs a few
// counters; if a rule needs the time, the clock is read at the beginning and the end of the call.
#pragma once

#include <weir/flow/decision/breaker.hpp>
#include <weir/flow/gated_call.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir {

class circuit_breaker {
    using verdict = decision::breaker::verdict;

public:
    static constexpr policy_kind kind = policy_kind::circuit_breaker;

    // An admitted call. Report its ending with finish(), succeeded(), failed() or ignored(); if the
    // pass is destroyed without, the caller was stopped, and nothing is counted.
    class [[nodiscard]] pass {
    public:
        pass() noexcept = default;
        pass(pass&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)), token_(other.token_.copy()) {}
        pass& operator=(pass&& other) noexcept {
            pass old(std::move(*this));
            from_ = std::exchange(other.from_, nullptr);
            token_ = other.token_;
            return *this;
        }
        ~pass() {
            if (from_ != nullptr) [[unlikely]] {
                from_->decision_.stop(token_);
            }
        }

        void finish(const outcome_view& ended, call_context& call) noexcept {
            if (from_ != nullptr) {
                end(from_->judge(ended), [&] { return call.now(); });
            }
        }
        // For calls without a callable. Idempotent.
        void succeeded() {
            end(verdict::success, [] { return weir::now(); });
        }
        void failed() {
            end(verdict::failure, [] { return weir::now(); });
        }
        void ignored() {
            end(verdict::ignored, [] { return weir::now(); });
        }

    private:
        friend class circuit_breaker;
        pass(circuit_breaker& from, const decision::breaker::token& token) noexcept
            : from_(&from), token_(token.copy()) {}

        template <class Now>
        void end(verdict result, Now now) {
            if (from_ != nullptr) {
                decision::breaker& decision = std::exchange(from_, nullptr)->decision_;
                const bool is_timed = result != verdict::success || decision.needs_time();
                decision.end(token_, result, is_timed ? now() : clock::time_point());
            }
        }

        circuit_breaker* from_ = nullptr;
        decision::breaker::token token_;
    };

    // Throws invalid_argument for invalid options.
    explicit circuit_breaker(const circuit_breaker_options& options = {});
    circuit_breaker(const circuit_breaker&) = delete;
    circuit_breaker& operator=(const circuit_breaker&) = delete;

    // co_await run(fn): the value of fn(), which is called only if admitted. Throws its error, or
    // weir::refused. fn may return a task, another awaitable or a plain value. A task may be passed
    // in place of fn; it is discarded if refused.
    template <class Work>
    auto run(Work&& work) {
        return detail::call_through<detail::call_view::value>(*this, std::forward<Work>(work));
    }
    // co_await settle(fn): the outcome as a value.
    template <class Work>
    auto settle(Work&& work) {
        return detail::call_through<detail::call_view::outcome>(*this, std::forward<Work>(work));
    }

    // For calls without a callable: keep the pass during the call, and report the ending to it.
    admission<pass> try_acquire() {
        return enter([] { return weir::now(); });
    }
    admission<pass> try_enter(call_context& call) noexcept {
        return enter([&] { return call.now(); });
    }

    const std::string& name() const noexcept { return name_; }
    // The current state. Does not use up a trial call.
    circuit_state state() { return decision_.state(weir::now()); }
    // How long it stays open; zero if it is not open.
    clock::duration open_time_left() { return decision_.open_time_left(weir::now()); }

    // Manual control. Calls in flight continue and are no longer counted.
    void isolate() { decision_.isolate(weir::now()); }  // refuses all calls until close()
    void disable() { decision_.disable(weir::now()); }  // admits all calls until close()
    void trip() { decision_.trip(weir::now()); }        // opens, as a rule would
    void close() { decision_.close(weir::now()); }      // closes, with empty counters
    void reset() { decision_.reset(weir::now()); }      // returns to the initial state

    // As of the last beginning or ending of a call.
    circuit_breaker_stats stats() const noexcept { return decision_.stats(); }
    void write_metrics(metric_writer& to) const;

private:
    template <class Now>
    admission<pass> enter(Now now) {
        auto admitted = decision_.begin(decision_.needs_time() ? now() : clock::time_point());
        if (!admitted) [[unlikely]] {
            return admitted.refusal();
        }
        return pass(*this, admitted.pass());
    }
    verdict judge(const outcome_view& ended) const noexcept {
        if (has_predicates_) [[unlikely]] {
            return ask_predicates(ended);
        }
        return ended.has_value()   ? verdict::success
               : ended.has_error() ? verdict::failure
                                   : verdict::ignored;
    }
    verdict ask_predicates(const outcome_view& ended) const noexcept;
    void announce(const circuit_change& change) noexcept;

    decision::breaker decision_;
    bool has_predicates_;
    hook<bool(const outcome_view&)> counts_as_failure_;
    hook<bool(const outcome_view&)> ignores_;
    hook<void(const circuit_change&)> on_change_;
    weir::observer* observer_;
    std::string name_;
};

}  // namespace weir
