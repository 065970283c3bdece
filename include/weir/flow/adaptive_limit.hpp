// SPDX-License-Identifier: MIT
// adaptive_limit: a limit on concurrent calls that adapts to the callee's latency.
//
//     weir::adaptive_limit limit({.name = "search"});
//     weir::outcome<page> found = co_await limit.settle([&] { return search(words); });
//
// Beyond the callee's capacity, further concurrent calls only wait in its queue, and the latency
// grows. Two algorithms: `gradient` keeps the latency within a factor of the latency without a
// queue and needs no configuration; `aimd` grows until calls are dropped or take longer than
// latency_limit. Both stay within their bounds, and grow only while the limit is in use.
//
// Errors are no sign of load and are not learned from, except timed_out (or what is_drop selects):
// put the timeout inside. Stopped calls are not learned from either. By default no call waits:
// calls above the limit are refused at once. Belongs to one loop, and must outlive its calls. A
// call reads the clock twice.
#pragma once

#include <weir/flow/decision/aimd.hpp>
#include <weir/flow/decision/gradient.hpp>
#include <weir/flow/detail/slot_line.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

class adaptive_limit;

enum class limit_algorithm : unsigned char { gradient, aimd };

struct adaptive_limit_options {
    using policy_type = adaptive_limit;

    limit_algorithm algorithm = limit_algorithm::gradient;
    std::size_t initial = 20;
    std::size_t min = 1;
    std::size_t max = 1000;
    double backoff = 0.9;  // the limit is multiplied by this after a drop

    // aimd only: calls that take longer count as dropped. Zero: no latency limit.
    clock::duration latency_limit{};

    // gradient only: the accepted latency as a multiple of the latency without a queue; the weight
    // of each new result; the time and the number of calls that a result needs; how often the
    // latency without a queue is measured, with a smaller limit for a few windows.
    double tolerance = 1.5;
    double smoothing = 0.2;
    clock::duration window = std::chrono::milliseconds(100);
    std::size_t window_calls = 20;
    clock::duration probe_every = std::chrono::seconds(30);

    std::size_t max_waiting = 0;                        // calls that may wait
    clock::duration max_wait = clock::duration::max();  // then refused
    // As for bulkhead: more important calls go first, and displace others in a full line. A share
    // of the limit can be reserved for calls of high priority and above.
    hook<weir::priority()> priority_of = {};
    double reserved = 0;

    // Which outcomes are signs of overload; by default timed_out errors. Must not throw.
    hook<bool(const outcome_view&)> is_drop = {};
    std::string_view name = {};
    weir::observer* observer = nullptr;  // notified of "backed_off" after drops, with the new limit
};

struct adaptive_limit_stats : slot_stats {
    std::uint64_t samples = 0;       // calls that were learned from
    std::uint64_t drops = 0;         // of these, dropped calls
    clock::duration base_latency{};  // gradient: the latency without a queue, as last measured
};

class adaptive_limit {
public:
    static constexpr policy_kind kind = policy_kind::adaptive_limit;

    // A call in flight. Report its ending with finish(), succeeded() or dropped(); if the pass is
    // destroyed without, the call was stopped, and nothing is learned from it.
    class [[nodiscard]] pass {
    public:
        pass() noexcept = default;
        pass(pass&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)),
              begun_(other.begun_),
              in_flight_(other.in_flight_) {}
        pass& operator=(pass&& other) noexcept {
            pass old(std::move(*this));
            from_ = std::exchange(other.from_, nullptr);
            begun_ = other.begun_;
            in_flight_ = other.in_flight_;
            return *this;
        }
        ~pass() { release(); }

        void finish(const outcome_view& ended, call_context& call) noexcept {
            if (from_ != nullptr) {
                from_->learn(*this, ended, call);
                release();
            }
        }
        // For calls without a callable. Idempotent.
        void succeeded() { end(false); }
        void dropped() { end(true); }
        // Releases the place; nothing is learned.
        void release() noexcept {
            if (from_ != nullptr) {
                std::exchange(from_, nullptr)->line_.give_back(1);
            }
        }

    private:
        friend class adaptive_limit;
        pass(adaptive_limit& from, clock::time_point begun) noexcept
            : from_(&from), begun_(begun), in_flight_(from.line_.used()) {}
        void end(bool dropped) {
            if (from_ != nullptr) {
                from_->add({begun_, weir::now(), in_flight_, dropped});
                release();
            }
        }
        adaptive_limit* from_ = nullptr;
        clock::time_point begun_;
        std::size_t in_flight_ = 0;
    };

    // Throws invalid_argument for invalid options.
    explicit adaptive_limit(const adaptive_limit_options& options = {});

    // Does not wait. Refused while others wait.
    admission<pass> try_acquire() { return try_acquire(priority_now()); }
    admission<pass> try_acquire(weir::priority level) {
        if (line_.take(1, level)) [[likely]] {
            return pass(*this, weir::now());
        }
        line_.count_refused();
        return line_.refusal_for(1, level);
    }
    // co_await admit(): admission<pass>, after a wait if allowed.
    detail::slot_admit<adaptive_limit> admit() { return admit(priority_now()); }
    detail::slot_admit<adaptive_limit> admit(weir::priority level) {
        return {*this, line_, 1, level};
    }
    // co_await acquire(): the pass; throws refused.
    detail::slot_acquire<adaptive_limit> acquire() { return acquire(priority_now()); }
    detail::slot_acquire<adaptive_limit> acquire(weir::priority level) {
        return {*this, line_, 1, level};
    }

    // co_await run(fn): the value of fn(). Throws its error, or refused.
    template <class Fn>
    auto run(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::value, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }
    // co_await settle(fn): the outcome as a value.
    template <class Fn>
    auto settle(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::outcome, detail::held_t<Fn>>(
            this, std::forward<Fn>(fn));
    }

    // The current limit.
    std::size_t limit() const noexcept { return line_.limit(); }
    const std::string& name() const noexcept { return name_; }
    adaptive_limit_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

    // As a policy: a gate that calls may wait at. Each call takes one place; weights are ignored.
    admission<pass> try_enter(call_context& call) noexcept {
        const weir::priority level = priority_now();
        if (line_.take(1, level)) [[likely]] {
            return pass(*this, call.now());
        }
        return line_.refusal_for(1, level);
    }
    task<admission<pass>> enter(call_context& call);

private:
    friend class detail::slot_admit<adaptive_limit>;
    friend class detail::slot_acquire<adaptive_limit>;
    static constexpr const char* admit_name = "adaptive_limit.admit";
    static constexpr const char* acquire_name = "adaptive_limit.acquire";

    pass make_pass(std::size_t) { return pass(*this, weir::now()); }
    weir::priority priority_now() const noexcept {
        return priority_of_ ? priority_of_() : weir::priority::normal;
    }
    void learn(const pass& ended, const outcome_view& outcome, call_context& call) noexcept;
    void add(const decision::limit_sample& sample) noexcept;

    using algorithms = std::variant<decision::gradient, decision::aimd>;
    static algorithms make(const adaptive_limit_options& options);
    std::size_t reserved_of(std::size_t limit) const noexcept {
        return static_cast<std::size_t>(reserved_ * static_cast<double>(limit));
    }

    algorithms algorithm_;
    double reserved_;
    detail::slot_line line_;
    std::uint64_t samples_ = 0;
    std::uint64_t drops_ = 0;
    hook<weir::priority()> priority_of_;
    hook<bool(const outcome_view&)> is_drop_;
    weir::observer* observer_;
    std::string name_;
};

}  // namespace weir
