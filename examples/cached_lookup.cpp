// SPDX-License-Identifier: MIT
// A cache whose values are loaded once for all who ask: expiry, background refresh, kept errors
#include <weir/flow/loading_cache.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

// Stands for a request to another service.
weir::task<std::string> fetch_profile(std::string user) {
    std::cout << "fetching " << user << '\n';
    co_await weir::sleep(200ms);
    if (user == "nobody") {
        throw std::runtime_error("there is no " + user);
    }
    co_return "the profile of " + user;
}

weir::task<> run() {
    weir::loading_cache<std::string, std::string> profiles(
        {.capacity = 1000, .expire_after = 1min, .refresh_after = 30s, .keep_errors = 5s},
        fetch_profile);

    // Three ask at once, and one of them gives up: the load goes on for the others.
    auto impatient = weir::spawn(profiles.get("ann"));
    auto patient = weir::spawn(profiles.get("ann"));
    co_await weir::sleep(100ms);
    impatient.cancel();
    const std::string late = co_await profiles.get("ann");
    std::cout << co_await patient << ", " << late << '\n';

    co_await weir::sleep(40s);  // old, but not expired: returned at once, and fetched anew
    const auto begin = weir::now();
    const std::string old = co_await profiles.get("ann");
    std::cout << old << " after " << (weir::now() - begin) / 1ms << " ms\n";
    co_await weir::sleep(1s);

    for (int i = 0; i < 3; ++i) {  // an error is kept as well, for five seconds
        try {
            co_await profiles.get("nobody");
        } catch (const std::runtime_error& error) {
            std::cout << error.what() << '\n';
        }
    }
    const weir::loading_cache_stats stats = profiles.stats();
    std::cout << stats.loads << " loads, " << stats.hits << " hits\n";
    co_await profiles.close();
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
