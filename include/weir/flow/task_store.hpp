// SPDX-License-Identifier: MIT
// task_store: the interface of the storage for a task manager's records. memory_task_store keeps
// them in memory; other implementations may outlive the process.
//
// Calls may take time and may fail. A call that throws may or may not have taken effect: the
// manager reads the record and retries; its writes are fenced, so a repetition does no harm.
// Arguments passed by reference are valid until the returned task has ended.
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

    // False: a record with this id exists, and nothing was changed.
    virtual task<bool> insert(const managed_task& fresh) = 0;
    // Compare and set: replaces the stored record if it has the id and token of `next`, the
    // expected state, and the revision before that of `next`. Otherwise returns false and changes
    // nothing.
    virtual task<bool> transition(const managed_task& next, task_state expected) = 0;
    // Progress and message of a running task; no transition. May do nothing, and may be lost.
    virtual task<void> save_progress(const managed_task& running);

    virtual task<std::optional<managed_task>> get(std::string_view id) = 0;
    // In the order of submission.
    virtual task<std::vector<managed_task>> list(const task_query& query) = 0;
    // Removes the record if id, token and revision match. True: the record no longer exists,
    // whether this call or an earlier one removed it.
    virtual task<bool> remove(const managed_task& finished) = 0;
};

// Keeps records in memory, with their values and exceptions. Never waits, never fails.
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
