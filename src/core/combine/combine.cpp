// SPDX-License-Identifier: MIT
// The waiting fiber is parked in the boundary and woken when enough of the others have ended. Until
// the outcome is decided, a stop may reach it there: the walk arrives, finds no frame below, and is
// held here while the fibers are cancelled. Passing it on happens in the waiter's own turn, not
// inside the call that requests the stop, so that nested combinators use no stack and cycles do no
// harm.

#include <weir/detail/combine.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>

namespace weir::detail {

// ---- combined -----------------------------------------------------------------------------------

next_step combined::advance(fiber& on) noexcept {
    if (!is_complete()) {
        const bool decided = failure_ != nullptr || held_.is_held();
        if (!decided && on.has(stop_pending)) {
            return next_step::walk_on();
        }
        waiter_ = &on;
        if (decided) {
            on.clear(is_stoppable);
        } else {
            on.raise(is_stoppable);
        }
        on.raise(is_parked);
        return next_step::suspended();
    }
    const bool has_waited = std::exchange(waiter_, nullptr) != nullptr;
    if (beats_stop(failure_)) {
        held_.settle_for_error(on);
        return return_to_parent(*this, on);
    }
    if (held_.is_held()) {
        return held_.go_on(*this, on);
    }
    if (has_waited &&
        on.has(stop_pending)) {  // stop beats value; without a wait, there was no place for it
        return let_pass(*this, on);
    }
    return return_to_parent(*this, on);
}

next_step combined::stopped(fiber& on, walk& stop) noexcept {
    held_.hold(stop.target, true);
    cancel_rest(stop_reason(on, stop.target));
    return advance(on);
}

void combined::fail(fiber& ended) noexcept {
    failure_ = error_or_cancellation(ended);
    held_.note_error(ended);
}

void combined::look() noexcept {
    if (waiter_ == nullptr) {
        return;
    }
    if (failure_ != nullptr) {
        waiter_->clear(is_stoppable);
    }
    if (is_complete()) {
        waiter_->home().unpark(*waiter_);
    }
}

// ---- fan_out ------------------------------------------------------------------------------------

namespace {
constexpr boundary_table race_table = [] {
    boundary_table table = table_of<fan_out>;
    table.name = "race";
    return table;
}();
}  // namespace

fan_out::fan_out(goal aim)
    : combined(aim == goal::first_value ? race_table : table_of<fan_out>),
      group_(make_group(loop::current())),
      goal_(aim) {
    group_->observer = this;
    group_->owner = this_thread.running;
    group_->inside = this_thread.running != nullptr ? this_thread.running->scopes : nullptr;
}

fan_out::~fan_out() {
    group_->observer = nullptr;
    group_->is_closed = true;
    release_group(group_);
}

void fan_out::cancel_rest(std::string_view reason) noexcept {
    group_->is_aborting = true;
    for (fiber& each : group_->children) {
        cancel_fiber(each, reason);
    }
}

void fan_out::give_up(std::exception_ptr error) noexcept {
    failure_ = std::move(error);
    cancel_rest({});
}

void fan_out::child_ended(fiber& ended) noexcept {
    const bool failed = ended.has(is_failed);
    const bool is_cleanup = group_->is_aborting;  // its stop was requested; its result is secondary
    ended.raise(is_retrieved);
    if (goal_ == goal::values) {
        if (failure_ == nullptr && (failed || (ended.has(is_cancelled) && !is_cleanup))) {
            fail(ended);
            if (!is_cleanup) {
                cancel_rest({});
            }
            look();
            return;
        }
    } else if (goal_ == goal::first_value && !is_cleanup && !failed && !ended.has(is_cancelled)) {
        winner_ = &ended;
        cancel_rest({});
    }
    if (failed && is_cleanup && goal_ != goal::outcomes) {
        const std::exception_ptr error = fiber_error(ended);
        static_cast<loop&>(ended.home())
            .tell({report_kind::suppressed_error,
                   "task " + fiber_name(ended) +
                       " failed while it was being stopped: " + describe(error),
                   error,
                   any_handle(ended),
                   {}});
    }
    look();
}

// ---- fan_in -------------------------------------------------------------------------------------

fan_in::fan_in(goal aim, std::size_t count)
    : combined(table_of<fan_in>), watches_(new member_watch[count]), goal_(aim) {}

void fan_in::add(fiber& watched) {
    const bool ended = watched.has(is_done);
    if (const join_mistake mistake = check_join(watched); mistake != join_mistake::none && !ended) {
        throw_join_mistake(mistake);
    }
    member_watch& watch = watches_[count_++];
    watch.assign(watched);
    watched.raise(is_retrieved);
    if (ended) {
        note(watched);
    } else {
        watch.link_for(*this);
        ++remaining_;
    }
}

void fan_in::cancel_rest(std::string_view reason) noexcept {
    for (std::size_t at = 0; at < count_; ++at) {
        if (watches_[at].is_linked()) {
            cancel_fiber(watches_[at].target(), reason);
        }
    }
}

void fan_in::member_ended(member_watch& ended) noexcept {
    --remaining_;
    note(ended.target());
    look();
}

void fan_in::note(fiber& ended) noexcept {
    if (goal_ != goal::values || is_over_) {
        return;
    }
    const bool cancelled = ended.has(is_cancelled);
    if (ended.has(is_failed) || (cancelled && !is_stopping())) {
        fail(ended);
        is_over_ = true;
    } else if (cancelled) {
        is_over_ = true;  // the stop has been answered
    }
}

// ---- results ------------------------------------------------------------------------------------

std::exception_ptr error_or_cancellation(fiber& ended) {
    if (ended.has(is_failed)) {
        ended.raise(is_retrieved);
        return fiber_error(ended);
    }
    return std::make_exception_ptr(cancelled(stop_reason(ended)));
}

}  // namespace weir::detail
