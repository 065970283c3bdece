// SPDX-License-Identifier: MIT
// A process that was killed lives on for a few seconds, without any effect: its fibers must come to
// their end, as there is one loop for all.

#include "node.hpp"

#include <weir/time.hpp>

namespace weir::service::testing {

void node::start() {
    if (current_ != nullptr) {
        return;
    }
    const std::size_t number = ++world_.processes;
    world_.referee.note("machine " + std::to_string(number_) + " starts node " +
                        std::to_string(number));
    current_ = std::make_shared<service_process>(world_, number, ahead_);
    running_ = weir::spawn(run(current_));
}

task<> node::run(std::shared_ptr<service_process> started) {
    co_await started->run();
}

void node::kill() {
    if (current_ == nullptr) {
        return;
    }
    world_.referee.note("node " + std::to_string(current_->number()) + " dies");
    current_->die();
    stop();
}

void node::stop() {
    if (current_ == nullptr) {
        return;
    }
    if (!current_->is_dead()) {
        world_.referee.note("node " + std::to_string(current_->number()) + " drains");
    }
    running_.cancel();
    world_.run_aside(bury(std::move(current_), std::move(running_)));
    current_ = nullptr;
}

void node::set_calendar(std::chrono::microseconds ahead) noexcept {
    ahead_ = ahead;
    if (current_ != nullptr) {
        current_->set_ahead(ahead);
    }
}

task<> node::bury(std::shared_ptr<service_process> ended, handle<> running) {
    if (ended->is_dead()) {
        co_await sleep(1ms);
        running.cancel();  // in a hurry
    }
    co_await running.wait();
    ended->end();
    co_await sleep(1min);  // calls that are under way reach the store
    co_await ended->connection().end_deliveries();
}

}  // namespace weir::service::testing
