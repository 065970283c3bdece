// SPDX-License-Identifier: MIT
// Where the items of a queue are: a ring, a stack or a heap. Each has push(T&&), pop() and size();
// a call that throws leaves the items unchanged. They grow as needed and keep what they have grown
// to, so that a queue in steady state does not allocate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weir::detail {

// First in, first out.
template <class T>
class ring_storage {
public:
    ring_storage() noexcept = default;
    ring_storage(ring_storage&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)),
          mask_(std::exchange(other.mask_, 0)),
          first_(std::exchange(other.first_, 0)),
          end_(std::exchange(other.end_, 0)) {}
    ring_storage& operator=(ring_storage&&) = delete;
    ~ring_storage() {
        for (; first_ != end_; ++first_) {
            std::destroy_at(&at(first_));
        }
        free(slots_, slot_count());
    }

    std::size_t size() const noexcept { return end_ - first_; }

    void push(T&& item) {
        if (size() == slot_count()) [[unlikely]] {
            grow();
        }
        std::construct_at(&at(end_), std::move(item));
        ++end_;
    }
    template <class Result>
    Result pop() {
        T& front = at(first_);
        Result taken(std::move(front));
        std::destroy_at(&front);
        ++first_;
        return taken;
    }

private:
    std::size_t slot_count() const noexcept { return slots_ == nullptr ? 0 : mask_ + 1; }
    // Positions count on for ever; the number of slots is a power of two.
    T& at(std::size_t position) const noexcept { return slots_[position & mask_]; }

    static void free(T* slots, std::size_t count) noexcept {
        if (slots != nullptr) {
            std::allocator<T>().deallocate(slots, count);
        }
    }

    void grow() {
        const std::size_t wanted = slots_ == nullptr ? 8 : slot_count() * 2;
        T* fresh = std::allocator<T>().allocate(wanted);
        std::size_t moved = 0;
        try {
            for (; moved < size(); ++moved) {
                std::construct_at(fresh + moved, std::move_if_noexcept(at(first_ + moved)));
            }
        } catch (...) {
            std::destroy_n(fresh, moved);
            free(fresh, wanted);
            throw;
        }
        for (std::size_t each = first_; each != end_; ++each) {
            std::destroy_at(&at(each));
        }
        free(slots_, slot_count());
        slots_ = fresh;
        mask_ = wanted - 1;
        end_ = moved;
        first_ = 0;
    }

    T* slots_ = nullptr;
    std::size_t mask_ = 0;
    std::size_t first_ = 0;
    std::size_t end_ = 0;
};

// Last in, first out.
template <class T>
class stack_storage {
public:
    std::size_t size() const noexcept { return items_.size(); }
    void push(T&& item) { items_.push_back(std::move(item)); }
    template <class Result>
    Result pop() {
        Result taken(std::move(items_.back()));
        items_.pop_back();
        return taken;
    }

private:
    std::vector<T> items_;
};

// The least first, as Compare orders them; equal ones in the order they came.
template <class T, class Compare>
class heap_storage {
public:
    heap_storage() = default;
    explicit heap_storage(Compare compare) : order_{std::move(compare)} {}

    std::size_t size() const noexcept { return items_.size(); }
    void push(T&& item) {
        items_.push_back(entry{std::move(item), count_++});
        std::push_heap(items_.begin(), items_.end(), order_);
    }
    template <class Result>
    Result pop() {
        std::pop_heap(items_.begin(), items_.end(), order_);
        restore on_throw{*this};
        Result taken(std::move(items_.back().item));
        on_throw.is_needed = false;
        items_.pop_back();
        return taken;
    }

private:
    struct entry {
        T item;
        std::uint64_t number;
    };
    struct restore {
        heap_storage& heap;
        bool is_needed = true;
        ~restore() {
            if (is_needed) {
                std::push_heap(heap.items_.begin(), heap.items_.end(), heap.order_);
            }
        }
    };
    // The standard heap has the greatest in front.
    struct reversed {
        [[no_unique_address]] Compare compare{};
        bool operator()(const entry& a, const entry& b) const {
            if (compare(b.item, a.item)) {
                return true;
            }
            return !compare(a.item, b.item) && b.number < a.number;
        }
    };

    std::vector<entry> items_;
    [[no_unique_address]] reversed order_;
    std::uint64_t count_ = 0;
};

}  // namespace weir::detail
