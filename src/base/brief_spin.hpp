// SPDX-License-Identifier: MIT
// A look around before going to sleep.
#pragma once

#include "base/wait_pacing.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>

namespace weir::detail {

// Going to sleep and being woken costs this thread and the one that wakes it several microseconds.
// In the middle of a conversation the next message is often there sooner, and then it pays to wait
// for it awake, for 20 microseconds at most. Where that fails it is tried again less and less
// often: once in a thousand waits in the end, so that a loop with little to do uses no processor
// for it.
class brief_spin {
public:
    // Is it to be tried in this wait? To be called once a wait.
    bool is_due() noexcept {
        if (waits_to_skip_ > 0) {
            --waits_to_skip_;
            return false;
        }
        return can_pay();
    }
    // True as soon as is_ready() says so, false if that was not within the limits.
    template <class Condition>
    bool until(Condition&& is_ready, std::int64_t at_most_nanoseconds) {
        const std::int64_t start = monotonic_nanoseconds();
        const std::int64_t end = start + std::min(longest, at_most_nanoseconds);
        do {
            for (int i = 0; i < 8; ++i) {
                relax();
            }
            if (is_ready()) {
                skip_next_ = std::max(skip_next_ / 2, 1U);
                return true;
            }
        } while (monotonic_nanoseconds() < end);
        waits_to_skip_ = skip_next_;
        skip_next_ = std::min(2 * skip_next_, most_skipped);
        return false;
    }

private:
    static constexpr std::int64_t longest = 20'000;
    static constexpr unsigned most_skipped = 1024;

    static void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    // On a single processor no other thread runs while this one spins.
    static bool can_pay() noexcept {
        static const bool has_several = std::thread::hardware_concurrency() > 1;
        return has_several;
    }

    unsigned skip_next_ = 1;
    unsigned waits_to_skip_ = 0;
};

}  // namespace weir::detail
