// SPDX-License-Identifier: MIT
// One object of a pool and what the pool knows about it.
#pragma once

#include <weir/base/wait_list.hpp>
#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace weir::detail {

class pool_core;

// In the list of idle or of lent objects, or in none while a task of the pool works on it.
struct pool_entry : wait_link {
    explicit pool_entry(pool_core* owner) noexcept : home(owner) {}
    pool_entry(const pool_entry&) = delete;
    pool_entry& operator=(const pool_entry&) = delete;

    pool_core* home;
    std::source_location taken;  // where it was last requested
    std::size_t uses = 0;
    std::uint64_t generation = 0;                          // of the pool when it was connected
    clock::time_point expires = clock::time_point::max();  // the end of its lifetime
    clock::time_point since;       // idle since, or lent since; kept only where an option needs it
    clock::time_point known_good;  // connected, checked or given back; likewise
    bool is_retired = false;       // to be closed when it is returned
    bool is_reported = false;      // as a lease that is held for too long

protected:
    ~pool_entry() = default;  // only the typed pool destroys it
};

// A list that counts.
class pool_list {
public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }
    pool_entry& front() noexcept { return entries_.front(); }
    pool_entry& back() noexcept { return entries_.back(); }
    void push_back(pool_entry& last) noexcept {
        entries_.push_back(last);
        ++count_;
    }
    void push_front(pool_entry& first) noexcept {
        entries_.push_front(first);
        ++count_;
    }
    void remove(pool_entry& gone) noexcept {
        entries_.remove(gone);
        --count_;
    }
    // The visitor may remove the entry that it is given, and no other.
    template <class Visitor>
    void each(Visitor visit) {
        for (auto at = entries_.begin(); at != entries_.end();) {
            visit(*at++);
        }
    }

private:
    intrusive_list<pool_entry> entries_;
    std::size_t count_ = 0;
};

}  // namespace weir::detail
