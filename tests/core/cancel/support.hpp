// SPDX-License-Identifier: MIT
// Shared by the tests of cancellation: a record of events, and an operation that the test controls.
#pragma once

#include <weir/testing/testing.hpp>

#include <string>
#include <vector>

namespace cancel_tests {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

// Notes its name when it is destroyed.
class noted {
public:
    noted(lines& to, std::string name) : to_(&to), name_(std::move(name)) {}
    noted(noted&& other) noexcept
        : to_(std::exchange(other.to_, nullptr)), name_(std::move(other.name_)) {}
    noted(const noted&) = delete;
    noted& operator=(const noted&) = delete;
    ~noted() {
        if (to_ != nullptr) {
            to_->push_back(name_);
        }
    }

private:
    lines* to_;
    std::string name_;
};

// Runs a function when it is destroyed.
template <class Function>
class at_exit {
public:
    explicit at_exit(Function function) : function_(std::move(function)) {}
    at_exit(const at_exit&) = delete;
    at_exit& operator=(const at_exit&) = delete;
    ~at_exit() { function_(); }

private:
    Function function_;
};

// An operation that the test completes.
struct plan {
    bool is_ready = false;  // complete without waiting
    bool lets_go = true;    // cancel takes effect at once
    int asked = 0, started = 0, cancelled = 0, resumed = 0, given_back = 0;
    class planned* waiting = nullptr;

    void complete();
    void complete_and_keep();
};

class planned final : public weir::operation {
public:
    explicit planned(plan& by) noexcept : plan_(by) {}
    planned(planned&& other) noexcept : operation(std::move(other)), plan_(other.plan_) {}
    ~planned() {
        if (is_granted_) {
            ++plan_.given_back;
        }
        if (plan_.waiting == this) {
            plan_.waiting = nullptr;
        }
    }
    bool ready() noexcept override {
        ++plan_.asked;
        return is_granted_ = plan_.is_ready;
    }
    bool start() noexcept override {
        ++plan_.started;
        plan_.waiting = this;
        return true;
    }
    bool cancel() noexcept override {
        ++plan_.cancelled;
        if (plan_.lets_go) {
            plan_.waiting = nullptr;
        }
        return plan_.lets_go;
    }
    const char* name() const noexcept override { return "planned"; }
    int resume() {
        ++plan_.resumed;
        is_granted_ = false;
        return 7;
    }

private:
    friend struct plan;
    plan& plan_;
    bool is_granted_ = false;
};

inline void plan::complete() {
    planned* const now = std::exchange(waiting, nullptr);
    now->is_granted_ = true;
    now->operation::complete();
}
inline void plan::complete_and_keep() {
    planned* const now = std::exchange(waiting, nullptr);
    now->is_granted_ = true;
    now->operation::complete_and_keep();
}

// Sleeps, then notes that it did.
inline weir::task<int> nap(lines& to, weir::clock::duration time, std::string done = "woke") {
    co_await weir::sleep(time);
    to.push_back(done);
    co_return 1;
}

inline weir::task<> fail_after(weir::clock::duration time, std::string what) {
    co_await weir::sleep(time);
    throw std::runtime_error(what);
}

// The task is cancelled after a while; gives how it ended: "value", "cancelled", or the error's
// text.
template <class T>
weir::task<std::string> ending_after_cancel(weir::clock::duration time, weir::task<T> work) {
    auto started = weir::spawn(std::move(work));
    co_await weir::sleep(time);
    started.cancel();
    co_await started.wait();
    if (started.cancelled()) {
        co_return "cancelled";
    }
    co_return started.failed() ? weir::describe(started.error()) : "value";
}

}  // namespace cancel_tests
