// SPDX-License-Identifier: MIT
// A queue in a circular buffer, which grows as needed and keeps its memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::ws::detail {

template <class T>
class ring {
public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    T& front() noexcept { return slots_[first_]; }

    void push(T&& last) {
        if (size_ == slots_.size()) {
            grow();
        }
        slots_[(first_ + size_) & (slots_.size() - 1)] = std::move(last);
        ++size_;
    }
    T pop() noexcept {
        T first = std::exchange(slots_[first_], T());
        first_ = (first_ + 1) & (slots_.size() - 1);
        --size_;
        return first;
    }
    void clear() noexcept {
        while (!empty()) {
            pop();
        }
    }

private:
    void grow() {
        std::vector<T> larger(slots_.empty() ? 4 : slots_.size() * 2);
        for (std::size_t at = 0; at < size_; ++at) {
            larger[at] = std::move(slots_[(first_ + at) & (slots_.size() - 1)]);
        }
        slots_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> slots_;  // a power of two
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace weir::ws::detail
