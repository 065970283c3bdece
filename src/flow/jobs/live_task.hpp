// SPDX-License-Identifier: MIT
// live_task: a managed task of this process, from its submission until its end is stored.
#pragma once

#include "flow/jobs/store_client.hpp"
#include "flow/jobs/task_journal.hpp"

#include <weir/flow/detail/task_body.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace weir::detail {

class live_task;

// What a task calls when its end is stored, or the store has refused to take it.
class live_task_owner {
public:
    virtual void on_finished(live_task& task) = 0;

protected:
    ~live_task_owner() = default;
};

class live_task final : public job_base, public std::enable_shared_from_this<live_task> {
public:
    live_task(managed_task initial, task_body work, live_task_owner& owner, store_client& store,
              task_journal& journal)
        : record(std::move(initial)),
          body(std::move(work)),
          owner_(owner),
          store_(store),
          journal_(journal) {
        id = record.id;
    }

    managed_task record;  // as the store has it; progress may be ahead
    task_body body;
    bool is_finished = false;  // `record` is final
    bool is_stored = false;    // and in the store
    event ended;

    task<void> run() override;
    bool stop(std::string_view reason) override;
    std::string_view fiber_name() const noexcept override {
        return record.name.empty() ? record.id : record.name;
    }

    void progress(double fraction, std::string_view message);
    std::shared_ptr<const stop_flag> stop_for_thread() const noexcept { return stop_flag_; }

private:
    task<task_value> run_body();
    task<void> begin();
    task<void> finish(outcome<task_value> result);
    managed_task final_record(outcome<task_value> result);
    task<void> store_final(managed_task final);
    static task<void> write_progress(std::shared_ptr<live_task> self, job_engine::activity guard);

    live_task_owner& owner_;
    store_client& store_;
    task_journal& journal_;
    bool runs_body_ = false;
    std::shared_ptr<stop_flag> stop_flag_ = std::make_shared<stop_flag>();
    bool has_new_progress_ = false;
    any_handle progress_writer_;
};

}  // namespace weir::detail
