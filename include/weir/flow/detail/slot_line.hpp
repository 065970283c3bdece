// SPDX-License-Identifier: MIT
// A number of slots and a line of waiters: the core of bulkhead and adaptive_limit.
//
// Slots are free, held, or granted to an operation whose fiber has not run yet. A released slot is
// granted to a waiter directly, so a later request cannot take it. Each priority has its own line.
// The first waiter of the highest priority goes next, and no request overtakes: a request for many
// slots is not starved by requests for few. All operations are O(1).
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/base/wait_list.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/priority.hpp>
#include <weir/flow/queue_order.hpp>
#include <weir/loop.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

// Totals since construction; the last three are current values.
struct slot_stats {
    std::uint64_t granted = 0;
    std::uint64_t waited = 0;       // of these, granted after a wait
    std::uint64_t refused = 0;      // including requests refused after a wait
    std::uint64_t displaced = 0;    // refused to make room for a more important request
    std::uint64_t timed_out = 0;    // refused after max_wait
    std::uint64_t cancelled = 0;    // stopped while waiting, or before their fiber continued
    clock::duration time_waited{};  // total wait of the granted requests
    std::size_t most_in_use = 0;
    std::size_t limit = 0;
    std::size_t in_use = 0;
    std::size_t waiting = 0;
};

namespace detail {

class slot_line;

// A request, which waits if necessary.
class slot_wait : public listed_operation, private timer {
public:
    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;

protected:
    slot_wait(slot_line& from, std::size_t weight, weir::priority level) noexcept
        : from_(&from), weight_(weight), level_(level) {}
    slot_wait(slot_wait&& other) noexcept
        : listed_operation(),
          timer(),
          from_(other.from_),
          weight_(other.weight_),
          level_(other.level_) {}
    ~slot_wait() {
        if (state_ != wait_state::idle) [[unlikely]] {
            abandon();
        }
    }
    // Called when the fiber continues. False: refused, why() has the reason.
    bool finish();
    const refusal& why() const noexcept { return why_; }

    slot_line* from_;
    std::size_t weight_;

private:
    friend class slot_line;
    void fire() noexcept override;
    void disarm() noexcept;
    void refuse(const refusal& why) noexcept;
    void abandon() noexcept;

    weir::priority level_;
    refusal why_{};
    clock::time_point since_{};
    clock::duration time_waited_{};  // once granted
};

class slot_line {
public:
    slot_line(std::size_t limit, std::size_t max_waiting, clock::duration max_wait,
              std::size_t reserved = 0, queue_order order = queue_order::oldest_first) noexcept
        : limit_(limit),
          max_waiting_(max_waiting),
          max_wait_(max_wait),
          newest_first_(order == queue_order::newest_first) {
        set_reserved(reserved);
    }
    slot_line(const slot_line&) = delete;
    slot_line& operator=(const slot_line&) = delete;
    ~slot_line() { close(); }

    // Takes slots without waiting; false while an earlier request of the same priority waits.
    bool take(std::size_t weight, weir::priority level) noexcept {
        if (!fits(weight, level)) {
            return false;
        }
        if (waiting_ != 0 && is_behind_others(level)) [[unlikely]] {
            return false;
        }
        hold(weight);
        return true;
    }
    void give_back(std::size_t weight) noexcept {
        used_ -= weight;
        if (waiting_ != 0) [[unlikely]] {
            serve();
        }
    }
    // Holders keep their slots, even above a lower limit; waiters that request more than the limit
    // are refused. Some slots may be reserved for high priorities; one always remains for the
    // others.
    void set_limit(std::size_t limit, std::size_t reserved) noexcept;
    std::size_t reserved() const noexcept { return limit_ - for_all_; }

    std::size_t limit() const noexcept { return limit_; }
    std::size_t used() const noexcept { return used_; }
    slot_stats stats() const noexcept;
    void count_refused() noexcept { ++stats_.refused; }
    // The refusal of a request that does not wait.
    refusal refusal_for(std::size_t weight, weir::priority level) const noexcept {
        return {
            .reason = refusal_reason::concurrency_limited,
            .retry_after = weight > limit_for(level) ? refusal::never : clock::duration::zero()};
    }

private:
    friend class slot_wait;
    static constexpr std::size_t levels = 4;

    void set_reserved(std::size_t reserved) noexcept {
        for_all_ = limit_ - (reserved < limit_ ? reserved : limit_ - 1);
    }
    std::size_t limit_for(weir::priority level) const noexcept {
        return level >= weir::priority::high ? limit_ : for_all_;
    }
    bool fits(std::size_t weight, weir::priority level) const noexcept {
        const std::size_t limit = limit_for(level);
        return weight <= limit && used_ <= limit - weight;
    }
    void hold(std::size_t weight) noexcept {
        used_ += weight;
        ++stats_.granted;
        if (used_ > stats_.most_in_use) {
            stats_.most_in_use = used_;
        }
    }
    wait_list& line_of(weir::priority level) noexcept {
        return lines_[static_cast<std::size_t>(level)];
    }
    // A grant after a wait is not used: the request counts as cancelled alone.
    void undo_grant(clock::duration waited) noexcept {
        --stats_.granted;
        --stats_.waited;
        stats_.time_waited -= waited;
    }
    bool is_behind_others(weir::priority level) const noexcept;
    bool must_refuse(slot_wait& waiter) noexcept;
    bool can_displace(weir::priority level) const noexcept;
    void displace_one() noexcept;
    void refuse_too_large() noexcept;
    void leave(slot_wait& gone) noexcept;
    void serve() noexcept;
    void close() noexcept;

    std::size_t limit_;
    std::size_t for_all_ = 0;  // slots that are not reserved
    std::size_t used_ = 0;
    std::size_t waiting_ = 0;
    std::size_t max_waiting_;
    clock::duration max_wait_;
    bool newest_first_;
    std::array<wait_list, levels> lines_;
    slot_stats stats_;
};

// co_await admit(): an admission. co_await acquire(): the pass; throws refused.
template <class Owner>
class WEIR_MUST_AWAIT slot_admit final : public slot_wait {
public:
    slot_admit(Owner& owner, slot_line& from, std::size_t weight, weir::priority level) noexcept
        : slot_wait(from, weight, level), owner_(&owner) {}
    slot_admit(slot_admit&&) noexcept = default;
    const char* name() const noexcept override { return Owner::admit_name; }
    admission<typename Owner::pass> resume() {
        if (!finish()) [[unlikely]] {
            return why();
        }
        return owner_->make_pass(weight_);
    }

private:
    Owner* owner_;
};

template <class Owner>
class WEIR_MUST_AWAIT slot_acquire final : public slot_wait {
public:
    slot_acquire(Owner& owner, slot_line& from, std::size_t weight, weir::priority level) noexcept
        : slot_wait(from, weight, level), owner_(&owner) {}
    slot_acquire(slot_acquire&&) noexcept = default;
    const char* name() const noexcept override { return Owner::acquire_name; }
    typename Owner::pass resume() {
        if (!finish()) [[unlikely]] {
            throw refused(why(), owner_->name());
        }
        return owner_->make_pass(weight_);
    }

private:
    Owner* owner_;
};

}  // namespace detail
}  // namespace weir
