// SPDX-License-Identifier: MIT
// Shared by the tests of all rate limiters: grants and their times, the properties that grants must
// have (each function returns a violation, or nothing), plain models of the correct grants, and
// random traffic.
#pragma once

#include <weir/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace limiter_tests {

using namespace std::chrono_literals;
using time_point = weir::clock::time_point;
using duration = weir::clock::duration;
__extension__ using wide = __int128;

struct grant {
    time_point when;
    double weight = 1;
    int who = 0;  // in the order of asking

    friend bool operator==(const grant&, const grant&) = default;
};
using violation = std::optional<std::string>;

inline std::string in_words(const grant& each) {
    return "number " + std::to_string(each.who) + " (weight " + std::to_string(each.weight) +
           ") at " + std::to_string(each.when.time_since_epoch().count()) + " ns";
}

// ---- properties

// In every interval of length t at most burst + rate * t, where the clock's tick counts as time
// too.
inline violation exceeds_bucket(const std::vector<grant>& grants, double rate, duration per,
                                double burst) {
    const long double flow = static_cast<long double>(rate) / static_cast<long double>(per.count());
    long double level = 0;
    time_point last{};
    for (const grant& each : grants) {
        level -= flow * static_cast<long double>((each.when - last).count());
        level = std::max<long double>(level, 0) + each.weight;
        last = each.when;
        if (level > burst + 3 * flow + 1e-9L) {
            return "more than the bucket allows: " + in_words(each);
        }
    }
    return std::nullopt;
}

// In every window, wherever it begins, at most the limit.
inline violation exceeds_window(const std::vector<grant>& grants, double limit, duration window) {
    double inside = 0;
    std::size_t first = 0;
    for (const grant& each : grants) {
        for (; grants[first].when + window <= each.when; ++first) {
            inside -= grants[first].weight;
        }
        inside += each.weight;
        if (inside > limit + 1e-9) {
            return "more than the window allows: " + in_words(each);
        }
    }
    return std::nullopt;
}

inline violation out_of_order(const std::vector<grant>& grants) {
    int last = -1;
    for (const grant& each : grants) {
        if (each.who < last) {
            return "overtook: " + in_words(each);
        }
        last = each.who;
    }
    return std::nullopt;
}

// The same grants, at the same time (within the tolerance), in the same order.
inline violation differs(const std::vector<grant>& seen, const std::vector<grant>& expected,
                         duration tolerance = {}) {
    for (std::size_t i = 0; i < std::max(seen.size(), expected.size()); ++i) {
        if (i >= seen.size()) {
            return "never came: " + in_words(expected[i]);
        }
        if (i >= expected.size()) {
            return "should not have come: " + in_words(seen[i]);
        }
        if (seen[i].who != expected[i].who || seen[i].weight != expected[i].weight ||
            std::chrono::abs(seen[i].when - expected[i].when) > tolerance) {
            return "came " + in_words(seen[i]) + " instead of " + in_words(expected[i]);
        }
    }
    return std::nullopt;
}

// ---- models: earliest(now, weight) is the time of the grant; take(when, weight) grants it

// As in a textbook: a level that flows in. In whole numbers: a token is `per` parts, `rate` of them
// come each nanosecond. Weights in thousandths.
class bucket_model {
public:
    bucket_model(std::int64_t rate, duration per, double burst)
        : rate_(rate), per_(per.count()), capacity_(cost(burst)), level_(capacity_) {}

    time_point earliest(time_point now, double weight) const {
        const wide missing = cost(weight) - level_at(now);
        if (missing <= 0) {
            return now;
        }
        const wide per_nanosecond = static_cast<wide>(rate_) * 1000;
        return now +
               duration(static_cast<std::int64_t>((missing + per_nanosecond - 1) / per_nanosecond));
    }
    void take(time_point when, double weight) {
        level_ = level_at(when) - cost(weight);
        last_ = when;
    }

private:
    wide cost(double weight) const { return static_cast<wide>(std::llround(weight * 1000)) * per_; }
    wide level_at(time_point when) const {
        const wide more = static_cast<wide>((when - last_).count()) * rate_ * 1000;
        return std::min(capacity_, level_ + more);
    }
    std::int64_t rate_;
    std::int64_t per_;
    wide capacity_;
    wide level_;
    time_point last_{};
};

