// SPDX-License-Identifier: MIT
// A call takes the backend when it passes the gate, not before, and keeps it until it ends.

#include "service/store/move/store_gate.hpp"

#include <weir/scope.hpp>
#include <weir/service/store.hpp>
#include <weir/time.hpp>

#include <utility>

namespace weir::service::detail {

class store_gate::write_in_flight {
public:
    explicit write_in_flight(store_gate& gate) noexcept : gate_(gate) { ++gate_.in_flight_; }
    write_in_flight(const write_in_flight&) = delete;
    write_in_flight& operator=(const write_in_flight&) = delete;
    ~write_in_flight() {
        if (--gate_.in_flight_ == 0) {
            gate_.idle_.set();
        }
    }

private:
    store_gate& gate_;
};

task<> store_gate::enter() {
    if (pause_ > clock::duration::zero() && !is_held_) {
        co_await weir::sleep(pause_);
    }
    if (!is_held_) {
        co_return;
    }
    cancel_scope limit(weir::now() + hold_limit);
    auto wait = [this]() -> task<> {
        while (is_held_) {
            co_await released_.wait();
        }
    };
    static_cast<void>(co_await limit.run(wait()));
    if (is_held_) {
        throw store_unavailable("the task store is being moved to another database");
    }
}

task<> store_gate::hold() {
    released_.clear();
    is_held_ = true;
    while (in_flight_ > 0) {
        idle_.clear();
        co_await idle_.wait();
    }
}

void store_gate::release() {
    is_held_ = false;
    released_.set();
}

void store_gate::replace(std::shared_ptr<sql_backend> next) noexcept {
    current_ = std::move(next);
    is_shared_ = current_->is_shared();
    if (channel_ != nullptr) {
        channel_->replace(current_);
    }
}

task<> store_gate::write(const sql_work& work, sql_commit commit) {
    co_await enter();
    const write_in_flight mark(*this);
    const std::shared_ptr<sql_backend> on = current_;
    co_await on->write(work, commit);
}

task<> store_gate::write_jointly(sql_joint_work& work) {
    co_await enter();
    const write_in_flight mark(*this);
    const std::shared_ptr<sql_backend> on = current_;
    co_await on->write_jointly(work);
}

task<> store_gate::read(const sql_work& work) {
    const std::shared_ptr<sql_backend> on = current_;
    co_await on->read(work);
}

task<std::optional<std::chrono::microseconds>> store_gate::read_lagging(const sql_work& work) {
    const std::shared_ptr<sql_backend> on = current_;
    const auto lag = co_await on->read_lagging(work);
    co_return lag;
}

task<> store_gate::close() {
    const std::shared_ptr<sql_backend> on = current_;
    co_await on->close();
}

}  // namespace weir::service::detail
