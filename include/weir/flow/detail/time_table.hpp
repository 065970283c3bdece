// SPDX-License-Identifier: MIT
// A hash table from keys to points in time. An entry expires when its time has come: from then on
// it counts as absent, and another key may take its slot.
//
// Open addressing with linear probing, in pages of a few hundred slots; the highest bits of a hash
// select the page through a directory, the lowest the slot.
//
// - A lookup reads the directory, which stays in the cache, and one or two cache lines of a page.
// - Eviction is free: a new key takes the first expired slot of its probe path. The slot stays
// occupied, so no path is broken and there are no tombstones.
// - The table grows and shrinks page by page: a full page is cleared of expired entries, then
// enlarged, then split in two. No operation moves more than one page, and the load stays above one
// half, unless keys expire faster than tidy() visits the pages.
#pragma once

#include <weir/flow/detail/time_slot.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

template <class Key, class Hash>
class time_table {
    using slot = time_slot<Key, Hash>;

public:
    using key_view = lookup_key<Key>;
    static constexpr std::int64_t absent = slot::absent;

    // The slot of a key, or the slot where it would be inserted. Valid until the table changes.
    class place {
    public:
        bool is_found() const noexcept { return is_found_; }
        std::int64_t time() const noexcept { return at_->time; }

    private:
        friend class time_table;
        place(slot* at, std::uint32_t page, bool is_found) noexcept
            : at_(at), page_(page), is_found_(is_found) {}
        slot* at_;
        std::uint32_t page_;
        bool is_found_;
    };

    time_table(std::size_t max_keys, hash_seed seed, Hash hash = Hash());
    time_table(const time_table&) = delete;
    time_table& operator=(const time_table&) = delete;
    ~time_table() {
        for (page& each : pages_) {
            release(each);
        }
    }

    std::uint64_t hash(key_view key) const noexcept { return hash_(key, seed_); }

    place locate(key_view key, std::uint64_t hash, std::int64_t now) const noexcept {
        const entry& in = directory_[hash >> shift_];
        slot* const end = in.slots + in.capacity;
        slot* at = in.slots + home(hash, in.capacity);
        slot* over = nullptr;
        while (at->time != absent) {
            if (at->is(key, hash)) {
                return place(at, in.page, true);
            }
            if (over == nullptr && at->time <= now) {
                over = at;
            }
            if (++at == end) {
                at = in.slots;
            }
        }
        return place(over != nullptr ? over : at, in.page, false);
    }

    // Sets a later time for a found key.
    void raise(place found, std::int64_t time) noexcept { found.at_->time = time; }
    // Sets any time for a found key.
    void change(place found, std::int64_t time) noexcept {
        found.at_->time = time;
        note(found.page_, time);
    }
    // Inserts a key that was not found. False, changing nothing, if there are max_keys entries and
    // none has expired.
    bool put(place where, key_view key, std::uint64_t hash, std::int64_t time, std::int64_t now) {
        if (where.at_->time == absent) {
            page& in = pages_[where.page_];
            if (in.used >= limit(in.capacity) || used_ >= max_keys_) [[unlikely]] {
                if (!make_room(hash, now)) {
                    return false;
                }
                return put(locate(key, hash, now), key, hash, time, now);
            }
            where.at_->fill(key, hash);
            ++in.used;
            ++used_;
        } else {
            where.at_->replace(key, hash);
            ++evicted_;
        }
        where.at_->time = time;
        note(where.page_, time);
        return true;
    }

    // Until this time put() of a new key fails. Zero: it may succeed now.
    std::int64_t full_until() const noexcept { return used_ >= max_keys_ ? busy_until_ : absent; }

    // Clears a small part of the table of expired entries, and returns memory if few remain.
    void tidy(std::int64_t now);
    // The same for the whole table.
    void tidy_all(std::int64_t now);

    // Applies a function, which must keep the order, to each time.
    template <class Change>
    void change_all(Change change) {
        busy_until_ = absent;
        for (page& each : pages_) {
            each.earliest = never;
            for (slot* at = each.slots; at != each.slots + each.capacity; ++at) {
                if (at->time != absent) {
                    at->time = change(std::as_const(*at).key, at->time);
                    each.earliest = std::min(each.earliest, at->time);
                }
            }
        }
    }

