// SPDX-License-Identifier: MIT
// The lines of the model: locks, a semaphore and a queue, first come, first served.
//
// A fiber that is granted what it waits for has a claim on it, which it takes up when its turn
// comes. If a stop comes first, the claim goes to the next in line.
#pragma once

#include "fiber_machine.hpp"

#include <deque>

namespace model {

// Something of which so many are free, and the fibers that wait for one.
struct line {
    int free = 0;
    bool keeps_order = false;  // newcomers wait while a fiber that was granted one has not gone on
    std::vector<int> waiting{};
    std::vector<int> granted{};

    bool try_take() {
        if (free == 0 || (keeps_order && !(waiting.empty() && granted.empty()))) {
            return false;
        }
        --free;
        return true;
    }
};

class line_machine : public fiber_machine {
public:
    line_machine(const program& executed, choices& order, const trace* searched, fault broken)
        : fiber_machine(executed, order, searched, broken) {
        locks_[0].free = locks_[1].free = 1;
        locks_[2].free = 2;
        locks_[2].keeps_order = true;
        room_.free = 1;
    }

protected:
    ~line_machine() = default;

    static bool is_in_line(const node& here) {
        return here.what == kind::lock || here.what == kind::get || here.what == kind::put;
    }
    line& line_of(const node& here) {
        return here.what == kind::get   ? items_
               : here.what == kind::put ? room_
                                        : locks_[static_cast<std::size_t>(here.variant)];
    }

    void begin_line(fiber& on, const node& part) {
        set_deadline(part.id, part.time);
        if (order_.choose(2) == 0) {
            enter_line(on);
        } else {  // an operation may yield before it begins
            on.stack.back().is_queued = true;
            wake(on, {});
        }
    }
    // The turn of a fiber that waited, or was made to yield.
    void resume_in_line(fiber& on) {
        frame& top = on.stack.back();
        if (std::exchange(top.is_queued, false)) {
            enter_line(on);
            return;
        }
        line& waited = line_of(*top.at);
        std::erase(waited.granted, id_of(on));
        grant_free(waited);
        take(on);
    }
    void call_off(fiber& on) override {
        if (const node& here = *on.stack.back().at; is_in_line(here)) {
            std::erase(line_of(here).waiting, id_of(on));
        }
    }
    // A stop destroys the innermost frame: it gives back what it has, or has a claim on.
    void leave_line(fiber& on) {
        const frame& top = on.stack.back();
        line& left = line_of(*top.at);
        const bool has_claim = std::erase(left.granted, id_of(on)) > 0;
        if (top.stage == 1 || (has_claim && broken_ != fault::claim_is_lost)) {
            give(left);
            grant_free(left);
        }
    }
    void give(line& to) {
        if (to.waiting.empty()) {
            ++to.free;
        } else {
            grant_first(to);
        }
    }

private:
    void enter_line(fiber& on) {
        line& entered = line_of(*on.stack.back().at);
        if (entered.try_take()) {
            take(on);
        } else {
            entered.waiting.push_back(id_of(on));
            wait(on, waiting::plainly);
        }
    }
    void grant_first(line& in) {
        const int first = in.waiting.front();
        in.waiting.erase(in.waiting.begin());
        in.granted.push_back(first);
        wake(at(first), {});
    }
    // Those that queued up behind a claim get what is free.
    void grant_free(line& in) {
        for (; in.keeps_order && in.free > 0 && !in.waiting.empty(); --in.free) {
            grant_first(in);
        }
    }
    void take(fiber& on) {
        frame& top = on.stack.back();
        const node& here = *top.at;
        if (here.what == kind::lock) {
            top.stage = 1;
            forget_deadline(here.id);
            begin(on, here.parts[0]);
        } else if (here.what == kind::put) {
            stored_.push_back(here.id);
            give(items_);
            finish(on, value(here.id));
        } else {
            const int item = stored_.front();
            stored_.pop_front();
            give(room_);
            finish(on, value(item));
        }
    }

    line locks_[3];
    line items_;  // of the queue
    line room_;   // in the queue
    std::deque<int> stored_;
};

}  // namespace model
