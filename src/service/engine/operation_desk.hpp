// SPDX-License-Identifier: MIT
// operation_desk: the operations of a service, those that run and the last that have ended.
#pragma once

#include "service/engine/bulk_operation.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class operation_desk {
public:
    static constexpr std::size_t max_running = 4;
    static constexpr std::size_t max_kept = 100;

    operation_desk(store_client& store, const wall_clock& time, claim_trigger& trigger,
                   claimer& claims, runner& runs) noexcept
        : store_(store), time_(time), trigger_(trigger), claims_(claims), runs_(runs) {}
    operation_desk(const operation_desk&) = delete;
    operation_desk& operator=(const operation_desk&) = delete;

    // Throws invalid_value and too_many_operations.
    operation_record start(new_operation request);
    // Newest first.
    std::vector<operation_record> list() const;
    std::optional<operation_record> find(std::string_view id) const;
    // Stops the operation, unless it has ended, and waits until it has made its current step.
    task<std::optional<operation_record>> stop(std::string id);

    // Makes the operations, until it is stopped. Those that run then end as stopped.
    task<> run();

private:
    std::shared_ptr<bulk_operation> operation(std::string_view id) const;
    static task<> make(std::shared_ptr<bulk_operation> operation);
    void forget_oldest();

    store_client& store_;
    const wall_clock& time_;
    claim_trigger& trigger_;
    claimer& claims_;
    runner& runs_;
    std::deque<std::shared_ptr<bulk_operation>> all_;  // oldest first
    std::vector<std::shared_ptr<bulk_operation>> waiting_;
    task_id last_id_;
    event wake_;
};

}  // namespace weir::service::detail
