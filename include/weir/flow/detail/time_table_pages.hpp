// SPDX-License-Identifier: MIT
// The rare paths of time_table: growing, splitting, shrinking and merging pages.
//
// The directory has 2^bits entries; a page whose hashes share their highest `depth` bits has the
// 2^(bits - depth) entries that begin with them. A page deeper than its directory doubles it.
#pragma once

#include <weir/flow/detail/time_table.hpp>

namespace weir::detail {

template <class Key, class Hash>
time_table<Key, Hash>::time_table(std::size_t max_keys, hash_seed seed, Hash hash)
    : max_keys_(max_keys), seed_(seed), hash_(std::move(hash)) {
    page first;
    pages_.reserve(1);
    directory_.resize(2);
    first.slots = allocate(first_capacity);
    first.capacity = first_capacity;
    pages_.push_back(first);
    publish(0);
}

template <class Key, class Hash>
auto time_table<Key, Hash>::allocate(std::uint32_t capacity) -> slot* {
    constexpr std::size_t line = std::max<std::size_t>(64, alignof(slot));
    void* memory = ::operator new(capacity * sizeof(slot), std::align_val_t(line));
    slot* slots = static_cast<slot*>(memory);
    std::uninitialized_default_construct_n(slots, capacity);
    return slots;
}

template <class Key, class Hash>
void time_table<Key, Hash>::release(page& gone) noexcept {
    constexpr std::size_t line = std::max<std::size_t>(64, alignof(slot));
    std::destroy_n(gone.slots, gone.capacity);
    ::operator delete(gone.slots, std::align_val_t(line));
}

// Requires that the key is absent and there is room.
template <class Key, class Hash>
void time_table<Key, Hash>::move_in(page& to, slot& from) noexcept {
    slot* at = to.slots + home(hash_in(from), to.capacity);
    while (at->time != absent) {
        if (++at == to.slots + to.capacity) {
            at = to.slots;
        }
    }
    at->move_from(from);
    ++to.used;
    to.earliest = std::min(to.earliest, at->time);
}

template <class Key, class Hash>
void time_table<Key, Hash>::move_all(page& to, page& from) noexcept {
    for (slot* each = from.slots; each != from.slots + from.capacity; ++each) {
        if (each->time != absent) {
            move_in(to, *each);
        }
    }
    release(from);
}

// Updates the directory for a page that is new or has changed.
template <class Key, class Hash>
void time_table<Key, Hash>::publish(std::uint32_t index) noexcept {
    const page& changed = pages_[index];
    const std::size_t count = std::size_t{1} << (bits_ - changed.depth);
    std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(changed.prefix * count), count,
                entry{changed.slots, changed.capacity, index});
}

// Closes the gap: later entries on a probe path across it move up.
template <class Key, class Hash>
void time_table<Key, Hash>::erase(page& in, slot* at) noexcept {
    std::destroy_at(&at->key);
    at->time = absent;
    --in.used;
    --used_;
    ++evicted_;
    const std::uint32_t size = in.capacity;
    auto gap = static_cast<std::uint32_t>(at - in.slots);
    for (std::uint32_t next = gap + 1 == size ? 0 : gap + 1; in.slots[next].time != absent;
         next = next + 1 == size ? 0 : next + 1) {
        const std::uint32_t wanted = home(hash_in(in.slots[next]), size);
        const std::uint32_t from_wanted = next >= wanted ? next - wanted : next + size - wanted;
        const std::uint32_t from_gap = next >= gap ? next - gap : next + size - gap;
        if (from_wanted >= from_gap) {
            in.slots[gap].move_from(in.slots[next]);
            gap = next;
        }
    }
}

// Returns the number of removed entries.
template <class Key, class Hash>
std::uint32_t time_table<Key, Hash>::clear_passed(page& in, std::int64_t now) noexcept {
    const std::uint32_t before = in.used;
    std::int64_t earliest = never;
    for (slot* at = in.slots; at != in.slots + in.capacity; ++at) {
        while (at->time != absent && at->time <= now) {
            erase(in, at);
        }
        if (at->time != absent) {
            earliest = std::min(earliest, at->time);
        }
    }
    in.earliest = earliest;
    return before - in.used;
}

template <class Key, class Hash>
void time_table<Key, Hash>::resize(std::uint32_t index, std::uint32_t capacity) {
    page changed = pages_[index];
    changed.slots = allocate(capacity);
    changed.capacity = capacity;
    changed.used = 0;
    move_all(changed, pages_[index]);
    pages_[index] = changed;
    publish(index);
}

