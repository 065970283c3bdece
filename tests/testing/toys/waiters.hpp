// SPDX-License-Identifier: MIT
// Shared by the toys: small primitives in two variants each, a correct one and one with a mistake
// that real libraries have made. The kit has to distinguish them. Not for use: the real primitives
// are in weir/sync.
#pragma once

#include <weir/awaitable.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace toys {

// Waiting operations, oldest first.
template <class Waiter>
class waiters {
public:
    bool empty() const noexcept { return list_.empty(); }
    std::size_t size() const noexcept { return list_.size(); }
    void add(Waiter& waiter) { list_.push_back(&waiter); }
    void remove(Waiter& waiter) { list_.erase(std::find(list_.begin(), list_.end(), &waiter)); }
    Waiter& take_oldest() {
        Waiter& taken = *list_.front();
        list_.pop_front();
        return taken;
    }
    Waiter& take_newest() {
        Waiter& taken = *list_.back();
        list_.pop_back();
        return taken;
    }

private:
    std::deque<Waiter*> list_;
};

// Counts the tasks inside, in whichever way they leave.
class presence {
public:
    explicit presence(int& count) noexcept : count_(count) { ++count_; }
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { --count_; }

private:
    int& count_;
};

}  // namespace toys
