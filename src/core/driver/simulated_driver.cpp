// SPDX-License-Identifier: MIT
// Virtual time: a wait for a deadline sets the clock to it and returns at once. The clock moves in
// wait() alone, so a program that does nothing but compute and sleep is deterministic to the
// nanosecond. Work on other threads takes real time: the loop requests this by a wait without a
// limit.

#include <weir/driver.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace weir {

namespace {

class simulated_driver final : public driver {
public:
    const char* name() const noexcept override { return "simulated"; }
    bool is_simulated() const noexcept override { return true; }
    std::int64_t now() noexcept override { return now_; }

    void wait(std::int64_t deadline) override {
        if (deadline == forever) {
            std::unique_lock lock(mutex_);
            woken_.wait(lock, [this] { return is_woken_.exchange(false); });
        } else if (deadline > now_ && !is_woken_.exchange(false)) {
            now_ = deadline;
        }
    }

    void wake() noexcept override {
        // Notified under the lock: the loop may be gone as soon as it has seen the flag.
        std::lock_guard lock(mutex_);
        is_woken_ = true;
        woken_.notify_one();
    }

private:
    std::int64_t now_ = 0;
    std::mutex mutex_;
    std::condition_variable woken_;
    std::atomic<bool> is_woken_{false};
};

}  // namespace

std::unique_ptr<driver> make_simulated_driver() {
    return std::make_unique<simulated_driver>();
}

}  // namespace weir
