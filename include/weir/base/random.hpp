// SPDX-License-Identifier: MIT
// A small source of random numbers for jitter, simulations and schedules. Eight bytes, seeded, the
// same on every machine; not for secrets.
#pragma once

#include <cstdint>

namespace weir::detail {

// splitmix64: a counter, well mixed. Every seed is a good one.
class random_source {
public:
    explicit constexpr random_source(std::uint64_t seed = 0) noexcept : state_(seed) {}

    constexpr std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return mixed ^ (mixed >> 31);
    }
    // From 0 up to, not including, the end, which is at least 1.
    constexpr std::uint64_t next_below(std::uint64_t end) noexcept { return next() % end; }
    // From 0 up to, not including, 1.
    constexpr double next_fraction() noexcept {
        return static_cast<double>(next() >> 11) * 0x1p-53;
    }

private:
    std::uint64_t state_;
};

}  // namespace weir::detail
