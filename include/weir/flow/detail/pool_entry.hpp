// SPDX-License-Identifier: MIT
// One object of a pool, with what the pool knows about it.
#pragma once

#include <weir/base/wait_list.hpp>
#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace weir::detail {

class pool_core;

// In the list of the idle or of the lent ones, or in none while a task of the pool works on it.
struct pool_entry : wait_link {
    explicit pool_entry(pool_core& owner) noexcept : home(&owner) {}
    pool_entry(const pool_entry&) = delete;
    pool_entry& operator=(const pool_entry&) = delete;

    pool_core* home;
    std::source_location taken;  // where it was asked for, last
    std::size_t uses = 0;
    std::uint64_t generation = 0;                          // of the pool, when it was begun
    clock::time_point expires = clock::time_point::max();  // the end of its lifetime
    clock::time_point since;       // idle since, or lent since; kept only where an option needs it
    clock::time_point known_good;  // connected, checked or given back; likewise
    bool is_retired = false;       // to be closed when it comes back
    bool is_reported = false;      // as lent for too long

protected:
    ~pool_entry() = default;  // only the typed pool knows how
};

// A list that counts.
class pool_list {
public:
    pool_list() noexcept : ends_{&ends_, &ends_} {}
    pool_list(const pool_list&) = delete;
    pool_list& operator=(const pool_list&) = delete;

    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }
    pool_entry& front() noexcept { return static_cast<pool_entry&>(*ends_.next); }
    pool_entry& back() noexcept { return static_cast<pool_entry&>(*ends_.previous); }
    void push_back(pool_entry& last) noexcept { insert(last, *ends_.previous); }
    void push_front(pool_entry& first) noexcept { insert(first, ends_); }
    void remove(pool_entry& gone) noexcept {
        gone.previous->next = gone.next;
        gone.next->previous = gone.previous;
        --count_;
    }
    // The visitor may remove the entry that it is given, and no other.
    template <class Visitor>
    void each(Visitor visit) {
        for (wait_link *at = ends_.next, *next = nullptr; at != &ends_; at = next) {
            next = at->next;
            visit(static_cast<pool_entry&>(*at));
        }
    }

private:
    void insert(pool_entry& added, wait_link& after) noexcept {
        added.previous = &after;
        added.next = after.next;
        after.next->previous = &added;
        after.next = &added;
        ++count_;
    }

    wait_link ends_;
    std::size_t count_ = 0;
};

}  // namespace weir::detail
