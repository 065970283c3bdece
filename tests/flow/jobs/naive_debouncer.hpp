// SPDX-License-Identifier: MIT
// How not to write a debouncer: each call cancels the task of the previous one, running or not, and
// its caller does not learn about it.
#pragma once

#include "support.hpp"

#include <functional>

namespace flow_tests {

class naive_debouncer {
public:
    naive_debouncer(std::chrono::milliseconds delay, std::function<task<int>(int)> body)
        : delay_(delay), body_(std::move(body)) {}
    ~naive_debouncer() {
        if (task_) {
            task_.cancel();
        }
    }

    task<> call(int value) {
        if (task_) {
            task_.cancel();
            co_await task_.wait();
        }
        task_ = weir::spawn(delayed(value));
    }

private:
    task<> delayed(int value) {
        co_await weir::sleep(delay_);
        (void)co_await body_(value);
    }

    std::chrono::milliseconds delay_;
    std::function<task<int>(int)> body_;
    weir::handle<void> task_;
};

}  // namespace flow_tests
