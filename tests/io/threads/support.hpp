// SPDX-License-Identifier: MIT
// Gates for the threads of these tests, and objects that know where they are destroyed.
#pragma once

#include <weir/testing/testing.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

namespace io_threads_tests {

using namespace std::chrono_literals;

// Threads wait in pass() until it is open.
class gate {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
        opened_.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        arrived_.notify_all();
        opened_.wait(lock, [this] { return is_open_; });
    }
    // Until so many threads are, or were, in pass().
    void wait_for(int count) {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return waiting_ >= count; });
    }

private:
    std::mutex mutex_;
    std::condition_variable opened_;
    std::condition_variable arrived_;
    bool is_open_ = false;
    int waiting_ = 0;
};

// Waits, in real time, for something that another thread does soon.
template <class Condition>
bool soon(Condition holds) {
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > limit) {
            return false;
        }
        std::this_thread::sleep_for(100us);
    }
    return true;
}

// Counts how many there are, and fails the test when one dies on another thread than it was made
// on.
class homing {
public:
    explicit homing(std::atomic<int>& alive) : alive_(&alive) { ++alive; }
    homing(homing&& other) noexcept : alive_(other.alive_), home_(other.home_) { ++*alive_; }
    homing& operator=(homing&&) = delete;
    ~homing() {
        EXPECT_EQ(std::this_thread::get_id(), home_);
        --*alive_;
    }

private:
    std::atomic<int>* alive_;
    std::thread::id home_ = std::this_thread::get_id();
};

class dice {
public:
    explicit dice(unsigned seed) : engine_(seed) {}
    unsigned below(unsigned limit) { return static_cast<unsigned>(engine_() % limit); }
    bool one_in(unsigned chance) { return below(chance) == 0; }

private:
    std::mt19937_64 engine_;
};

class joined_threads {
public:
    ~joined_threads() { join(); }
    template <class Body>
    void start(Body body) {
        list_.emplace_back(std::move(body));
    }
    void join() {
        for (std::thread& each : list_) {
            each.join();
        }
        list_.clear();
    }

private:
    std::vector<std::thread> list_;
};

}  // namespace io_threads_tests
