// SPDX-License-Identifier: MIT
// How not to write a rate limiter: each of these looks right and has one defect that is found in
// the wild. The properties of support.hpp must catch every one of them.
#pragma once

#include <weir/weir.hpp>

#include <algorithm>
#include <deque>

namespace limiter_tests::naive {

using weir::task;
using time_point = weir::clock::time_point;
using seconds = std::chrono::duration<double>;

// Computes how long to wait, sleeps once, asks again, and ignores the answer. Tasks that wait at
// the same time all wait equally long.
class sleeps_once_bucket {
public:
    sleeps_once_bucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}
    task<> acquire(double weight = 1) {
        const double wait = take(weight);
        if (wait > 0) {
            co_await weir::sleep(seconds(wait));
            take(weight);
        }
    }

private:
    double take(double weight) {
        const time_point now = weir::now();
        tokens_ = std::min(burst_, tokens_ + seconds(now - last_).count() * rate_);
        last_ = now;
        if (tokens_ >= weight) {
            tokens_ -= weight;
            return 0;
        }
        return (weight - tokens_) / rate_;
    }
    double rate_;
    double burst_;
    double tokens_;
    time_point last_ = weir::now();
};

// Retries until it gets tokens, but in the order in which the waiters wake: the waiter that needs
// many waits longest, and later ones pass it again and again.
class all_wake_bucket {
public:
    all_wake_bucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}
    task<> acquire(double weight = 1) {
        for (;;) {
            const time_point now = weir::now();
            tokens_ = std::min(burst_, tokens_ + seconds(now - last_).count() * rate_);
            last_ = now;
            if (tokens_ >= weight) {
                tokens_ -= weight;
                co_return;
            }
            co_await weir::sleep(seconds((weight - tokens_) / rate_));
        }
    }

private:
    double rate_;
    double burst_;
    double tokens_;
    time_point last_ = weir::now();
};

// Waits until the oldest grant has left the window, and then notes its own without looking again.
class appends_unchecked_window {
public:
    appends_unchecked_window(std::size_t limit, weir::clock::duration window)
        : limit_(limit), window_(window) {}
    task<> acquire(double = 1) {
        forget();
        if (times_.size() >= limit_) {
            co_await weir::sleep(times_.front() + window_ - weir::now());
            forget();
        }
        times_.push_back(weir::now());
    }

private:
    void forget() {
        while (!times_.empty() && times_.front() + window_ <= weir::now()) {
            times_.pop_front();
        }
    }
    std::size_t limit_;
    weir::clock::duration window_;
    std::deque<time_point> times_;
};

// Believes every time stamp: an old one turns the clock back, and the time until now flows in
// again.
class rewinding_decision {
public:
    rewinding_decision(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}
    bool try_take(time_point now, double weight = 1) {
        tokens_ = std::min(burst_, tokens_ + std::max(0.0, seconds(now - last_).count()) * rate_);
        last_ = now;
        if (tokens_ < weight) {
            return false;
        }
        tokens_ -= weight;
        return true;
    }

private:
    double rate_;
    double burst_;
    double tokens_;
    time_point last_{};
};

// Adds up the pause in whole nanoseconds, the rest of the division forgotten: at high rates it lets
// through noticeably too many.
class drifting_decision {
public:
    explicit drifting_decision(double rate) : pause_(static_cast<std::int64_t>(1e9 / rate)) {}
    bool try_take(time_point now) {
        if (now < next_) {
            return false;
        }
        next_ = std::max(next_, now) + pause_;
        return true;
    }

private:
    weir::clock::duration pause_;
    time_point next_{};
};

}  // namespace limiter_tests::naive
