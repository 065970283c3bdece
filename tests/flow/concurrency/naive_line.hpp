// SPDX-License-Identifier: MIT
// How not to write a line for places, each mistake to be switched on; without any, it is the plain
// model that the real one is compared with. No coroutines: the holders of places are a list.
#pragma once

#include <weir/flow/priority.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace flow_bulkhead {

struct line_mistakes {
    bool lets_small_ones_overtake = false;         // past a large one that does not fit yet
    bool forgets_followers_on_cancel = false;      // when the first in line goes
    bool cancelled_ones_keep_their_place = false;  // until it is their turn
    bool barges = false;              // a new request takes free places although others wait
    bool forgets_the_weight = false;  // gives back one place only
};

class naive_line {
public:
    naive_line(std::size_t limit, std::size_t max_waiting, const line_mistakes& made = {})
        : limit_(limit), max_waiting_(max_waiting), made_(made) {}

    void ask(int id, std::size_t weight, weir::priority level) {
        const bool others_wait = std::any_of(waiting_.begin(), waiting_.end(),
                                             [&](const one& each) { return each.level >= level; });
        if (used_ + weight <= limit_ && (!others_wait || made_.barges)) {
            grant({id, weight, level});
        } else if (weight > limit_) {
            return;
        } else if (waiting_.size() < max_waiting_) {
            waiting_.push_back({id, weight, level});
        } else if (const auto least = least_important(); waiting_[least].level < level) {
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(least));
            waiting_.push_back({id, weight, level});
        }
    }
    void cancel(int id) {
        const auto is_it = [&](const one& each) { return each.id == id; };
        if (std::any_of(waiting_.begin(), waiting_.end(), is_it)) {
            if (!made_.cancelled_ones_keep_their_place) {
                std::erase_if(waiting_, is_it);
            }
            if (!made_.forgets_followers_on_cancel) {
                serve();
            }
        }
    }
    void give_back(int id) {
        const auto is_it = [&](const one& each) { return each.id == id; };
        const auto held = std::find_if(holders_.begin(), holders_.end(), is_it);
        used_ -= made_.forgets_the_weight ? 1 : held->weight;
        holders_.erase(held);
        serve();
    }
    void resize(std::size_t limit) {
        limit_ = limit;
        std::erase_if(waiting_, [&](const one& each) { return each.weight > limit; });
        serve();
    }

    // In the order in which they got their places.
    std::vector<int> holders() const {
        std::vector<int> ids;
        for (const one& each : holders_) {
            ids.push_back(each.id);
        }
        return ids;
    }

private:
    struct one {
        int id;
        std::size_t weight;
        weir::priority level;
    };

    void grant(const one& waiter) {
        used_ += waiter.weight;
        holders_.push_back(waiter);
    }
    std::size_t least_important() const {
        std::size_t found = 0;
        for (std::size_t i = 1; i < waiting_.size(); ++i) {
            found = waiting_[i].level <= waiting_[found].level ? i : found;
        }
        return found;
    }
    void serve() {
        for (;;) {
            auto next = waiting_.end();
            for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
                const bool fits = used_ + each->weight <= limit_;
                if ((fits || !made_.lets_small_ones_overtake) &&
                    (next == waiting_.end() || each->level > next->level)) {
                    next = each;
                }
            }
            if (next == waiting_.end() || used_ + next->weight > limit_) {
                return;
            }
            grant(*next);
            waiting_.erase(next);
        }
    }

    std::size_t limit_;
    std::size_t max_waiting_;
    line_mistakes made_;
    std::size_t used_ = 0;
    std::vector<one> holders_;
    std::vector<one> waiting_;
};

}  // namespace flow_bulkhead
