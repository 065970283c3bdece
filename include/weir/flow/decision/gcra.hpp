// SPDX-License-Identifier: MIT
// A token bucket (the generic cell rate algorithm): limits the average rate, and bursts.
//
// In every interval of length t at most burst + rate * t tokens are granted, exact to the
// nanosecond, and under demand no less. The state is one atomic number, so any number of threads
// may share a bucket without locks: try_take is a load, a multiplication and a compare-exchange; a
// refusal writes nothing. A time stamp older than earlier ones gets what the bucket held then, or
// less: it never adds tokens.
//
// Weights may be fractions. They are rounded up to a unit, of which about one arrives per
// nanosecond (gcra_terms.hpp).
#pragma once

#include <weir/flow/decision/gcra_terms.hpp>
#include <weir/flow/decision/limiter_decision.hpp>

#include <atomic>
#include <cstddef>

namespace weir::decision {

class gcra {
public:
    using limits = gcra_limits;
    static constexpr bool is_shareable = true;
    static constexpr bool is_additive = true;  // a plan needs only the sum of the weights ahead

    // Full. Throws invalid_argument as gcra_terms does.
    explicit gcra(const limits& given) { store(gcra_terms(given)); }

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        for (;;) {
            const std::uint32_t version = version_.load(std::memory_order_acquire);
            units full_at = full_at_.load(std::memory_order_acquire);
            const gcra_terms terms = load();
            const units cost = terms.cost(weight);
            const units at = terms.units_for(full_at, now);
            const units next = gcra_terms::after(full_at, at, cost);
            if (next - at > terms.capacity()) {
                if (!is_steady(version)) [[unlikely]] {
                    continue;
                }
                if (cost > terms.capacity()) {
                    return {false, refusal::never};
                }
                return {false, terms.time_of(next - terms.capacity(), now) - now};
            }
            if (full_at != changing &&
                full_at_.compare_exchange_weak(full_at, next, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) [[likely]] {
                return {true, {}};
            }
            back_off();
        }
    }

    // How long until the weight would be granted, after `ahead` has been granted.
    clock::duration wait_for(clock::time_point now, double weight,
                             double ahead = 0) const noexcept {
        line waiting = plan(now);
        if (ahead > 0) {
            waiting.skip(ahead);
        }
        return waiting.grant(weight) - now;
    }

    // Undoes a take: see limiter_decision.hpp. Tokens taken before a change of the rate are not
    // given back after it.
    void give_back(clock::time_point now, double weight, clock::time_point taken) noexcept {
        for (;;) {
            units full_at = full_at_.load(std::memory_order_acquire);
            const gcra_terms terms = load();
            const units cost = terms.cost(weight);
            if (full_at != changing && full_at_.compare_exchange_weak(
                                           full_at, full_at - terms.left_of(cost, taken, now),
                                           std::memory_order_acq_rel, std::memory_order_relaxed)) {
                return;
            }
        }
    }

    // Changes the rate from now on. The bucket keeps its tokens, as far as they fit, and does not
    // fill up. Other threads wait for the few instructions that this takes.
    void set_rate(clock::time_point now, const limits& given) {
        gcra_terms fresh(given);
        units full_at = changing;
        while (full_at == changing) {
            full_at = full_at_.exchange(changing, std::memory_order_acq_rel);
        }
        version_.fetch_add(1, std::memory_order_acq_rel);
        full_at = fresh.take_over(load(), full_at, now);
        store(fresh);
        version_.fetch_add(1, std::memory_order_acq_rel);
        full_at_.store(full_at, std::memory_order_release);
    }

    // The largest weight that can be granted.
    double capacity() const noexcept {
        const gcra_terms terms = steady().terms;
        return terms.tokens(terms.capacity());
    }
    // The tokens available now.
    double available(clock::time_point now) const noexcept {
        const snapshot seen = steady();
        const units missing = std::max<units>(0, seen.full_at - seen.terms.units_at(now));
        return std::max(0.0, seen.terms.tokens(seen.terms.capacity() - missing));
    }
    // Whether the bucket is as full as a new one.
    bool is_full(clock::time_point now) const noexcept {
        const snapshot seen = steady();
        return seen.full_at <= seen.terms.units_at(now);
    }

