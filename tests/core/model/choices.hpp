// SPDX-License-Identifier: MIT
// What the rules leave open: first one combination after the other, then random ones.
#pragma once

#include <weir/base/random.hpp>

#include <vector>

namespace model {

class choices {
public:
    // From 0 up to, not including, the count. The first combination has nothing but zeros.
    int choose(int count) {
        if (count <= 1) {
            return 0;
        }
        if (is_random_) {
            const bool is_likeliest = random_.next_below(8) >= doubt_;
            return is_likeliest ? 0 : static_cast<int>(random_.next_below(unsigned(count)));
        }
        if (at_ == made_.size()) {
            made_.push_back({0, count});
        }
        return made_[at_++].taken;
    }
    // The next combination; false if there is none.
    bool next() {
        if (is_random_) {
            doubt_ = 1 + doubt_ % 4;
            return true;
        }
        made_.resize(at_);
        at_ = 0;
        while (!made_.empty() && made_.back().taken + 1 == made_.back().count) {
            made_.pop_back();
        }
        if (made_.empty()) {
            return false;
        }
        ++made_.back().taken;
        return true;
    }

    // From now on at random, 0 being the likeliest choice.
    void become_random() { is_random_ = true; }

private:
    struct choice {
        int taken;
        int count;
    };
    std::vector<choice> made_;
    std::size_t at_ = 0;
    bool is_random_ = false;
    std::uint64_t doubt_ = 4;  // in eighths: how often another one than the likeliest is chosen
    weir::detail::random_source random_;
};

}  // namespace model
