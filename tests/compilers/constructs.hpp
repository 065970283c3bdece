// SPDX-License-Identifier: MIT
// Objects that check their own lives, and the points at which a construct can be stopped.
#pragma once

#include <weir/weir.hpp>

#include <set>
#include <vector>

namespace constructs {

// What went wrong so far: destroyed twice, or in the wrong order.
struct ledger {
    static inline std::set<const void*> alive;
    static inline std::vector<const void*> order;  // of those objects whose order counts
    static inline int destroyed_unborn = 0;
    static inline int out_of_order = 0;

    static bool sound() {
        return alive.empty() && order.empty() && destroyed_unborn == 0 && out_of_order == 0;
    }
    static void clear() {
        alive.clear();
        order.clear();
        destroyed_unborn = 0;
        out_of_order = 0;
    }
    static void born(const void* object) {
        if (!alive.insert(object).second) {
            ++destroyed_unborn;
        }
    }
    static void died(const void* object) {
        if (alive.erase(object) == 0) {
            ++destroyed_unborn;
        }
    }
};

// A local variable: the one declared last dies first.
class local {
public:
    explicit local(int value = 1) : value_(value) {
        ledger::born(this);
        ledger::order.push_back(this);
    }
    local(const local&) = delete;
    local& operator=(const local&) = delete;
    ~local() {
        ledger::died(this);
        if (ledger::order.empty() || ledger::order.back() != this) {
            ++ledger::out_of_order;
        }
        std::erase(ledger::order, this);
    }
    int value() const { return value_; }

private:
    int value_;
};

// Something that is passed around: lives once, wherever it goes. Compilers differ in when arguments
// die.
class passed {
public:
    explicit passed(int value = 1) : value_(value) { ledger::born(this); }
    passed(const passed& other) : value_(other.value_) { ledger::born(this); }
    passed(passed&& other) noexcept : value_(other.value_) { ledger::born(this); }
    passed& operator=(const passed&) = default;
    ~passed() { ledger::died(this); }
    int value() const { return value_; }

private:
    int value_;
};

struct planned_error {};

// Which point does what in this run.
struct plan {
    enum class act { nothing, stop, fail };
    static inline int points = 0;  // reached so far
    static inline int chosen = -1;
    static inline act what = act::nothing;
};

// The innermost: one suspension.
struct point {
    static weir::task<int> run() {
        const local here;
        if (plan::points++ == plan::chosen) {
            if (plan::what == plan::act::fail) {
                throw planned_error();
            }
            weir::current_task().cancel();
        }
        co_await weir::yield();
        co_return 1;
    }
};

}  // namespace constructs