    std::size_t size() const noexcept { return used_; }  // including expired entries
    std::size_t max_size() const noexcept { return max_keys_; }
    std::uint64_t evicted() const noexcept { return evicted_; }
    std::size_t count_busy(std::int64_t now) const noexcept {
        std::size_t busy = 0;
        for (const page& each : pages_) {
            busy += static_cast<std::size_t>(std::count_if(
                each.slots, each.slots + each.capacity,
                [now](const slot& at) { return at.time != absent && at.time > now; }));
        }
        return busy;
    }
    // Memory of the table itself, without memory that keys own (the characters of long strings).
    std::size_t bytes() const noexcept {
        std::size_t slots = 0;
        for (const page& each : pages_) {
            slots += each.capacity;
        }
        return slots * sizeof(slot) + directory_.capacity() * sizeof(entry) +
               pages_.capacity() * sizeof(page) + sizeof *this;
    }

private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    static constexpr std::uint32_t first_capacity = 16;
    static constexpr std::uint32_t page_capacity = 512;  // then half as much again, then two pages

    struct entry {
        slot* slots;
        std::uint32_t capacity;
        std::uint32_t page;
    };
    struct page {
        slot* slots = nullptr;
        std::uint32_t capacity = 0;
        std::uint32_t used = 0;
        std::uint64_t prefix = 0;  // the highest `depth` bits of the hashes in it
        unsigned depth = 0;
        std::int64_t earliest = never;  // lower bound of the times in it
    };

    static std::uint32_t home(std::uint64_t hash, std::uint32_t capacity) noexcept {
        return static_cast<std::uint32_t>(((hash & 0xffffffffu) * capacity) >> 32);
    }
    static std::uint32_t limit(std::uint32_t capacity) noexcept { return capacity / 5 * 4; }
    static std::uint32_t larger(std::uint32_t capacity) noexcept {
        return capacity < page_capacity ? capacity * 2 : capacity / 2 * 3;
    }
    // With room for a third more.
    static std::uint32_t fitting(std::uint32_t keys) noexcept {
        std::uint32_t capacity = first_capacity;
        while (limit(capacity) < keys + keys / 3 + 1) {
            capacity = larger(capacity);
        }
        return capacity;
    }
    std::uint64_t hash_in(const slot& at) const noexcept {
        if constexpr (slot::keeps_hash) {
            return at.hash;
        } else {
            return hash_(at.key, seed_);
        }
    }
    void note(std::uint32_t in, std::int64_t time) noexcept {
        pages_[in].earliest = std::min(pages_[in].earliest, time);
        busy_until_ = std::min(busy_until_, time);
    }

    static slot* allocate(std::uint32_t capacity);
    static void release(page& gone) noexcept;
    void move_in(page& to, slot& from) noexcept;
    void move_all(page& to, page& from) noexcept;
    void publish(std::uint32_t index) noexcept;
    void erase(page& in, slot* at) noexcept;
    std::uint32_t clear_passed(page& in, std::int64_t now) noexcept;
    void resize(std::uint32_t index, std::uint32_t capacity);
    void split(std::uint32_t index);
    bool merge(std::uint32_t index);
    bool may_split(const page& full) const noexcept {
        return full.capacity >= larger(page_capacity) &&
               (full.depth < bits_ || directory_.size() < 8 * pages_.size() + 8);
    }
    bool make_room(std::uint64_t hash, std::int64_t now);
    bool reclaim(std::int64_t now) noexcept;

    std::vector<entry> directory_;
    unsigned shift_ = 63;
    std::vector<page> pages_;
    std::size_t used_ = 0;
    std::size_t max_keys_;
    hash_seed seed_;
    [[no_unique_address]] Hash hash_;
    unsigned bits_ = 1;
    std::size_t hand_ = 0;
    std::int64_t busy_until_ = absent;  // if full: no entry expires earlier
    std::uint64_t evicted_ = 0;
};

}  // namespace weir::detail

#include <weir/flow/detail/time_table_pages.hpp>
