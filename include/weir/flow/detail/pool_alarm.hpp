// SPDX-License-Identifier: MIT
// The tie between a pool and its loop: the time, one timer, and the end of the loop.
#pragma once

#include <weir/base/closable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>

#include <cstdint>

namespace weir {
class loop;
}  // namespace weir

namespace weir::detail {

class pool_alarm : private timer, private closable {
protected:
    pool_alarm() = default;
    ~pool_alarm() = default;

    // Ties it to the loop that runs here, if there is one and it is not tied yet. True: just now.
    bool bind() noexcept;
    bool is_bound() const noexcept { return home != nullptr; }   // and the loop has not ended
    std::uint32_t loop_id() const noexcept { return loop_id_; }  // 0: never bound
    loop* bound_loop() const noexcept;                           // null: none
    // Of the bound loop, or of the one that runs here; without both the epoch.
    clock::time_point time() const noexcept;

    // on_alarm() is called at the earliest time given; it may be called too early.
    void wake_at(clock::time_point when) noexcept;
    void unbind() noexcept;

private:
    virtual void on_alarm() noexcept = 0;
    virtual void on_loop_end() noexcept = 0;
    void fire() noexcept final;
    void close_at_shutdown() noexcept final;

    clock::time_point wakes_at_ = clock::time_point::max();
    std::uint32_t loop_id_ = 0;
};

}  // namespace weir::detail
