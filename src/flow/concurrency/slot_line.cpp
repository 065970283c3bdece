// SPDX-License-Identifier: MIT
// How the line for slots moves.
//
// serve() is the only function that grants slots to waiters. It runs whenever a grant may have
// become possible: slots were released, the limit grew, or a waiter left the line because it was
// cancelled or timed out. So no waiter waits for slots that are free.

#include <weir/flow/detail/slot_line.hpp>
#include <weir/timeout.hpp>

namespace weir::detail {

bool slot_wait::ready() noexcept {
    if (from_->take(weight_, level_)) {
        return true;
    }
    if (from_->must_refuse(*this)) {
        ++from_->stats_.refused;
        state_ = wait_state::refused;
        return true;
    }
    return false;
}

bool slot_wait::start() noexcept {
    if (from_->waiting_ >= from_->max_waiting_) {
        from_->displace_one();
    }
    if (!from_->line_of(level_).enter(*this, from_->newest_first_)) {
        return false;
    }
    ++from_->waiting_;
    if (from_->max_wait_ != clock::duration::max()) {
        static_cast<loop&>(waiter().home()).arm(*this, after(since_, from_->max_wait_));
    }
    return true;
}

bool slot_wait::cancel() noexcept {
    abandon();
    state_ = wait_state::idle;
    return true;
}

bool slot_wait::finish() {
    if (state_ == wait_state::idle) {
        return true;
    }
    const wait_state end = std::exchange(state_, wait_state::idle);
    if (end == wait_state::refused) {
        return false;
    }
    if (end != wait_state::granted) {
        throw_wait_error(end, "bulkhead");
    }
    from_->line_of(level_).remove_granted(*this);
    return true;
}

void slot_wait::fire() noexcept {
    slot_line& line = *from_;
    ++line.stats_.timed_out;
    refuse({.reason = refusal_reason::wait_too_long});
    line.serve();
}

void slot_wait::disarm() noexcept {
    if (is_armed()) {
        static_cast<loop&>(waiter().home()).disarm(*this);
    }
}

// Ends the wait with a refusal.
void slot_wait::refuse(const refusal& why) noexcept {
    from_->leave(*this);
    ++from_->stats_.refused;
    why_ = why;
    state_ = wait_state::refused;
    complete_on(waiter().home());
}

// The fiber is stopped: gives up its place in the line, or its grant.
void slot_wait::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        ++from_->stats_.cancelled;
        from_->leave(*this);
        from_->serve();
    } else if (state_ == wait_state::granted) {
        ++from_->stats_.cancelled;
        from_->line_of(level_).remove_granted(*this);
        from_->undo_grant(time_waited_);
        from_->give_back(weight_);
    }
}

bool slot_line::is_behind_others(weir::priority level) const noexcept {
    const std::size_t first_ahead = static_cast<std::size_t>(level) + (newest_first_ ? 1 : 0);
    for (std::size_t each = first_ahead; each < levels; ++each) {
        if (lines_[each].has_waiting()) {
            return true;
        }
    }
    return false;
}

bool slot_line::must_refuse(slot_wait& waiter) noexcept {
    if (max_waiting_ == 0 || max_wait_ == clock::duration::zero() ||
        waiter.weight_ > limit_for(waiter.level_)) {
        waiter.why_ = refusal_for(waiter.weight_, waiter.level_);
        return true;
    }
    waiter.since_ = weir::now();
    if (current_deadline() <= waiter.since_) {
        waiter.why_ = {.reason = refusal_reason::past_deadline};
        return true;
    }
    if (waiting_ >= max_waiting_ && !can_displace(waiter.level_)) {
        waiter.why_ = {.reason = refusal_reason::queue_full};
        return true;
    }
    return false;
}

bool slot_line::can_displace(weir::priority level) const noexcept {
    const std::size_t end = static_cast<std::size_t>(level) + (newest_first_ ? 1 : 0);
    for (std::size_t each = 0; each < end; ++each) {
        if (lines_[each].has_waiting()) {
            return true;
        }
    }
    return false;
}

// Refuses the waiter of the lowest priority that would be served last.
void slot_line::displace_one() noexcept {
    for (wait_list& line : lines_) {
        if (line.has_waiting()) {
            ++stats_.displaced;
            static_cast<slot_wait&>(wait_list::at(line.last()))
                .refuse({.reason = refusal_reason::displaced});
            return;
        }
    }
}

void slot_line::leave(slot_wait& gone) noexcept {
    gone.disarm();
    line_of(gone.level_).remove(gone);
    --waiting_;
}

void slot_line::serve() noexcept {
    clock::time_point now{};  // read when needed
    for (std::size_t level = levels; level > 0 && waiting_ != 0; --level) {
        wait_list& line = lines_[level - 1];
        while (line.has_waiting()) {
            auto& first = static_cast<slot_wait&>(wait_list::at(line.first_waiting()));
            if (!fits(first.weight_, first.level_)) {
                return;
            }
            first.disarm();
            hold(first.weight_);
            ++stats_.waited;
            if (now == clock::time_point{}) {
                now = static_cast<loop&>(first.waiter().home()).now();
            }
            first.time_waited_ = now - first.since_;
            stats_.time_waited += first.time_waited_;
            --waiting_;
            line.grant_first();
        }
    }
}

void slot_line::set_limit(std::size_t limit, std::size_t reserved) noexcept {
    const std::size_t limit_before = limit_;
    const std::size_t for_all_before = for_all_;
    limit_ = limit;
    set_reserved(reserved);
    const bool is_smaller = limit_ < limit_before || for_all_ < for_all_before;
    if (waiting_ == 0) {
        return;
    }
    if (is_smaller) {
        refuse_too_large();
    }
    serve();
}

void slot_line::refuse_too_large() noexcept {
    for (wait_list& line : lines_) {
        if (!line.has_waiting()) {
            continue;
        }
        wait_link* each = &line.first_waiting();
        const wait_link* last = &line.last();
        for (bool is_last = false; !is_last;) {
            auto& waiting = static_cast<slot_wait&>(wait_list::at(*each));
            is_last = each == last;
            each = each->next();
            if (waiting.weight_ > limit_for(waiting.level_)) {
                waiting.refuse(refusal_for(waiting.weight_, waiting.level_));
            }
        }
    }
}

slot_stats slot_line::stats() const noexcept {
    slot_stats now = stats_;
    now.limit = limit_;
    now.in_use = used_;
    now.waiting = waiting_;
    return now;
}

void slot_line::close() noexcept {
    for (wait_list& line : lines_) {
        while (line.has_waiting()) {
            static_cast<slot_wait&>(wait_list::at(line.first_waiting())).disarm();
            line.release_first(wait_state::orphaned);
        }
        line.orphan();
    }
}

}  // namespace weir::detail
