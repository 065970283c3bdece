// SPDX-License-Identifier: MIT
// task_store: where a task manager keeps its records. In memory, or, behind the same interface, in
// something that outlives the process.
//
// Calls may take time and may fail. One that throws may have taken effect or not: the manager asks
// and tries again, and what it writes is fenced, so that a repetition does no harm. What is passed
// by reference is valid until the task that was returned has ended.
#pragma once

#include <weir/flow/managed_task.hpp>
#include <weir/task.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weir {

class task_store {
public:
    virtual ~task_store() = default;

    // False: there is a record with this id, and nothing was changed.
    virtual task<bool> insert(const managed_task& fresh) = 0;
    // Compare and set: replaces the record if the one stored has this id and token, the expected
    // state, and the revision before that of `next`. False, changing nothing, if not.
    virtual task<bool> transition(const managed_task& next, task_state expected) = 0;
    // Progress and message of a running task; no transition. May do nothing, and may be lost.
    virtual task<void> save_progress(const managed_task& running);

    virtual task<std::optional<managed_task>> get(std::string_view id) = 0;
    // In the order of submission.
    virtual task<std::vector<managed_task>> list(const task_query& query) = 0;
    // Removes it if id, token and revision are those of the record given. True: it is gone, now or
    // before.
    virtual task<bool> remove(const managed_task& finished) = 0;
};

// Never waits, never fails; keeps values and exceptions too.
class memory_task_store final : public task_store {
public:
    task<bool> insert(const managed_task& fresh) override;
    task<bool> transition(const managed_task& next, task_state expected) override;
    task<void> save_progress(const managed_task& running) override;
    task<std::optional<managed_task>> get(std::string_view id) override;
    task<std::vector<managed_task>> list(const task_query& query) override;
    task<bool> remove(const managed_task& finished) override;
    std::size_t size() const noexcept { return by_id_.size(); }

private:
    using in_order = std::map<std::uint64_t, managed_task>;
    managed_task* find(std::string_view id);

    in_order records_;
    std::map<std::string, in_order::iterator, std::less<>> by_id_;
    std::uint64_t last_ = 0;
};

}  // namespace weir
