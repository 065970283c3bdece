// SPDX-License-Identifier: MIT
// Shared by the tests of combinators: children that are counted while they live, and report
// collectors.
#pragma once

#include <weir/testing/testing.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace combinators {

using namespace std::chrono_literals;

// Counts the coroutine frames that hold one.
class alive {
public:
    explicit alive(int& count) noexcept : count_(&count) { ++*count_; }
    alive(alive&& other) noexcept : count_(other.count_) { ++*count_; }
    alive(const alive&) = delete;
    alive& operator=(const alive&) = delete;
    ~alive() { --*count_; }

private:
    int* count_;
};

class failure : public std::runtime_error {
public:
    explicit failure(int number)
        : std::runtime_error("failure " + std::to_string(number)), number(number) {}
    int number;
};

inline weir::task<int> value_after(std::chrono::milliseconds time, int value) {
    co_await weir::sleep(time);
    co_return value;
}

inline weir::task<int> failure_after(std::chrono::milliseconds time, int number) {
    co_await weir::sleep(time);
    throw failure(number);
}

// Runs until it is stopped; its clean-up takes the time given.
inline weir::task<int> stubborn(int& live, std::chrono::milliseconds cleanup) {
    const alive counted(live);
    auto clean = [cleanup]() -> weir::task<> { co_await weir::sleep(cleanup); };
    co_await weir::finally(weir::sleep_forever(), clean);
    co_return 0;
}

// Collects the loop's reports, in place of the test's handler, which fails the test.
class reports {
public:
    reports() {
        weir::loop::current().on_report([this](const weir::report& about) {
            kinds.push_back(about.kind);
            messages.push_back(about.message);
        });
    }
    reports(const reports&) = delete;
    reports& operator=(const reports&) = delete;
    ~reports() {
        weir::loop::current().on_report([](const weir::report& about) {
            ADD_FAILURE() << "reported: " << weir::to_string(about.kind) << ": " << about.message;
        });
    }

    std::size_t count(weir::report_kind kind) const {
        return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
    }

    std::vector<weir::report_kind> kinds;
    std::vector<std::string> messages;
};

}  // namespace combinators
