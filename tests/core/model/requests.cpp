// SPDX-License-Identifier: MIT
// Rules 1 to 3 of docs/design.md, "Stops: one rule for all boundaries": pending, held off,
// delivered.

#include "requests.hpp"

#include <algorithm>

namespace model {

frame* stop_state::find(int id) {
    for (frame& each : stack) {
        if (each.at->id == id) {
            return &each;
        }
    }
    return nullptr;
}

bool stop_state::add(const request& made) {
    const auto same = std::find_if(pending_.begin(), pending_.end(),
                                   [&](const request& each) { return each.target == made.target; });
    if (same != pending_.end()) {
        *same = merge(*same, made);
    } else {
        pending_.push_back(made);
    }
    return place(made.target) >= outermost();
}

void stop_state::add_again(const request& older) {
    for (request& each : pending_) {
        if (each.target == older.target) {
            each = merge(older, each);
            return;
        }
    }
    pending_.push_back(older);
}

void stop_state::drop(int target) {
    std::erase_if(pending_, [&](const request& each) { return each.target == target; });
}

std::size_t stop_state::place(int target) const {
    for (std::size_t each = stack.size(); each > 0; --each) {
        if (stack[each - 1].at->id == target) {
            return each;
        }
    }
    return 0;
}

std::size_t stop_state::outermost() const {
    for (std::size_t each = stack.size(); each > 0; --each) {
        if (stack[each - 1].is_shield) {
            return each + 1;
        }
    }
    return 0;
}

std::optional<request> stop_state::deliverable() const {
    if (pending_.empty()) {
        return {};
    }
    const std::size_t limit = outermost();
    std::optional<request> found;
    std::size_t found_at = 0;
    for (const request& each : pending_) {
        const std::size_t at = place(each.target);
        if (at >= limit && (!found || at < found_at)) {
            found = each;
            found_at = at;
        }
    }
    return found;
}

request stop_state::deliver(const std::optional<request>& on_its_way) {
    const std::optional<request> found = deliverable();
    request stop = on_its_way ? *on_its_way : *found;
    if (on_its_way && found) {
        if (found->target == stop.target) {
            stop = merge(stop, *found);
        } else if (place(found->target) < place(stop.target)) {
            stop = *found;
        }
    }
    const std::size_t limit = outermost();
    std::erase_if(pending_, [&](const request& each) { return place(each.target) >= limit; });
    return stop;
}

void stop_state::forget_reason() {
    for (request& each : pending_) {
        each.reason = each.target == request::whole_fiber ? 0 : each.reason;
    }
    for (frame& each : stack) {
        if (each.held && each.held->target == request::whole_fiber) {
            each.held->reason = 0;
        }
    }
}

void stop_state::note_answer(const request& stop) {
    if (frame* target = find(stop.target)) {
        target->has_answer = true;
    }
}

void stop_state::answer() {
    const std::size_t limit = outermost();
    std::erase_if(pending_, [&](const request& each) {
        const std::size_t at = place(each.target);
        if (at >= limit && at > 0) {
            stack[at - 1].has_answer = true;
        }
        return at >= limit;
    });
}

}  // namespace model
