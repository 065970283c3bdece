// SPDX-License-Identifier: MIT
// P10: a bulkhead limits how many operations run at a time, which is not how many run per second
#include <weir/flow/bulkhead.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct observed {
    int running = 0;
    int most = 0;
};

weir::task<int> fetch(int page, weir::clock::duration time, observed& seen) {
    seen.most = std::max(seen.most, ++seen.running);
    co_await weir::sleep(time);
    --seen.running;
    co_return page;
}

// A hundred requests, at most ten at a time. How many that makes per second depends on how long
// each takes: for a limit on the rate, use a token_bucket.
weir::task<> fetch_all(weir::clock::duration time_of_each) {
    weir::bulkhead slots(10);
    observed seen;
    const auto begin = weir::now();
    std::vector<weir::task<int>> requests;
    for (int page = 0; page < 100; ++page) {
        requests.push_back(
            slots.run([page, time_of_each, &seen] { return fetch(page, time_of_each, seen); }));
    }
    const std::vector<int> pages = co_await weir::gather(std::move(requests));
    const auto took = weir::now() - begin;
    std::cout << pages.size() << " requests of " << time_of_each / 1ms << " ms each: at most "
              << seen.most << " at a time, " << pages.size() * 1s / took << " per second\n";
}

// Few calls may wait, and not for long: excess calls are refused, at once where possible.
weir::task<> refuse_what_is_too_much() {
    weir::bulkhead database({.max_concurrent = 2, .max_waiting = 3, .max_wait = 1500ms});
    std::vector<weir::handle<weir::outcome<int>>> queries;
    observed seen;
    for (int i = 1; i <= 7; ++i) {
        queries.push_back(weir::spawn(database.settle([i, &seen] { return fetch(i, 1s, seen); })));
    }
    for (const auto& each : queries) {
        const weir::outcome<int>& ended = co_await each;
        if (ended.is_refused()) {
            std::cout << "refused: " << to_string(ended.refusal().reason) << '\n';
        } else {
            std::cout << "query " << ended.value() << " done\n";
        }
    }
    const weir::bulkhead_stats stats = database.stats();
    std::cout << stats.granted << " let in, " << stats.waited << " of them after waiting, "
              << stats.refused << " refused\n";
}

int main() {
    weir::run(fetch_all(10ms), {.driver = weir::driver_kind::simulated});
    weir::run(fetch_all(10s), {.driver = weir::driver_kind::simulated});
    weir::run(refuse_what_is_too_much(), {.driver = weir::driver_kind::simulated});
}
