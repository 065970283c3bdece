// SPDX-License-Identifier: MIT
// The random decisions of simulated networks and fault proxies.
#pragma once

#include <weir/base/random.hpp>
#include <weir/clock.hpp>

#include <cstdint>

namespace weir::testing::sim {

class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : source_(seed) {}
    std::uint64_t next() noexcept { return source_.next(); }
    std::uint64_t below(std::uint64_t end) noexcept {
        return end == 0 ? 0 : source_.next_below(end);
    }
    // True with this probability. Draws a number only if the probability is not 0, so that turning
    // a fault off changes nothing else.
    bool chance(double probability) noexcept {
        return probability > 0 && source_.next_fraction() < probability;
    }
    clock::duration up_to(clock::duration most) noexcept {
        return clock::duration(
            static_cast<clock::rep>(below(1 + static_cast<std::uint64_t>(most.count()))));
    }

private:
    weir::detail::random_source source_;
};

}  // namespace weir::testing::sim
