// SPDX-License-Identifier: MIT
// How not to write a worker pool: a sentinel in the queue, results polled for and kept for ever,
// ids that overwrite each other, and one handler for everything that is submitted.
#pragma once

#include "support.hpp"

#include <functional>
#include <map>

namespace flow_tests {

class naive_pool {
public:
    using body = std::function<task<int>()>;

    naive_pool(int workers, std::size_t queue, body handler)
        : jobs_(queue), handler_(std::move(handler)) {
        for (int i = 0; i < workers; ++i) {
            workers_.push_back(weir::spawn(work()));
        }
    }

    task<> submit(std::string id, body given) {
        (void)given;  // the handler of the pool is called instead
        co_await jobs_.put(id);
    }
    task<int> result(std::string id, std::chrono::milliseconds limit) {
        const auto begin = weir::now();
        while (!results_.contains(id)) {
            if (limit != 0ms && weir::now() - begin > limit) {
                throw weir::timed_out();
            }
            co_await weir::sleep(10ms);
        }
        co_return results_[id];
    }
    std::size_t kept() const { return results_.size(); }

    task<> shutdown_now() {
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            co_await jobs_.put("");  // one sentinel for each; waits while the queue is full
        }
        for (auto& each : workers_) {
            co_await each;
        }
    }
    ~naive_pool() {
        for (auto& each : workers_) {
            each.cancel();
        }
    }

private:
    task<> work() {
        for (;;) {
            const std::string id = co_await jobs_.get();
            if (id.empty()) {
                co_return;
            }
            const int value = co_await handler_();  // an error ends the worker
            results_[id] = value;
        }
    }

    weir::queue<std::string> jobs_;
    body handler_;
    std::map<std::string, int> results_;
    std::vector<weir::handle<void>> workers_;
};

}  // namespace flow_tests