template <class Key, class Hash>
void time_table<Key, Hash>::split(std::uint32_t index) {
    if (pages_[index].depth == bits_) {
        std::vector<entry> wider(directory_.size() * 2);
        for (std::size_t i = 0; i < wider.size(); ++i) {
            wider[i] = directory_[i / 2];
        }
        directory_ = std::move(wider);
        ++bits_;
        --shift_;
    }
    if (pages_.size() == pages_.capacity()) {
        pages_.reserve(pages_.size() * 2);
    }
    page full = pages_[index];
    page halves[2];
    for (unsigned which = 0; which < 2; ++which) {
        halves[which].prefix = full.prefix * 2 + which;
        halves[which].depth = full.depth + 1;
    }
    std::uint32_t count[2] = {0, 0};
    const auto half_of = [&](const slot& at) { return (hash_in(at) >> (63 - full.depth)) & 1; };
    for (slot* from = full.slots; from != full.slots + full.capacity; ++from) {
        if (from->time != absent) {
            ++count[half_of(*from)];
        }
    }
    for (unsigned which = 0; which < 2; ++which) {
        halves[which].capacity = std::max(page_capacity, fitting(count[which]));
    }
    halves[0].slots = allocate(halves[0].capacity);
    try {
        halves[1].slots = allocate(halves[1].capacity);
    } catch (...) {
        release(halves[0]);
        throw;
    }
    for (slot* from = full.slots; from != full.slots + full.capacity; ++from) {
        if (from->time != absent) {
            move_in(halves[half_of(*from)], *from);
        }
    }
    release(full);
    pages_[index] = halves[0];
    pages_.push_back(halves[1]);
    publish(index);
    publish(static_cast<std::uint32_t>(pages_.size() - 1));
}

// Joins a page with its other half if one page has room for both.
template <class Key, class Hash>
bool time_table<Key, Hash>::merge(std::uint32_t index) {
    page& left = pages_[index];
    if (left.depth == 0) {
        return false;
    }
    const std::size_t entries = std::size_t{1} << (bits_ - left.depth);
    const std::uint32_t other = directory_[(left.prefix ^ 1) * entries].page;
    page& right = pages_[other];
    const std::uint32_t capacity = fitting(left.used + right.used);
    if (right.depth != left.depth || capacity > page_capacity) {
        return false;
    }
    page both;
    both.prefix = left.prefix / 2;
    both.depth = left.depth - 1;
    both.capacity = capacity;
    both.slots = allocate(capacity);
    move_all(both, left);
    move_all(both, right);
    left = both;
    publish(index);
    const auto last = static_cast<std::uint32_t>(pages_.size() - 1);
    if (other != last) {
        pages_[other] = pages_[last];
        publish(other);
    }
    pages_.pop_back();
    return true;
}

template <class Key, class Hash>
void time_table<Key, Hash>::tidy(std::int64_t now) {
    hand_ = hand_ + 1 < pages_.size() ? hand_ + 1 : 0;
    const auto index = static_cast<std::uint32_t>(hand_);
    page& in = pages_[index];
    if (in.earliest <= now) {
        clear_passed(in, now);
    }
    if (in.used < in.capacity / 4 && !merge(index)) {
        const std::uint32_t capacity = fitting(in.used);
        if (capacity < in.capacity) {
            resize(index, capacity);
        }
    }
}

template <class Key, class Hash>
void time_table<Key, Hash>::tidy_all(std::int64_t now) {
    std::size_t before = 0;
    do {
        before = pages_.size();
        for (std::size_t left = before; left > 0; --left) {
            tidy(now);
        }
    } while (pages_.size() < before);
    unsigned deepest = 1;
    for (const page& each : pages_) {
        deepest = std::max(deepest, each.depth);
    }
    std::vector<entry> narrower(std::size_t{1} << deepest);
    for (std::size_t i = 0; i < narrower.size(); ++i) {
        narrower[i] = directory_[i << (bits_ - deepest)];
    }
    directory_ = std::move(narrower);
    bits_ = deepest;
    shift_ = 64 - deepest;
    pages_.shrink_to_fit();
}

// Makes room for one more entry in the page of this hash.
template <class Key, class Hash>
bool time_table<Key, Hash>::make_room(std::uint64_t hash, std::int64_t now) {
    if (used_ >= max_keys_ && !reclaim(now)) {
        return false;
    }
    const std::uint32_t index = directory_[hash >> shift_].page;
    page& in = pages_[index];
    if (in.used < limit(in.capacity)) {
        return true;
    }
    if (in.earliest <= now) {
        clear_passed(in, now);
    }
    // Removing only a few entries would not be worth visiting the page.
    if (in.used <= limit(in.capacity) / 5 * 4) {
        return true;
    }
    if (may_split(in)) {
        split(index);
    } else {
        resize(index, larger(in.capacity));
    }
    return true;
}

// The table is full: clears the first page that has expired entries.
template <class Key, class Hash>
bool time_table<Key, Hash>::reclaim(std::int64_t now) noexcept {
    if (now < busy_until_) {
        return false;
    }
    std::int64_t earliest = never;
    for (std::size_t left = pages_.size(); left > 0; --left) {
        hand_ = hand_ + 1 < pages_.size() ? hand_ + 1 : 0;
        page& in = pages_[hand_];
        if (in.earliest <= now && clear_passed(in, now) > 0) {
            return true;
        }
        earliest = std::min(earliest, in.earliest);
    }
    busy_until_ = earliest;
    return false;
}

}  // namespace weir::detail
