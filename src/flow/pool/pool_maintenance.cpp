// SPDX-License-Identifier: MIT
// What a pool does by itself, as time goes by.
//
// There is one timer, armed for the earliest thing that can fall due: the end of somebody's wait,
// an idle timeout, a keep-alive, the end of a lifetime, a lease that is out for too long, the next
// connect after a failure. When nothing can, none is armed. It may fire too early, because what it
// was armed for has happened otherwise meanwhile; then it is armed anew.

#include "base/source_place.hpp"

#include <weir/flow/detail/pool_work.hpp>
#include <weir/loop.hpp>

#include <algorithm>
#include <cstdio>

namespace weir::detail {

void pool_core::bind() noexcept {
    if (home != nullptr || loop_ != 0) {
        return;
    }
    loop* here = loop::current_or_null();
    if (here == nullptr) {
        return;
    }
    register_at(*here);
    loop_ = here->id();
    if (options_.seed == 0) {
        random_ = decision::random_source(here->fresh_seed());
    }
}

clock::time_point pool_core::time() noexcept {
    if (home != nullptr) {
        return static_cast<loop*>(home)->now();
    }
    loop* here = loop::current_or_null();
    return here != nullptr ? here->now() : clock::time_point();
}

void pool_core::wake_at(clock::time_point when) noexcept {
    if (when >= wakes_at_ || home == nullptr) {
        return;
    }
    auto& at = static_cast<loop&>(*home);
    if (is_armed()) {
        at.disarm(*this);
    }
    wakes_at_ = when;
    at.arm(*this, when);
}

void pool_core::fire() noexcept {
    retain();
    wakes_at_ = clock::time_point::max();
    const clock::time_point now = time();
    expire_waiters(now);
    age_lent(now);
    age_idle(now);
    pump();
    release();
}

void pool_core::expire_waiters(clock::time_point now) noexcept {
    while (waiting_ > 0) {
        const auto& first = static_cast<pool_waiter&>(wait_list::at(waiters_.first_waiting()));
        if (first.deadline_ > now) {
            wake_at(first.deadline_);
            return;
        }
        ++counted_.wait_timeouts;
        refuse_first({refusal_reason::wait_too_long, {}});
        tell("wait_timeout");
    }
}

void pool_core::age_lent(clock::time_point now) noexcept {
    const pool_entry* leaked = nullptr;
    do {
        leaked = nullptr;
        lent_.each([&](pool_entry& held) {
            if (held.expires <= now) {
                held.is_retired = true;
            } else {
                wake_at(held.expires);
            }
            if (!looks_for_leaks_ || held.is_reported || leaked != nullptr) {
                return;
            }
            const clock::time_point late = after(held.since, options_.leak_after);
            if (late > now) {
                wake_at(late);
                return;
            }
            held.is_reported = true;
            leaked = &held;
        });
        if (leaked != nullptr) {
            ++counted_.leaks;
            tell("lease_held_too_long", std::chrono::duration<double>(now - leaked->since).count());
            report_held(*leaked);
        }
    } while (leaked != nullptr);
}

void pool_core::report_held(const pool_entry& held) noexcept {
    auto* at = static_cast<loop*>(home);
    if (at == nullptr) {
        return;
    }
    std::string message = name_ + ": an object is still lent";
    if (looks_for_leaks_) {
        char seconds[64];
        std::snprintf(seconds, sizeof seconds, " after %g s",
                      std::chrono::duration<double>(time() - held.since).count());
        message += seconds;
    }
    message += "; it was taken at " + describe_place(held.taken);
    at->tell({report_kind::long_lease, std::move(message), nullptr, {}, {}});
}

// When something has to be done about an idle object. An idle timeout that has passed is not
// counted: min_idle keeps the object.
clock::time_point pool_core::due(const pool_entry& idle, clock::time_point now) const noexcept {
    clock::time_point earliest = idle.expires;
    if (options_.keep_alive != pool_options::forever) {
        earliest = std::min(earliest, after(idle.known_good, options_.keep_alive));
    }
    if (options_.idle_timeout != pool_options::forever) {
        const clock::time_point end = after(idle.since, options_.idle_timeout);
        if (end > now) {
            earliest = std::min(earliest, end);
        }
    }
    return earliest;
}

bool pool_core::is_overdue(const pool_entry& idle, clock::time_point now) const noexcept {
    if (idle.expires <= now) {
        return true;
    }
    return options_.idle_timeout != pool_options::forever && idle_.size() > min_idle_ &&
           now - idle.since >= options_.idle_timeout;
}

// One at a time, from the start, since closing and checking call the user's functions.
void pool_core::age_idle(clock::time_point now) noexcept {
    const auto needs_keeping = [&](const pool_entry& idle) {
        return options_.keep_alive != pool_options::forever &&
               now - idle.known_good >= options_.keep_alive;
    };
    pool_entry* next = nullptr;
    do {
        next = nullptr;
        idle_.each([&](pool_entry& idle) {
            if (next == nullptr && (is_overdue(idle, now) || needs_keeping(idle))) {
                next = &idle;
            } else {
                wake_at(due(idle, now));
            }
        });
        if (next != nullptr) {
            const bool is_over = is_overdue(*next, now);
            idle_.remove(*next);
            if (is_over) {
                retire(*next);
            } else {
                keep_alive(*next);
            }
        }
    } while (next != nullptr);
}

void pool_core::keep_alive(pool_entry& idle) noexcept {
    switch (check_now(idle)) {
        case check_result::good:
            idle.known_good = time();
            put_idle(idle);
            return;
        case check_result::bad:
            ++counted_.check_failures;
            tell("check_failed");
            retire(idle);
            return;
        case check_result::takes_time:
            start_check(idle);
            return;
    }
}

void pool_core::stamp_idle(pool_entry& returned) noexcept {
    returned.since = returned.known_good = time();
    wake_at(due(returned, returned.since));
}

void pool_core::stamp_lent(pool_entry& taken) noexcept {
    taken.since = time();
    taken.is_reported = false;
    wake_at(after(taken.since, options_.leak_after));
}

// Objects made ahead are not worth a storm of connects: they wait a second at least.
void pool_core::back_off() noexcept {
    const auto grown = [this](clock::duration first, clock::duration most) {
        const auto doublings = std::min<std::size_t>(failures_ - 1, 62);
        return first.count() > (most.count() >> doublings)
                   ? most
                   : clock::duration(first.count() << doublings);
    };
    const clock::duration most = options_.max_connect_backoff;
    const clock::duration least = std::max<clock::duration>(most, std::chrono::seconds(1));
    const clock::duration wait = grown(options_.connect_backoff, most);
    const clock::time_point now = time();
    next_connect_ = after(now, wait);
    next_refill_ = after(now, std::max(wait, grown(std::chrono::seconds(1), least)));
}

void pool_core::tell(std::string_view what, double value) noexcept {
    if (options_.observer != nullptr && !is_orphaned_) {
        options_.observer->on_event(
            {.kind = "pool", .name = name_, .what = what, .at = time(), .value = value});
    }
}

}  // namespace weir::detail
