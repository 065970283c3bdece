// SPDX-License-Identifier: MIT
// Calls with random options and random attempts, and the rules for each call.
#pragma once

#include "support.hpp"

#include <weir/spawn.hpp>

namespace retry_tests {

using weir::clock;

enum class end_kind { value, error, cancellation };

struct attempt_plan {
    clock::duration takes{};
    end_kind end = end_kind::error;
};
struct attempt_log {
    clock::time_point begun;
    clock::time_point ended;
    end_kind end = end_kind::error;
    bool is_cut = false;  // stopped by the total time
};

// One call: the script of its attempts, and their record.
struct trial {
    weir::retry_options options;
    std::vector<attempt_plan> plan;
    std::vector<attempt_log> log;
    weir::handle<int> cancelled;
    clock::time_point begun;
    clock::time_point ended;

    task<int> attempt() {
        const std::size_t number = log.size();
        const attempt_plan planned =
            number < plan.size() ? plan[number] : attempt_plan{0s, end_kind::error};
        log.push_back({weir::now(), {}, planned.end, true});
        if (planned.takes > 0s) {
            co_await weir::sleep(planned.takes);
        }
        log[number].ended = weir::now();
        log[number].is_cut = false;
        if (planned.end == end_kind::error) {
            throw flaky_error();
        }
        if (planned.end == end_kind::cancellation) {
            co_await cancelled;
        }
        co_return static_cast<int>(number);
    }
};

// The delay before retry number n (from 1), without jitter, in a plain way.
inline clock::duration plain_delay(const weir::backoff_options& options, int n) {
    const auto maximum = static_cast<long double>(options.maximum.count());
    auto delay = static_cast<long double>(options.initial.count());
    const auto step =
        static_cast<long double>((options.step > 0s ? options.step : options.initial).count());
    for (int i = 1; i < n && delay < maximum; ++i) {
        switch (options.shape) {
            case weir::backoff_shape::constant:
                break;
            case weir::backoff_shape::linear:
                delay += step;
                break;
            case weir::backoff_shape::exponential:
                delay *= static_cast<long double>(options.factor);
                break;
        }
    }
    return clock::duration(static_cast<std::int64_t>(std::min(delay, maximum)));
}

struct bounds {
    clock::duration least;
    clock::duration most;
};
inline bounds delay_bounds(const weir::backoff_options& options, int n) {
    const clock::duration plain = plain_delay(options, n);
    const double amount = options.jitter.amount();
    const auto times = [&](double factor) {
        return clock::duration(
            static_cast<std::int64_t>(static_cast<double>(plain.count()) * factor));
    };
    const auto capped = [&](clock::duration most) { return std::min(most, options.maximum); };
    switch (options.jitter.which()) {
        case weir::jitter::kind::none:
            return {plain - 1us, plain + 1us};  // sums of floating-point numbers
        case weir::jitter::kind::full:
            return {0s, plain};
        case weir::jitter::kind::equal:
            return {times(0.5) - 1us, plain};
        case weir::jitter::kind::decorrelated:
            return {std::min(options.initial, options.maximum), options.maximum};
        case weir::jitter::kind::duration: {
            const auto spread = clock::duration(static_cast<std::int64_t>(amount));
            return {plain > spread ? plain - spread - 1us : 0s, capped(plain + spread + 1us)};
        }
        case weir::jitter::kind::factor:
            return {times(1 - amount) - 1us, capped(times(1 + amount) + 1us)};
    }
    return {};
}

// The violated rule; empty if there is none.
inline std::string violation(const trial& seen, const outcome<int>& ended) {
    const weir::retry_options& options = seen.options;
    const auto made = static_cast<int>(seen.log.size());
    const attempt_log& last = seen.log.back();
    const auto fail = [&](const std::string& what) {
        return what + " (attempt " + std::to_string(made) + ")";
    };
    if (made > options.max_attempts) {
        return fail("more attempts than allowed");
    }
    if (seen.ended - seen.begun > options.total_time) {
        return fail("longer than the total time");
    }
    if (seen.log.front().begun != seen.begun) {
        return fail("a delay before the first attempt");
    }
    if (!last.is_cut && seen.ended != last.ended) {
        return fail("a delay after the last attempt");
    }
    for (int i = 1; i < made; ++i) {
        const attempt_log& before = seen.log[static_cast<std::size_t>(i) - 1];
        if (before.end == end_kind::cancellation) {
            return fail("a cancellation was retried");
        }
        if (before.end == end_kind::value) {
            return fail("a success was retried");
        }
        const clock::duration delay = seen.log[static_cast<std::size_t>(i)].begun - before.ended;
        const bounds allowed = delay_bounds(options.backoff, i);
        if (delay < allowed.least || delay > allowed.most || delay > options.backoff.maximum) {
            return fail("a delay of " + std::to_string(delay.count()) + " ns out of bounds");
        }
    }
    if (last.is_cut) {
        return seen.ended - seen.begun == options.total_time ? "" : fail("stopped too early");
    }
    switch (last.end) {
        case end_kind::value:
            return ended.has_value() ? "" : fail("a success was lost");
        case end_kind::cancellation:
            return ended.is_cancelled() ? "" : fail("a cancellation was lost");
        case end_kind::error:
            break;
    }
    if (!ended.has_error()) {
        return fail("a failure was lost");
    }
    if (made < options.max_attempts) {  // only because there was no time for a delay
        const clock::duration left = options.total_time - (seen.ended - seen.begun);
        if (delay_bounds(options.backoff, made).most < left) {
            return fail("gave up though there was time");
        }
    }
    return "";
}

class random_trials {
public:
    explicit random_trials(unsigned seed) : random_(seed) {}

    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

    weir::backoff_options backoff() {
        weir::backoff_options made;
        made.shape = static_cast<weir::backoff_shape>(below(3));
        made.initial = std::chrono::milliseconds(below(4) == 0 ? 0 : below(3000));
        made.factor = below(5) == 0 ? 1e100 : 1 + below(400) / 100.0;
        made.step = std::chrono::milliseconds(below(2) * below(1000));
        made.maximum = made.initial + std::chrono::milliseconds(below(20000));
        switch (below(made.shape == weir::backoff_shape::exponential ? 6 : 5)) {
            case 0:
                made.jitter = weir::jitter::none();
                break;
            case 1:
                made.jitter = weir::jitter::full();
                break;
            case 2:
                made.jitter = weir::jitter::equal();
                break;
            case 3:
                made.jitter = weir::jitter::by(std::chrono::milliseconds(below(2000)));
                break;
            case 4:
                made.jitter = weir::jitter::by(below(101) / 100.0);
                break;
            default:
                made.jitter = weir::jitter::decorrelated();
        }
        return made;
    }
    trial make() {
        trial made;
        made.options.max_attempts = 1 + below(8);
        made.options.backoff = backoff();
        made.options.seed = random_();
        if (below(2) == 0) {
            made.options.total_time = std::chrono::milliseconds(1 + below(20000));
        }
        for (int i = below(10); i > 0; --i) {
            attempt_plan next;
            next.takes = std::chrono::milliseconds(below(3) * below(2000));
            const int choice = below(8);
            next.end = choice == 0   ? end_kind::value
                       : choice == 1 ? end_kind::cancellation
                                     : end_kind::error;
            made.plan.push_back(next);
        }
        return made;
    }

private:
    std::mt19937 random_;
};

}  // namespace retry_tests
