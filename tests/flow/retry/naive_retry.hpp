// SPDX-License-Identifier: MIT
// How not to retry: the usual first loop, with its usual mistakes.
#pragma once

#include "support.hpp"

namespace retry_tests {

struct naive_mistakes {
    bool retries_cancellation = false;  // catch (...) around the attempt
    bool sleeps_after_the_last = false;
    bool one_attempt_more = false;  // 'max_retries = 5' as six attempts
    bool jitter_after_the_cap = false;
    bool sleeps_past_the_limit = false;  // looks at the clock only after the delay
};

// Made to be as right as it can be without these.
class naive_retry {
public:
    explicit naive_retry(naive_mistakes made) : made_(made) {}

    template <class Fn>
    task<outcome<int>> operator()(weir::retry_options options, Fn& fn) {
        const auto begin = weir::now();
        double delay = static_cast<double>(options.backoff.initial.count());
        const auto maximum = static_cast<double>(options.backoff.maximum.count());
        const int attempts = options.max_attempts + (made_.one_attempt_more ? 1 : 0);
        outcome<int> last = outcome<int>::from_value(0);
        for (int attempt = 1; attempt <= attempts; ++attempt) {
            last = co_await weir::settle(fn());
            if (last.has_value() || (last.is_cancelled() && !made_.retries_cancellation)) {
                co_return last;
            }
            if (attempt == attempts && !made_.sleeps_after_the_last) {
                co_return last;
            }
            double wait = std::min(delay, maximum);
            delay *= 2;
            if (made_.jitter_after_the_cap) {
                wait *= 0.5 + std::uniform_real_distribution(0.0, 1.0)(random_);
            }
            const auto pause = weir::clock::duration(static_cast<std::int64_t>(wait));
            if (!made_.sleeps_past_the_limit && weir::now() - begin + pause >= options.total_time) {
                co_return last;
            }
            co_await weir::sleep(pause);
            if (weir::now() - begin >= options.total_time) {
                co_return last;
            }
        }
        co_return last;
    }

private:
    naive_mistakes made_;
    std::mt19937 random_{7};
};

}  // namespace retry_tests
