// SPDX-License-Identifier: MIT
// S4: a semaphore limits how many requests run at a time (which is not how many run per second)
#include <weir/weir.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct statistics {
    int running = 0;
    int most = 0;
};

weir::task<std::string> fetch(std::string url, weir::semaphore& slots, statistics& seen) {
    auto permit = co_await slots.acquire();  // given back at the end, however it comes
    seen.most = std::max(seen.most, ++seen.running);
    co_await weir::sleep(500ms);
    --seen.running;
    co_return "content of " + url;
}

weir::task<> run() {
    weir::semaphore slots(10);
    statistics seen;
    std::vector<weir::task<std::string>> requests;
    for (int i = 0; i < 100; ++i) {
        requests.push_back(fetch("https://example.com/page" + std::to_string(i), slots, seen));
    }
    const auto begin = weir::now();
    const std::vector<std::string> pages = co_await weir::gather(std::move(requests));
    std::cout << "Fetched " << pages.size() << " pages in " << (weir::now() - begin) / 1ms
              << " ms, at most " << seen.most << " at a time\n";

    weir::bounded_semaphore bounded(10);
    {
        auto permit = co_await bounded.acquire();
        std::cout << bounded.value() << " permits are free\n";
    }
    try {
        bounded.release();  // once too often
    } catch (const weir::invalid_state& error) {
        std::cout << error.what() << '\n';
    }
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
