// SPDX-License-Identifier: MIT
// Three budgets for the extra attempts of retries and hedges. Small values without allocation; the
// caller passes the time.
#pragma once

#include <weir/clock.hpp>

#include <array>
#include <cstdint>

namespace weir {

// A share of recent calls, plus a reserve for quiet times: within the last `window`, counted in
// tenths of it, there are at most ratio * calls + reserve_per_second * window extra attempts.
struct ratio_budget {
    double ratio = 0.2;
    double reserve_per_second = 10;
    clock::duration window = std::chrono::seconds(10);
};

// A bucket from which each failure takes one token and to which each success adds `per_success`.
// Extra attempts are granted while it is more than half full, so they stop soon when a dependency
// is down.
struct token_budget {
    double tokens = 100;
    double per_success = 0.1;
};

// Extra attempts are at most a share of the calls in flight; `minimum` are always allowed.
struct in_flight_budget {
    double share = 0.2;
    unsigned minimum = 3;
};

namespace decision {

// The window consists of slots. A slot older than the window is dropped with its calls and its
// spending: in any `slots` successive ones, spent <= earned + reserve.
class ratio_budget {
public:
    static constexpr std::size_t slots = 10;

    explicit ratio_budget(const weir::ratio_budget& options);  // throws invalid_argument

    void call_begins(clock::time_point now) noexcept {
        advance(now);
        balances_[current_] += per_call_;
        balance_ += per_call_;
    }
    bool try_spend(clock::time_point now) noexcept {
        advance(now);
        if (balance_ + reserve_ < unit) {
            return false;
        }
        balances_[current_] -= unit;
        balance_ -= unit;
        return true;
    }
    double available(clock::time_point now) noexcept {
        advance(now);
        return static_cast<double>(balance_ + reserve_) / static_cast<double>(unit);
    }

private:
    static constexpr std::int64_t unit = 1'000'000;
    void advance(clock::time_point now) noexcept {
        if (now >= slot_end_) {
            turn_slots(now);
        }
    }
    void turn_slots(clock::time_point now) noexcept;

    std::int64_t balance_ = 0;  // the sum of the balances
    std::int64_t reserve_;
    std::int64_t per_call_;
    clock::duration slot_;
    clock::time_point slot_end_ = clock::time_point::min();
    std::size_t current_ = 0;
    std::array<std::int64_t, slots> balances_{};
};

class token_budget {
public:
    explicit token_budget(const weir::token_budget& options);  // throws invalid_argument

    bool may_spend() const noexcept { return tokens_ > maximum_ / 2; }
    void succeeded() noexcept {
        tokens_ = tokens_ + per_success_ < maximum_ ? tokens_ + per_success_ : maximum_;
    }
    void failed() noexcept { tokens_ = tokens_ > 1 ? tokens_ - 1 : 0; }
    double tokens() const noexcept { return tokens_; }
    double available() const noexcept { return tokens_ - maximum_ / 2; }

private:
    double maximum_;
    double per_success_;
    double tokens_;
};

class in_flight_budget {
public:
    explicit in_flight_budget(const weir::in_flight_budget& options);  // throws invalid_argument

    void call_begins() noexcept { ++calls_; }
    void call_ends() noexcept { --calls_; }
    bool try_spend() noexcept {
        if (extra_ >= allowed()) {
            return false;
        }
        ++extra_;
        return true;
    }
    void extra_ends() noexcept { --extra_; }
    // The number of extra attempts allowed with the current number of calls.
    std::uint64_t allowed() const noexcept {
        const auto by_share = static_cast<std::uint64_t>(share_ * static_cast<double>(calls_));
        return by_share > minimum_ ? by_share : minimum_;
    }
    std::uint64_t calls() const noexcept { return calls_; }
    std::uint64_t extra() const noexcept { return extra_; }

private:
    double share_;
    std::uint64_t minimum_;
    std::uint64_t calls_ = 0;
    std::uint64_t extra_ = 0;
};

}  // namespace decision
}  // namespace weir
