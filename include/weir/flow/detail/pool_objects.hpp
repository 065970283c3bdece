// SPDX-License-Identifier: MIT
// The objects of a pool: which are idle, which are lent, and which are too old.
#pragma once

#include <weir/flow/decision/backoff.hpp>
#include <weir/flow/detail/pool_entry.hpp>
#include <weir/flow/pool_options.hpp>

#include <algorithm>
#include <cstddef>

namespace weir::detail {

// The limits of age among a pool's options. Without a clock: the caller passes the time.
class object_ages {
public:
    object_ages(const pool_options& options, bool has_check) noexcept;

    // Some option depends on how long an object has been idle, or when it last worked.
    bool tracks_idle_time() const noexcept { return tracks_idle_time_; }
    bool reports_leaks() const noexcept { return leak_after_ != pool_options::forever; }

    // The jitter is drawn from `random`. time_point::max() if lifetimes are not limited.
    clock::time_point end_of_lifetime(clock::time_point now,
                                      decision::random_source& random) const noexcept;
    clock::time_point leak_time(const pool_entry& lent) const noexcept;
    bool needs_check(const pool_entry& entry, clock::time_point now) const noexcept {
        return now - entry.known_good >= check_after_;
    }
    bool always_needs_check() const noexcept { return check_after_ == clock::duration::zero(); }
    bool needs_keep_alive(const pool_entry& idle, clock::time_point now) const noexcept;
    bool is_idle_too_long(const pool_entry& idle, clock::time_point now) const noexcept;
    // When an idle object has to be looked at. Ignores an idle timeout that has passed: min_idle
    // keeps that object.
    clock::time_point next_due(const pool_entry& idle, clock::time_point now) const noexcept;

private:
    clock::duration check_after_;
    clock::duration max_lifetime_;
    double lifetime_jitter_;
    clock::duration idle_timeout_;
    clock::duration keep_alive_;
    clock::duration leak_after_;
    bool tracks_idle_time_;
};

// The object that was returned last is last.
class idle_objects {
public:
    idle_objects(const pool_options& options, const object_ages& ages) noexcept
        : ages_(ages),
          least_(options.min_idle),
          newest_first_(options.order == idle_order::newest_first) {}

    bool empty() const noexcept { return list_.empty(); }
    std::size_t size() const noexcept { return list_.size(); }
    bool is_short() const noexcept { return list_.size() < least_; }  // fewer than min_idle
    std::size_t least() const noexcept { return least_; }

    // There must be one.
    pool_entry& take_next() noexcept {
        pool_entry& next = newest_first_ ? list_.back() : list_.front();
        list_.remove(next);
        return next;
    }
    pool_entry& take_oldest() noexcept {
        pool_entry& oldest = list_.front();
        list_.remove(oldest);
        return oldest;
    }
    void undo_take_next(pool_entry& taken) noexcept {
        newest_first_ ? list_.push_back(taken) : list_.push_front(taken);
    }
    void add(pool_entry& returned) noexcept { list_.push_back(returned); }
    // An object that was checked, not used, keeps its place.
    void add_in_order(pool_entry& entry) noexcept {
        if (!list_.empty() && entry.since < list_.back().since) {
            list_.push_front(entry);
        } else {
            list_.push_back(entry);
        }
    }

    struct due_entry {
        pool_entry* entry = nullptr;  // taken out of the list; null: none is due
        bool is_expired = false;      // it is to be closed; else it is to be checked
        clock::time_point next = clock::time_point::max();  // when the others have to be looked at
    };
    due_entry take_due(clock::time_point now) noexcept;

private:
    const object_ages& ages_;
    pool_list list_;
    std::size_t least_;
    bool newest_first_;
};

// The object that was lent last is last.
class lent_objects {
public:
    explicit lent_objects(const pool_options& options, const object_ages& ages) noexcept
        : ages_(ages), max_uses_(options.max_uses) {}

    bool empty() const noexcept { return list_.empty(); }
    std::size_t size() const noexcept { return list_.size(); }
    void add(pool_entry& taken, const std::source_location& where) noexcept {
        list_.push_back(taken);
        taken.taken = where;
    }
    // The task that it is lent to goes on with it.
    void count_use(pool_entry& lent) const noexcept {
        if (++lent.uses >= max_uses_) [[unlikely]] {
            lent.is_retired = true;
        }
    }
    void remove(pool_entry& returned) noexcept { list_.remove(returned); }
    template <class Visitor>
    void each(Visitor visit) {
        list_.each(visit);
    }
    void retire_all() noexcept {
        list_.each([](pool_entry& held) { held.is_retired = true; });
    }

    struct leak {
        pool_entry* entry = nullptr;                        // marked as reported; null: none
        clock::time_point next = clock::time_point::max();  // when the others have to be looked at
    };
    // Marks objects at the end of their lifetime, and finds one that is lent for too long.
    leak find_leak(clock::time_point now) noexcept;

private:
    const object_ages& ages_;
    pool_list list_;
    std::size_t max_uses_;
};

}  // namespace weir::detail
