// SPDX-License-Identifier: MIT
// Requests of different size share a budget: semaphore.acquire(n), in order, so none is starved
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> resize(weir::bounded_semaphore& memory, std::string image, std::ptrdiff_t megabytes) {
    auto budget = co_await memory.acquire(megabytes);  // all of it at once, given back at the end
    std::cout << image << " starts with " << budget.count() << " MB\n";
    co_await weir::sleep(1s);
}

weir::task<> run() {
    weir::bounded_semaphore memory(100);
    co_await weir::gather(resize(memory, "icon.png", 10), resize(memory, "poster.tif", 95),
                          resize(memory, "photo.jpg", 20), resize(memory, "thumb.png", 5));
    std::cout << memory.value() << " MB free\n";
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
