// SPDX-License-Identifier: MIT
// bulk_operation: changes all tasks that match a filter, step by step.
#pragma once

#include "service/engine/claimer.hpp"
#include "service/engine/store_client.hpp"

#include <weir/service/operation.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace weir::service::detail {

// Chooses the size of each step by the time that the last one took.
class step_size {
public:
    std::size_t next() const noexcept { return size_; }
    // A step of `count` tasks took that long.
    void took(clock::duration time, std::size_t count) noexcept;
    // How long to leave the store to others after such a step.
    static clock::duration pause_after(clock::duration time) noexcept;

private:
    std::size_t size_ = 50;
};

class bulk_operation {
public:
    bulk_operation(operation_record record, store_client& store, const wall_clock& time,
                   claim_trigger& trigger, claimer& claims, runner& runs);
    bulk_operation(const bulk_operation&) = delete;
    bulk_operation& operator=(const bulk_operation&) = delete;

    const operation_record& record() const noexcept { return record_; }
    bool has_ended() const noexcept { return record_.state != operation_state::running; }
    // To its end. A stop of the fiber ends it as stopped.
    task<> run();
    // Ends it after its current step, and waits for that.
    task<> stop();
    // It ends before it has begun.
    void abandon() { end(operation_state::stopped); }

private:
    class run_guard;

    // Whether the step was made: false if the store was not available.
    task<bool> step();
    task<> search();
    task<> change_some();
    void count(const std::vector<task_id>& ids, const std::vector<change_result>& results);
    void end(operation_state state);

    store_client& store_;
    const wall_clock& time_;
    claim_trigger& trigger_;
    claimer& claims_;
    runner& runs_;
    operation_record record_;
    task_filter search_;  // what is left to be searched
    bool has_found_all_ = false;
    std::deque<task_id> found_;  // and not changed yet
    step_size size_;
    std::string last_error_;
    event wake_;
    event ended_;
    bool is_stopping_ = false;
};

}  // namespace weir::service::detail
