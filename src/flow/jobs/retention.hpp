// SPDX-License-Identifier: MIT
// retention: finished entries, oldest first, kept up to a number and an age.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <deque>
#include <utility>

namespace weir::detail {

template <class Entry, class Time>
class retention {
public:
    retention(std::size_t most, clock::duration keep_for) noexcept
        : most_(most), keep_for_(keep_for) {}

    void add(Entry entry, Time finished_at) { kept_.push_back({std::move(entry), finished_at}); }
    bool is_too_old(Time finished_at, Time now) const { return now - finished_at >= keep_for_; }
    // The oldest entry exceeds the number or the age.
    bool has_surplus(Time now) const {
        return !kept_.empty() &&
               (kept_.size() > most_ || is_too_old(kept_.front().finished_at, now));
    }
    const Entry& oldest() const noexcept { return kept_.front().entry; }
    Entry take_oldest() {
        Entry taken = std::move(kept_.front().entry);
        kept_.pop_front();
        return taken;
    }
    std::size_t size() const noexcept { return kept_.size(); }
    bool empty() const noexcept { return kept_.empty(); }

private:
    struct kept_entry {
        Entry entry;
        Time finished_at;
    };

    std::size_t most_;
    clock::duration keep_for_;
    std::deque<kept_entry> kept_;
};

}  // namespace weir::detail
