// SPDX-License-Identifier: MIT
// store_gate: a backend that forwards to another one, which can be replaced while calls come.
//
// While the gate is held, writes wait in memory, for hold_limit at most, and reads go on: the
// database does not change meanwhile.
#pragma once

#include "service/store/move/gate_channel.hpp"
#include "service/store/sql_backend.hpp"

#include <weir/clock.hpp>
#include <weir/sync/event.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace weir::service::detail {

class store_gate final : public sql_backend {
public:
    // Longer than this, no call waits: it throws store_unavailable. Below every lease.
    static constexpr clock::duration hold_limit = std::chrono::seconds(5);

    explicit store_gate(std::shared_ptr<sql_backend> first)
        : current_(std::move(first)), is_shared_(current_->is_shared()) {
        if (current_->channel() != nullptr) {
            channel_ = std::make_unique<gate_channel>(current_);
        }
    }

    // From now on writes wait. Returns when those in flight have ended.
    task<> hold();
    // Writes go on, those that have waited in their order.
    void release();
    // Reads that are under way end on the former one, which they keep.
    void replace(std::shared_ptr<sql_backend> next) noexcept;
    // Each write waits so long from now on, so that who copies the rows can catch up.
    void slow_down(clock::duration pause) noexcept { pause_ = pause; }

    const std::shared_ptr<sql_backend>& current() const noexcept { return current_; }
    bool is_held() const noexcept { return is_held_; }

    task<> write(const sql_work& work, sql_commit commit) override;
    task<> write_jointly(sql_joint_work& work) override;
    task<> read(const sql_work& work) override;
    task<std::optional<std::chrono::microseconds>> read_lagging(const sql_work& work) override;
    std::chrono::microseconds most_lag() const noexcept override { return current_->most_lag(); }
    task<> close() override;
    bool is_shared() const noexcept override { return is_shared_; }
    // That of a backend without one does not begin when it is replaced by one that has: a service
    // asks for it when it starts.
    node_channel* channel() noexcept override { return channel_.get(); }

private:
    class write_in_flight;

    task<> enter();

    std::shared_ptr<sql_backend> current_;
    std::unique_ptr<gate_channel> channel_;
    std::atomic<bool> is_shared_;  // read by threads of the backends
    bool is_held_ = false;
    clock::duration pause_{0};
    std::size_t in_flight_ = 0;
    event released_;
    event idle_;
};

}  // namespace weir::service::detail
