// SPDX-License-Identifier: MIT
// A sleep is a timer inside the frame that sleeps: armed on the wheel, disarmed at once by a stop.

#include <weir/base/fault_point.hpp>
#include <weir/error.hpp>
#include <weir/time.hpp>

namespace weir::detail {

bool sleep_operation::start() noexcept {
    auto& home = static_cast<loop&>(waiter().home());
    const clock::time_point when{clock::duration(deadline())};
    if (when == clock::time_point::min()) {
        complete();
    } else if (when != clock::time_point::max()) {
        if (this_thread.faults != nullptr && fault_at(io_point::timer, "sleep").cut_short)
            [[unlikely]] {
            complete();
        } else {
            home.arm(*this, when);
        }
    }
    return true;
}

bool sleep_operation::cancel() noexcept {
    disarm();
    return true;
}

void sleep_operation::fire() noexcept {
    // Timers that are due together lie anywhere in memory: what the fiber needs when its turn comes
    // is fetched while the others fire.
    constexpr std::size_t line = 64;
    const char* const ready = reinterpret_cast<const char*>(&waiter());
    __builtin_prefetch(ready, 1);
    __builtin_prefetch(ready + line, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(this) - line, 1);
    complete_on(*this_thread.loop);
}

void sleep_operation::disarm() noexcept {
    static_cast<loop&>(waiter().home()).disarm(*this);
}

void throw_not_a_number() {
    throw invalid_argument("a duration is not a number (NaN)");
}

}  // namespace weir::detail