class window_model {
public:
    window_model(double limit, duration window) : limit_(limit), window_(window) {}
    time_point earliest(time_point now, double weight) const {
        std::vector<time_point> moments{now};
        for (const grant& each : grants_) {
            moments.push_back(std::max(now, each.when + window_));
        }
        std::sort(moments.begin(), moments.end());
        for (const time_point moment : moments) {
            double inside = weight;
            for (const grant& each : grants_) {
                inside += each.when + window_ > moment ? each.weight : 0;
            }
            if (inside <= limit_ + 1e-9) {
                return moment;
            }
        }
        return time_point::max();
    }
    void take(time_point when, double weight) { grants_.push_back({when, weight}); }

private:
    double limit_;
    duration window_;
    std::vector<grant> grants_;
};

class fixed_model {
public:
    fixed_model(double limit, duration window) : limit_(limit), window_(window) {}
    time_point earliest(time_point now, double weight) const {
        if (!begun_) {
            return now;
        }
        const time_point begin = begin_of(now);
        const double used = begin == begin_ ? used_ : 0;
        return used + weight <= limit_ + 1e-9 ? now : begin + window_;
    }
    void take(time_point when, double weight) {
        if (!begun_) {
            begun_ = true;
            begin_ = when;
        }
        if (begin_of(when) != begin_) {
            begin_ = begin_of(when);
            used_ = 0;
        }
        used_ += weight;
    }

private:
    time_point begin_of(time_point when) const {
        time_point begin = begin_;
        while (begin + window_ <= when) {
            begin += window_;
        }
        return begin;
    }
    double limit_;
    duration window_;
    bool begun_ = false;
    time_point begin_{};
    double used_ = 0;
};

class spacing_model {
public:
    explicit spacing_model(duration interval) : interval_(interval) {}
    time_point earliest(time_point now, double) const { return std::max(now, next_); }
    void take(time_point when, double weight) {
        next_ = when + duration(static_cast<std::int64_t>(
                           std::ceil(static_cast<double>(interval_.count()) * weight)));
    }

private:
    duration interval_;
    time_point next_{};
};

// A line of waiters in front of a model.
template <class Model>
class line_model {
public:
    explicit line_model(Model model, bool newest_first = false)
        : model_(std::move(model)), newest_first_(newest_first) {}
    void arrive(time_point now, int who, double weight) {
        advance(now);
        line_.insert(newest_first_ ? line_.begin() : line_.end(), grant{{}, weight, who});
        advance(now);
    }
    // Nothing if it has been granted already.
    void cancel(time_point now, int who) {
        advance(now);
        std::erase_if(line_, [&](const grant& each) { return each.who == who; });
        advance(now);
    }
    void advance(time_point now) {
        while (!line_.empty()) {
            const time_point due =
                model_.earliest(std::max(last_, time_point{}), line_.front().weight);
            const time_point when = std::max(due, last_);
            if (when > now) {
                break;
            }
            model_.take(when, line_.front().weight);
            grants_.push_back({when, line_.front().weight, line_.front().who});
            line_.pop_front();
            last_ = when;
        }
        last_ = std::max(last_, now);
    }
    const std::vector<grant>& grants() const { return grants_; }

private:
    Model model_;
    bool newest_first_;
    time_point last_{};  // up to when all is decided
    std::deque<grant> line_;
    std::vector<grant> grants_;
};

// ---- traffic

struct event {
    duration after;  // the event before it
    int who;
    double weight;
    bool cancels = false;
};

// Callers have numbers from 0 on; some are cancelled later. Times are odd, so that they rarely
// coincide.
inline std::vector<event> random_traffic(std::mt19937_64& random, int count, duration pause,
                                         double most, bool fractions, int cancel_one_in) {
    std::vector<event> events;
    std::vector<int> cancellable;
    int next = 0;
    const auto below = [&](std::int64_t end) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    for (int i = 0; i < count; ++i) {
        const duration after(random() % 3 == 0 ? 0 : below(pause.count() * 2) + 1);
        if (cancel_one_in > 0 && !cancellable.empty() && below(cancel_one_in) == 0) {
            const auto chosen = static_cast<std::size_t>(below(std::ssize(cancellable)));
            events.push_back({after + 1ns, cancellable[chosen], 0, true});
            cancellable.erase(cancellable.begin() + static_cast<std::ptrdiff_t>(chosen));
        } else {
            const double weight =
                fractions
                    ? static_cast<double>(1 + below(static_cast<std::int64_t>(most * 1000))) / 1000
                    : static_cast<double>(1 + below(static_cast<std::int64_t>(most)));
            cancellable.push_back(next);
            events.push_back({after, next++, weight});
        }
    }
    return events;
}

}  // namespace limiter_tests
