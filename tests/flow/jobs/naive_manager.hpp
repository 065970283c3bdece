// SPDX-License-Identifier: MIT
// How not to write a task manager: cancelling only changes a flag that the worker does not look at,
// a second task of one id overwrites the first, nothing is ever forgotten, and the end is no end.
#pragma once

#include "support.hpp"

#include <functional>
#include <map>

namespace flow_tests {

class naive_manager {
public:
    using body = std::function<task<int>()>;

    explicit naive_manager(int workers) : queue_(weir::queue<std::string>::unbounded()) {
        for (int i = 0; i < workers; ++i) {
            workers_.push_back(weir::spawn(work()));
        }
    }
    ~naive_manager() {
        for (auto& each : workers_) {
            each.cancel();
        }
    }

    task<bool> submit(std::string id, body what) {
        tasks_[id] = entry{"pending", std::move(what), 0};
        co_await queue_.put(id);
        co_return true;
    }
    task<bool> cancel(std::string id) {
        entry& of = tasks_[id];
        if (of.state != "pending") {
            co_return false;
        }
        of.state = "cancelled";
        co_return true;
    }
    task<std::string> state(std::string id) { co_return tasks_[id].state; }
    task<int> result(std::string id) { co_return tasks_[id].result; }
    std::size_t kept() const { return tasks_.size(); }
    task<> close() {
        while (!queue_.empty()) {
            co_await weir::sleep(10ms);
        }
    }

private:
    struct entry {
        std::string state;
        body what;
        int result = 0;
    };
    task<> work() {
        for (;;) {
            const std::string id = co_await queue_.get();
            tasks_[id].state = "running";
            const body what = tasks_[id].what;
            const int value = co_await what();
            tasks_[id].result = value;
            tasks_[id].state = "completed";
        }
    }

    weir::queue<std::string> queue_;
    std::map<std::string, entry> tasks_;
    std::vector<weir::handle<void>> workers_;
};

}  // namespace flow_tests
