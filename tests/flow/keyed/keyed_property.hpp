// SPDX-License-Identifier: MIT
// What a limiter per key must do, as a function that finds what is wrong: on random traffic it
// decides like one plain token bucket for each key in a map that never forgets, tells exactly how
// long to wait, keeps at most so many keys, and is full only when so many keys really limit.
#pragma once

#include <weir/flow/decision/keyed_gcra.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace keyed_tests {

using namespace std::chrono_literals;
using weir::clock;
using weir::decision::keyed_answer;
using weir::decision::keyed_verdict;
using weir::decision::pace;

// The plainest bucket: a level that rises with time. Sixteenths of nanoseconds.
struct model_bucket {
    std::int64_t level = 0;
    std::int64_t updated = 0;

    void refill(std::int64_t now, std::int64_t burst) {
        level = std::min(burst, level + (now - updated));
        updated = now;
    }
};

struct traffic {
    unsigned seed = 0;
    std::size_t max_keys = 100;
    std::size_t clients = 200;
    int requests = 500;
    weir::key_rate rate{.rate = 3, .burst = 4};
    bool goes_back = false;  // time does, now and then
};

inline traffic random_traffic(unsigned seed) {
    std::mt19937 random(seed);
    traffic drawn;
    drawn.seed = seed;
    drawn.max_keys = 1 + random() % (seed % 2 == 0 ? 20 : 400);
    drawn.clients = 1 + random() % 600;
    drawn.rate.rate = (1 + random() % 1000) / (random() % 2 == 0 ? 1.0 : 7.0);
    drawn.rate.burst = 1 + random() % 12 + (random() % 3 == 0 ? 0.5 : 0.0);
    drawn.goes_back = random() % 4 == 0;
    return drawn;
}

// The subject: take(key, tokens, now) -> keyed_answer, and keys().
template <class Subject>
std::optional<std::string> violation(Subject& subject, const traffic& load) {
    std::mt19937 random(load.seed);
    const pace rate(load.rate, "test");
    std::map<int, model_bucket> model;
    const clock::time_point begin{std::chrono::hours(1000)};
    clock::time_point now = begin;
    clock::time_point latest = now;
    const auto step = static_cast<std::uint64_t>(1e9 / load.rate.rate);
    for (int i = 0; i < load.requests; ++i) {
        now += clock::duration(random() % step);
        if (random() % 50 == 0) {
            now += 10 * clock::duration(step);
        }
        clock::time_point stamp = now;
        if (load.goes_back && random() % 10 == 0) {
            stamp -= clock::duration(random() % (20 * step));
        }
        latest = std::max(latest, stamp);
        const int key = static_cast<int>(random() % load.clients);
        const double tokens = random() % 4 == 0 ? 1 + random() % 6 / 2.0 : 1;

        const std::int64_t tick = (latest - begin).count() * 16;
        const auto [at, is_new] = model.try_emplace(key, model_bucket{rate.burst(), tick});
        model_bucket& bucket = at->second;
        bucket.refill(tick, rate.burst());
        const std::int64_t cost = rate.cost(tokens);
        const keyed_answer answer = subject.take(key, tokens, stamp);
        if (answer.verdict == keyed_verdict::full) {
            const auto limiting =
                static_cast<std::size_t>(std::count_if(model.begin(), model.end(), [&](auto& each) {
                    each.second.refill(tick, rate.burst());
                    return each.second.level < rate.burst();
                }));
            if (limiting < load.max_keys || bucket.level < rate.burst()) {
                return "full while keys could be forgotten";
            }
            continue;
        }
        if (cost > rate.burst()) {
            if (answer.verdict != keyed_verdict::too_much) {
                return "promises more than a burst";
            }
            continue;
        }
        if (answer.granted() != (bucket.level >= cost)) {
            return answer.granted() ? "grants more than the rate" : "refuses what the rate allows";
        }
        if (answer.granted()) {
            bucket.level -= cost;
        } else if (answer.wait != pace::duration(cost - bucket.level)) {
            return "tells the wrong time to wait";
        }
        if (subject.keys() > load.max_keys) {
            return "keeps more keys than it may";
        }
    }
    return std::nullopt;
}

}  // namespace keyed_tests
