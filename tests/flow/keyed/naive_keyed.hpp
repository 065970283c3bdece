// SPDX-License-Identifier: MIT
// How not to limit a rate per key.
#pragma once

#include "keyed_property.hpp"

#include <list>
#include <unordered_map>

namespace keyed_tests::naive {

// A limiter per client in a map, as it is often written: a client that came once is kept for ever.
class unbounded {
public:
    explicit unbounded(const traffic& load) : rate_(load.rate, "naive") {}

    keyed_answer take(int key, double tokens, clock::time_point now) {
        latest_ = std::max(latest_, now);
        return decide(full_at_[key], tokens);
    }
    std::size_t keys() const { return full_at_.size(); }

protected:
    keyed_answer decide(std::int64_t& full_at, double tokens) const {
        const std::int64_t tick =
            (latest_ - clock::time_point(std::chrono::hours(999))).count() * 16;
        const std::int64_t cost = rate_.cost(tokens);
        const std::int64_t wait = rate_.wait(full_at, tick, cost);
        if (!rate_.can_ever(cost)) {
            return {.verdict = keyed_verdict::too_much};
        }
        if (wait > 0) {
            return {.verdict = keyed_verdict::too_early, .wait = pace::duration(wait)};
        }
        full_at = std::max(full_at, tick) + cost;
        return {};
    }
    pace rate_;
    clock::time_point latest_{};
    std::unordered_map<int, std::int64_t> full_at_;
};

// Bounded, but it evicts the least recently used key, limited or not: a client that uses many names
// gets rid of its limit.
class forgets_the_oldest : public unbounded {
public:
    explicit forgets_the_oldest(const traffic& load) : unbounded(load), max_keys_(load.max_keys) {}

    keyed_answer take(int key, double tokens, clock::time_point now) {
        latest_ = std::max(latest_, now);
        order_.remove(key);
        order_.push_back(key);
        if (order_.size() > max_keys_) {
            full_at_.erase(order_.front());
            order_.pop_front();
        }
        return decide(full_at_[key], tokens);
    }

private:
    std::size_t max_keys_;
    std::list<int> order_;
};

// Bounded, but a key keeps its place for ever: honest clients are locked out by earlier ones.
//
class never_forgets : public unbounded {
public:
    explicit never_forgets(const traffic& load) : unbounded(load), max_keys_(load.max_keys) {}

    keyed_answer take(int key, double tokens, clock::time_point now) {
        if (full_at_.size() >= max_keys_ && !full_at_.contains(key)) {
            return {.verdict = keyed_verdict::full};
        }
        return unbounded::take(key, tokens, now);
    }

private:
    std::size_t max_keys_;
};

}  // namespace keyed_tests::naive
