// SPDX-License-Identifier: MIT
// The chance of simulated networks and fault proxies.
#pragma once

#include <weir/clock.hpp>

#include <cstdint>

namespace weir::testing::sim {

// Small, and the same numbers on every machine.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31);
    }
    std::uint64_t below(std::uint64_t end) noexcept { return end == 0 ? 0 : next() % end; }
    // Draws only where there is something to decide, so that turning a fault off changes nothing
    // else.
    bool chance(double of) noexcept {
        return of > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < of;
    }
    clock::duration up_to(clock::duration most) noexcept {
        return clock::duration(
            static_cast<clock::rep>(below(1 + static_cast<std::uint64_t>(most.count()))));
    }

private:
    std::uint64_t state_;
};

}  // namespace weir::testing::sim
