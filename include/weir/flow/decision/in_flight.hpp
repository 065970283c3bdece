// SPDX-License-Identifier: MIT
// in_flight: the calls under way, in the order in which they began, and how many of them have been
// for too long. All O(1), amortised; allocates when there are more at a time than ever before.
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

    // Times must not go backwards. None, and the call is not tracked, if there is no memory.
    place add(clock::time_point begun) noexcept;
    void remove(place gone) noexcept;
    void clear() noexcept;

    // How many began at this time or earlier. The times asked about must not go backwards either.
    std::size_t begun_until(clock::time_point then) noexcept;

private:
    struct entry {
        clock::time_point begun;
        place next = none;
        place previous = none;
        bool is_old = false;
    };

    std::vector<entry> entries_;  // the first is both ends of the list
    place free_ = none;           // a chain through next
    place first_young_ = none;    // the first that is not old yet
    std::size_t old_ = 0;
};

}  // namespace weir::decision
