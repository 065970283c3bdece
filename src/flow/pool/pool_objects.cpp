// SPDX-License-Identifier: MIT
// Both searches look at every object and return one at a time: closing or checking an object calls
// the user's functions, which may change the lists.

#include <weir/flow/detail/pool_objects.hpp>

namespace weir::detail {

object_ages::object_ages(const pool_options& options, bool has_check) noexcept
    : check_after_(options.check_after),
      max_lifetime_(options.max_lifetime),
      lifetime_jitter_(options.lifetime_jitter),
      idle_timeout_(options.idle_timeout),
      keep_alive_(options.keep_alive),
      leak_after_(options.leak_after),
      tracks_idle_time_(options.idle_timeout != pool_options::forever ||
                        options.keep_alive != pool_options::forever ||
                        (has_check && options.check_after > clock::duration::zero())) {}

clock::time_point object_ages::end_of_lifetime(clock::time_point now,
                                               decision::random_source& random) const noexcept {
    if (max_lifetime_ == pool_options::forever) {
        return clock::time_point::max();
    }
    const double share = 1 - lifetime_jitter_ * random.next_fraction();
    const auto lifetime = std::chrono::duration<double, std::nano>(
        static_cast<double>(max_lifetime_.count()) * share);
    return after(now, to_nanoseconds(lifetime));
}

clock::time_point object_ages::leak_time(const pool_entry& lent) const noexcept {
    return after(lent.since, leak_after_);
}

bool object_ages::needs_keep_alive(const pool_entry& idle, clock::time_point now) const noexcept {
    return keep_alive_ != pool_options::forever && now - idle.known_good >= keep_alive_;
}

bool object_ages::is_idle_too_long(const pool_entry& idle, clock::time_point now) const noexcept {
    return idle_timeout_ != pool_options::forever && now - idle.since >= idle_timeout_;
}

clock::time_point object_ages::next_due(const pool_entry& idle,
                                        clock::time_point now) const noexcept {
    clock::time_point earliest = idle.expires;
    if (keep_alive_ != pool_options::forever) {
        earliest = std::min(earliest, after(idle.known_good, keep_alive_));
    }
    if (idle_timeout_ != pool_options::forever) {
        const clock::time_point end = after(idle.since, idle_timeout_);
        if (end > now) {
            earliest = std::min(earliest, end);
        }
    }
    return earliest;
}

idle_objects::due_entry idle_objects::take_due(clock::time_point now) noexcept {
    due_entry found;
    list_.each([&](pool_entry& idle) {
        const bool is_expired =
            idle.expires <= now || (list_.size() > least_ && ages_.is_idle_too_long(idle, now));
        if (found.entry == nullptr && (is_expired || ages_.needs_keep_alive(idle, now))) {
            found.entry = &idle;
            found.is_expired = is_expired;
        } else {
            found.next = std::min(found.next, ages_.next_due(idle, now));
        }
    });
    if (found.entry != nullptr) {
        list_.remove(*found.entry);
    }
    return found;
}

lent_objects::leak lent_objects::find_leak(clock::time_point now) noexcept {
    leak found;
    list_.each([&](pool_entry& held) {
        if (held.expires <= now) {
            held.is_retired = true;
        } else {
            found.next = std::min(found.next, held.expires);
        }
        if (!ages_.reports_leaks() || held.is_reported || found.entry != nullptr) {
            return;
        }
        const clock::time_point late = ages_.leak_time(held);
        if (late > now) {
            found.next = std::min(found.next, late);
            return;
        }
        held.is_reported = true;
        found.entry = &held;
    });
    return found;
}

}  // namespace weir::detail
