// SPDX-License-Identifier: MIT
// in_flight: the calls in flight, in the order of their beginning, and how many began before a
// given time. Amortised O(1); allocates only when there are more concurrent calls than ever before.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::decision {

class in_flight {
public:
    using place = std::uint32_t;
    static constexpr place none = 0;

    // Times must not decrease. Returns `none`, and does not track the call, if there is no memory.
    place add(clock::time_point begun) noexcept;
    void remove(place gone) noexcept;
    void clear() noexcept;

    // The number of calls that began at this time or earlier. The times must not decrease.
    std::size_t begun_until(clock::time_point then) noexcept;

private:
    struct entry {
        clock::time_point begun;
        place next = none;
        place previous = none;
        bool is_old = false;
    };

    std::vector<entry> entries_;  // the first is the head of the list
    place free_ = none;           // chained through `next`
    place first_young_ = none;    // the first that is not counted as old
    std::size_t old_ = 0;
};

}  // namespace weir::decision
