// SPDX-License-Identifier: MIT
// The virtual time of the model: what happens when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace model {

struct timer {
    enum class kind : unsigned char { event, sleep, deadline };
    std::int64_t time;
    kind what;
    int id;         // of the event, the fiber, the scope
    unsigned turn;  // of the fiber; of the scope: which of its deadlines
};

class timeline {
public:
    std::int64_t now() const { return now_; }
    void add(std::int64_t after, timer::kind what, int id, unsigned turn = 0) {
        timers_.push_back({now_ + after, what, id, turn});
    }
    template <class Unless>
    void drop(const Unless& is_stale) {
        std::erase_if(timers_, is_stale);
    }
    bool empty() const { return timers_.empty(); }
    // The first ones, which are due together: now is their time.
    std::vector<timer> take() {
        now_ = std::min_element(timers_.begin(), timers_.end(), [](const timer& a, const timer& b) {
                   return a.time < b.time;
               })->time;
        std::vector<timer> due;
        std::erase_if(timers_, [&](const timer& each) {
            if (each.time != now_) {
                return false;
            }
            due.push_back(each);
            return true;
        });
        return due;
    }

private:
    std::vector<timer> timers_;
    std::int64_t now_ = 0;
};

}  // namespace model
