// SPDX-License-Identifier: MIT
// P9: a hedge against slow answers, and one budget for retries and hedges
#include <weir/flow/hedge.hpp>
#include <weir/flow/retry.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace std::chrono_literals;

// One answer in twenty takes a hundred times as long as the others.
weir::task<> lookup(int& calls) {
    const bool is_slow = ++calls % 20 == 7;
    co_await weir::sleep(is_slow ? 2s : 20ms);
}

template <class Lookup>
weir::task<> measure(const char* what, Lookup lookup) {
    std::vector<weir::clock::duration> times;
    for (int i = 0; i < 200; ++i) {
        const auto begin = weir::now();
        co_await lookup();
        times.push_back(weir::now() - begin);
    }
    std::sort(times.begin(), times.end());
    std::printf("%s: half within %lld ms, 99 %% within %lld ms\n", what,
                static_cast<long long>(times[100] / 1ms), static_cast<long long>(times[198] / 1ms));
}

weir::task<> run() {
    int calls = 0;
    auto plain = [&calls] { return lookup(calls); };
    co_await measure("plain ", plain);

    // After the time within which nine calls in ten end, call once more; for a tenth of the calls
    // at most. Retry policies can share the budget.
    weir::retry_budget budget({.ratio = 0.1, .reserve_per_second = 1});
    weir::hedge_policy twice({.delay = 100ms, .percentile = 0.9, .budget = &budget});
    calls = 0;
    auto hedged = [&twice, plain] { return twice.run(plain); };
    co_await measure("hedged", hedged);

    const weir::hedge_stats stats = twice.stats();
    std::printf("%d of %d calls were hedged, %d hedges won\n", static_cast<int>(stats.hedges),
                static_cast<int>(stats.calls), static_cast<int>(stats.hedge_wins));
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
