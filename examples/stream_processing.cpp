// SPDX-License-Identifier: MIT
// P4: a stream of readings, enriched five at a time, in order, and written in chunks
#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/streams.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Two sensors, each with a pace of its own.
weir::generator<std::string> sensor(std::string name, weir::clock::duration every, int count) {
    for (int i = 0; i < count; ++i) {
        co_await weir::sleep(every);
        co_yield name + std::to_string(i);
    }
}

weir::task<std::string> enrich(std::string reading) {
    co_await weir::sleep(reading.ends_with('3') ? 300ms : 50ms);  // some take longer
    co_return reading;
}

weir::task<> run() {
    auto readings = weir::merge(sensor("a", 20ms, 8), sensor("b", 30ms, 8));
    // At most five in flight: while one is slow, the source waits.
    auto enriched = weir::map_concurrent(std::move(readings), 5, enrich);
    auto chunks = weir::chunk_within(std::move(enriched), 4, 100ms);
    while (auto chunk = co_await chunks.next()) {
        std::cout << weir::now().time_since_epoch() / 1ms << " ms: ";
        for (const std::string& each : *chunk) {
            std::cout << each << ' ';
        }
        std::cout << '\n';
    }

    // take() ends after three: it stops the running calls and closes the sensor first.
    auto first = weir::map_as_completed(sensor("c", 10ms, 1'000'000), 5, enrich);
    const auto three = co_await weir::collect(weir::take(std::move(first), 3));
    std::cout << "the first of many: " << three.front() << '\n';
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
