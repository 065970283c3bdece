// SPDX-License-Identifier: MIT
// The traffic that all drawings have in common: a steady trickle, three bursts, and a busy stretch
// during which the service behind is down.
#pragma once

#include <weir/weir.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace timelines {

using namespace std::chrono_literals;
using weir::clock;
using weir::task;

inline constexpr auto outage_begin = 8s;
inline constexpr auto outage_end = 12s;

inline std::vector<clock::duration> arrivals() {
    std::vector<clock::duration> times;
    const auto burst = [&times](clock::duration at, int count) {
        for (int i = 0; i < count; ++i) {
            times.push_back(at + i * 25ms);
        }
    };
    for (int second = 0; second < 20; ++second) {
        times.push_back(second * 1s + 300ms);
    }
    burst(3s, 12);
    burst(9s, 10);
    burst(16s, 8);
    for (int quarter = 0; quarter < 20; ++quarter) {
        times.push_back(8s + quarter * 250ms + 60ms);
    }
    std::sort(times.begin(), times.end());
    return times;
}

// Simulated time begins with the run.
inline clock::duration elapsed(clock::time_point begin) {
    return weir::now() - begin;
}

// The service: quick to answer, and to fail while it is down.
inline task<> serve(clock::time_point begin) {
    const clock::duration at = elapsed(begin);
    const bool is_down = at >= outage_begin && at < outage_end;
    co_await weir::sleep(is_down ? 50ms : 100ms);
    if (is_down) {
        throw std::runtime_error("the service is down");
    }
}

// Plays the traffic: one task for each request.
template <class Request>
task<> play(Request request) {
    const clock::time_point begin = weir::now();
    std::vector<weir::handle<void>> requests;
    for (const clock::duration at : arrivals()) {
        co_await weir::sleep_until(begin + at);
        requests.push_back(weir::spawn(request, begin, at));
    }
    for (const auto& each : requests) {
        co_await each;
    }
}

template <class Main>
void simulate(Main main) {
    weir::run(main(), {.driver = weir::driver_kind::simulated});
}

std::string token_bucket_timeline();
std::string sliding_window_timeline();
std::string breaker_timeline();
std::string backoff_timeline();

}  // namespace timelines
