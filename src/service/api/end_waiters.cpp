// SPDX-License-Identifier: MIT
// A waiter is found by the number of its task, so that a change costs the same however many wait.
// Setting the event of a waiter only schedules its fiber: no waiter leaves the map meanwhile.

#include "service/api/end_waiters.hpp"

#include "service/engine/wall_clock.hpp"

#include <chrono>

namespace weir::service::detail {

void end_waiters::changed(std::span<const task_event> events) noexcept {
    if (waiting_.empty()) {
        return;
    }
    for (const task_event& each : events) {
        if (is_final(state_of(each.view))) {
            end(each.id);
        }
    }
}

void end_waiters::ended_elsewhere(std::span<const task_end> ends) noexcept {
    if (waiting_.empty()) {
        return;
    }
    for (const auto& [id, state] : ends) {
        end(id);
    }
}

void end_waiters::end(task_id id) noexcept {
    const auto [first, last] = waiting_.equal_range(id.number());
    for (auto found = first; found != last; ++found) {
        found->second->is_over_.set();
    }
}

void end_waiters::add_interest(news_interest& to) {
    constexpr clock::duration kept = std::chrono::seconds(5);
    const clock::time_point now = weir::now();
    if (!waiting_.empty()) {
        last_wait_ = now;
    }
    to.ends = to.ends || (last_wait_ != clock::time_point::min() && now < last_wait_ + kept);
}

void end_waiters::release_all() noexcept {
    for (const auto& [number, each] : waiting_) {
        each->is_over_.set();
    }
}

task<> end_waiters::waiter::wait(clock::duration limit) {
    return wait_until(is_over_, weir::now() + limit);
}

}  // namespace weir::service::detail
