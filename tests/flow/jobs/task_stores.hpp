// SPDX-License-Identifier: MIT
// Task stores for the tests (slow, failing, checking) and executors.
#pragma once

#include "support.hpp"

#include <weir/executor.hpp>
#include <weir/flow/task_store.hpp>

#include <map>
#include <set>
#include <thread>

namespace flow_tests {

using weir::managed_task;
using weir::task_state;

// Waits and fails at random, before or after the operation. Checks that each task goes through its
// states in order and never leaves a final one.
class trying_store final : public weir::task_store {
public:
    explicit trying_store(dice& random, int fails_one_in = 0, bool is_slow = true)
        : random_(random), fails_one_in_(fails_one_in), is_slow_(is_slow) {}

    task<bool> insert(const managed_task& fresh) override {
        co_await before();
        const bool done = co_await inner.insert(fresh);
        co_await after();
        co_return done;
    }
    task<bool> transition(const managed_task& next, task_state expected) override {
        co_await before();
        const bool done = co_await inner.transition(next, expected);
        if (done) {
            const bool is_allowed = (expected == task_state::pending) ||
                                    (expected == task_state::running && is_final(next.state));
            EXPECT_TRUE(is_allowed) << to_string(expected) << " to " << to_string(next.state);
            if (next.state == task_state::running) {
                ++starts[next.id];
            }
        }
        co_await after();
        co_return done;
    }
    task<void> save_progress(const managed_task& running) override {
        co_await before();
        co_await inner.save_progress(running);
    }
    task<std::optional<managed_task>> get(std::string_view id) override {
        co_await before();
        co_return co_await inner.get(id);
    }
    task<std::vector<managed_task>> list(const weir::task_query& query) override {
        co_await before();
        co_return co_await inner.list(query);
    }
    task<bool> remove(const managed_task& finished) override {
        co_await before();
        const bool done = co_await inner.remove(finished);
        co_await after();
        co_return done;
    }

    weir::memory_task_store inner;
    std::map<std::string, int> starts;
    int failures = 0;

private:
    task<> before() {
        if (is_slow_) {
            co_await pause(random_);
        }
        fail_perhaps();
    }
    task<> after() {
        fail_perhaps();  // after the operation: the caller cannot know that it succeeded
        if (is_slow_) {
            co_await pause(random_);
        }
    }
    void fail_perhaps() {
        if (fails_one_in_ != 0 && random_.one_in(fails_one_in_)) {
            ++failures;
            throw test_error("the store is away");
        }
    }

    dice& random_;
    int fails_one_in_;
    bool is_slow_;
};

// Takes a second to store the end of a task.
class slow_end_store final : public weir::task_store {
public:
    task<bool> insert(const managed_task& fresh) override { return inner.insert(fresh); }
    task<bool> transition(const managed_task& next, task_state expected) override {
        if (is_final(next.state)) {
            co_await weir::sleep(1s);
        }
        co_return co_await inner.transition(next, expected);
    }
    task<void> save_progress(const managed_task& running) override {
        return inner.save_progress(running);
    }
    task<std::optional<managed_task>> get(std::string_view id) override { return inner.get(id); }
    task<std::vector<managed_task>> list(const weir::task_query& query) override {
        return inner.list(query);
    }
    task<bool> remove(const managed_task& finished) override { return inner.remove(finished); }

    weir::memory_task_store inner;
};

// A simulated executor: the function runs on the loop, after some simulated time.
class simulated_executor final : public weir::executor {
public:
    explicit simulated_executor(std::chrono::milliseconds takes) : takes_(takes) {}
    task<void> run(work function) override {
        ++count;
        co_await weir::sleep(takes_);
        function();
    }
    int count = 0;

private:
    std::chrono::milliseconds takes_;
};

// A real thread for each call.
class thread_executor final : public weir::executor {
public:
    ~thread_executor() {
        for (std::thread& each : threads_) {
            each.join();
        }
    }
    task<void> run(work function) override {
        weir::promise<void> done;
        weir::loop& home = weir::loop::current();
        home.expect_post();
        threads_.emplace_back([&home, &done, function = std::move(function)]() mutable {
            function();
            home.post([&home, &done] {
                home.expected_post_came();
                done.set_value();
            });
        });
        co_await done.get_future();
    }

private:
    std::vector<std::thread> threads_;
};

}  // namespace flow_tests
