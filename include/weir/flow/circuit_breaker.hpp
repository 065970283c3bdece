// SPDX-License-Identifier: MIT
// circuit_breaker: stops calling what keeps failing, and finds out when it works again.
//
//     weir::circuit_breaker breaker({.name = "payments", .consecutive_failures = 5, .open_for = 30s});
//     weir::outcome<receipt> paid = co_await breaker.settle([&] { return pay(order); });
//     if (paid.is_refused()) { tell_later(paid.refusal().retry_after); }
//
// Closed, it lets calls through and counts how they end. When a rule of the options says so it
// opens, and refuses at once. After a while it is half-open: exactly so many trial calls pass as
// are permitted, and how they end decides. Results of calls that began in an earlier state are not
// counted.
//
// Whoever is stopped while it calls (cancelled, or out of time) counts neither as success nor as
// failure: put the timeout inside, breaker.run([&] { return timeout(1s, pay(order)); }), and a slow
// callee is a failure. Belongs to one loop: with several loops, give each its own, which also
// learns about the callee from its own calls. Must outlive its calls. A call costs nothing but
// counting, unless a rule needs the time: then a clock is read as it begins, and as it ends.
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

    // A call that was let in. Tell it how the call ended; if it goes without having been told, the
    // caller was stopped, and nothing is counted.
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
        // The same for who calls without a function to wrap. Does nothing the second time.
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
        void end(verdict how, Now now) {
            if (from_ != nullptr) {
                decision::breaker& decision = std::exchange(from_, nullptr)->decision_;
                const bool is_timed = how != verdict::success || decision.needs_time();
                decision.end(token_, how, is_timed ? now() : clock::time_point());
            }
        }

        circuit_breaker* from_ = nullptr;
        decision::breaker::token token_;
    };

    // Throws invalid_argument for options that make no sense.
    explicit circuit_breaker(const circuit_breaker_options& options = {});
    circuit_breaker(const circuit_breaker&) = delete;
    circuit_breaker& operator=(const circuit_breaker&) = delete;

    // co_await run(fn): calls it and gives its result, or throws its error, or weir::refused. fn
    // gives a task, another awaitable or a plain value, and is called only if let in. A task may be
    // given as well: a refused one is discarded.
    template <class Work>
    auto run(Work&& work) {
        return detail::call_through<detail::call_view::value>(*this, std::forward<Work>(work));
    }
    // co_await settle(fn): the outcome as a value; refusals are never thrown.
    template <class Work>
    auto settle(Work&& work) {
        return detail::call_through<detail::call_view::outcome>(*this, std::forward<Work>(work));
    }

    // Without a function to wrap: keep the pass during the call, and tell it how the call ended.
    admission<pass> try_acquire() {
        return enter([] { return weir::now(); });
    }
    admission<pass> try_enter(call_context& call) noexcept {
        return enter([&] { return call.now(); });
    }

    const std::string& name() const noexcept { return name_; }
    // Now. Asking takes no trial call from anybody.
    circuit_state state() { return decision_.state(weir::now()); }
    // How long it stays open; zero if it is not.
    clock::duration open_time_left() { return decision_.open_time_left(weir::now()); }

    // By hand. Calls that are under way go on, and no longer count.
    void isolate() { decision_.isolate(weir::now()); }  // refuses all until it is closed
    void disable() { decision_.disable(weir::now()); }  // lets all through until it is closed
    void trip() { decision_.trip(weir::now()); }        // opens it, as a rule would
    void close() { decision_.close(weir::now()); }      // at once; nothing is held against it
    void reset() { decision_.reset(weir::now()); }      // back to the initial state

    // As of the last call that began or ended.
    circuit_breaker_stats stats() const noexcept { return decision_.stats(); }
    void write_metrics(metric_writer& to) const;

private:
    template <class Now>
    admission<pass> enter(Now now) {
        auto let_in = decision_.begin(decision_.needs_time() ? now() : clock::time_point());
        if (!let_in) [[unlikely]] {
            return let_in.refusal();
        }
        return pass(*this, let_in.pass());
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
