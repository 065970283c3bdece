// SPDX-License-Identifier: MIT
// R8: the first successful response of many, the rest stopped; and wait, which only looks
#include <weir/weir.hpp>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> fetch(std::string url, std::chrono::milliseconds time, bool works = true) {
    co_await weir::sleep(time);
    if (!works) {
        throw std::runtime_error(url + ": connection refused");
    }
    co_return "response of " + url;
}

weir::task<> run() {
    // The first to finish has failed: it is not the first successful one.
    std::vector<weir::task<std::string>> mirrors;
    mirrors.push_back(fetch("a.example", 300ms));
    mirrors.push_back(fetch("b.example", 100ms, false));
    mirrors.push_back(fetch("c.example", 200ms));
    const std::string first = co_await weir::race(std::move(mirrors));
    std::cout << first << ", still running: " << weir::all_tasks().size() - 1 << '\n';

    try {
        (void)co_await weir::race(fetch("d.example", 20ms, false), fetch("e.example", 10ms, false));
    } catch (const weir::error_group& all) {
        for (const std::exception_ptr& each : all.errors()) {
            std::cout << weir::describe(each) << '\n';
        }
    }

    // wait takes handles, throws nothing and cancels nothing.
    std::vector<weir::handle<std::string>> started;
    started.push_back(weir::spawn(fetch("f.example", 200ms)));
    started.push_back(weir::spawn(fetch("g.example", 100ms)));
    auto [done, pending] = co_await weir::wait(started, weir::wait_until::first_completed, 1s);
    std::cout << done.front().result() << ", pending: " << pending.size() << '\n';
    for (const auto& each : pending) {
        each.cancel();
    }
}

int main() {
    weir::run(run(), {.driver = weir::driver_kind::simulated});
}