    class line {
    public:
        // When the next waiter is granted; time_point::max() if never.
        clock::time_point grant(double weight) noexcept {
            const units cost = terms_.cost(weight);
            if (cost > terms_.capacity()) {
                return clock::time_point::max();
            }
            enter(cost);
            if (full_at_ - terms_.capacity() <= at_) {
                return time_;
            }
            at_ = full_at_ - terms_.capacity();
            time_ = terms_.time_of(at_, time_);
            return time_;
        }
        // The waiters ahead are granted first: together this weight.
        void skip(double weight) noexcept { enter(terms_.cost(weight)); }

    private:
        friend class gcra;
        // The limit of a plan: decades.
        static constexpr gcra_terms::units horizon = gcra_terms::units{1} << 60;
        line(const gcra_terms& terms, gcra_terms::units full_at, clock::time_point now) noexcept
            : terms_(terms),
              full_at_(full_at),
              at_(terms.units_for(full_at, now)),
              end_(at_ + horizon),
              time_(now) {}
        void enter(gcra_terms::units cost) noexcept {
            full_at_ = std::min(gcra_terms::after(full_at_, at_, cost), end_);
        }
        gcra_terms terms_;
        gcra_terms::units full_at_;
        gcra_terms::units at_;
        gcra_terms::units end_;
        clock::time_point time_;
    };
    line plan(clock::time_point now) const noexcept {
        const snapshot seen = steady();
        return {seen.terms, seen.full_at, now};
    }

private:
    using units = gcra_terms::units;
    // The value of the state while the terms are replaced.
    static constexpr units changing = std::numeric_limits<units>::min();
    struct snapshot {
        gcra_terms terms;
        units full_at;
    };

    snapshot steady() const noexcept {
        for (;;) {
            const std::uint32_t version = version_.load(std::memory_order_acquire);
            const units full_at = full_at_.load(std::memory_order_acquire);
            const snapshot seen{load(), full_at};
            if (full_at != changing && is_steady(version)) {
                return seen;
            }
        }
    }
    // Whether the terms that were read after this version are consistent.
    bool is_steady(std::uint32_t version) const noexcept {
        return version % 2 == 0 && version_.load(std::memory_order_relaxed) == version;
    }
    // After a lost race a thread leaves the cache line to the other for a moment: both are faster.
    static void back_off() noexcept {
#ifdef __x86_64__
        for (int i = 0; i < 16; ++i) {
            __builtin_ia32_pause();
        }
#endif
    }
    // Acquire and release, so that a thread that sees one of the new terms also sees the change of
    // the state.
    gcra_terms load() const noexcept {
        gcra_terms terms;
        terms.origin_ = origin_.load(std::memory_order_acquire);
        terms.first_ = first_.load(std::memory_order_acquire);
        terms.speed_ = speed_.load(std::memory_order_acquire);
        terms.pace_ = pace_.load(std::memory_order_acquire);
        terms.one_ = one_.load(std::memory_order_acquire);
        terms.capacity_ = capacity_.load(std::memory_order_acquire);
        return terms;
    }
    void store(const gcra_terms& terms) noexcept {
        origin_.store(terms.origin_, std::memory_order_release);
        first_.store(terms.first_, std::memory_order_release);
        speed_.store(terms.speed_, std::memory_order_release);
        pace_.store(terms.pace_, std::memory_order_release);
        one_.store(terms.one_, std::memory_order_release);
        capacity_.store(terms.capacity_, std::memory_order_release);
    }

    std::atomic<std::int64_t> origin_{0};
    std::atomic<units> first_{0};
    std::atomic<std::int64_t> speed_{0};
    std::atomic<std::int64_t> pace_{0};
    std::atomic<units> one_{1};
    std::atomic<units> capacity_{0};
    std::atomic<std::uint32_t> version_{0};  // of the terms; odd while they change
    // Kept away from the terms, which stay in the cache of every thread. By padding instead of
    // alignment: coroutine frames, which contain limiters, are aligned to 16.
    [[maybe_unused]] std::byte apart_[64];
    std::atomic<units> full_at_{gcra_terms::never_used};
};

static_assert(limiter_decision<gcra>);

}  // namespace weir::decision
