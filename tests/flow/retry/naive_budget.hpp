// SPDX-License-Identifier: MIT
// Budgets with typical mistakes.
#pragma once

#include <weir/flow/decision/retry_budget_decision.hpp>

#include <cstdint>

namespace retry_tests {

// Counts from the beginning of each window anew: around the turn, twice the reserve is spent at
// once.
class naive_fixed_window {
public:
    explicit naive_fixed_window(const weir::ratio_budget& options) : options_(options) {}
    void call_begins(weir::clock::time_point now) {
        turn(now);
        ++calls_;
    }
    bool try_spend(weir::clock::time_point now) {
        turn(now);
        const double seconds = std::chrono::duration<double>(options_.window).count();
        if (spent_ + 1 > options_.ratio * calls_ + options_.reserve_per_second * seconds) {
            return false;
        }
        ++spent_;
        return true;
    }

private:
    void turn(weir::clock::time_point now) {
        if (now >= end_) {
            calls_ = spent_ = 0;
            end_ = now + options_.window;
        }
    }
    weir::ratio_budget options_;
    weir::clock::time_point end_ = weir::clock::time_point::min();
    double calls_ = 0;
    double spent_ = 0;
};

// Forgets the spent budget, but not the earned one.
class naive_hoarder {
public:
    explicit naive_hoarder(const weir::ratio_budget& options) : options_(options) {}
    void call_begins(weir::clock::time_point) { balance_ += options_.ratio; }
    bool try_spend(weir::clock::time_point) {
        if (balance_ < 1) {
            return false;
        }
        balance_ -= 1;
        return true;
    }

private:
    weir::ratio_budget options_;
    double balance_ = 0;
};

}  // namespace retry_tests
