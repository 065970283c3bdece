// SPDX-License-Identifier: MIT
// Writes the progress that handlers report: the latest of each run, at most ten times a second.
#pragma once

#include "service/engine/lease.hpp"
#include "service/engine/store_client.hpp"

#include <weir/service/job.hpp>
#include <weir/service/store.hpp>
#include <weir/sync/event.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class progress_writer;

// The progress of one run. Its owner withdraws it before it goes or is used for another run.
class run_progress final : public progress_listener {
public:
    // Secrets of the task are removed from messages; it must outlive the run. Null: it has none.
    void begin(progress_writer& writer, run_key key, const lease& owner,
               const task_record* task = nullptr) noexcept {
        writer_ = &writer;
        task_ = task;
        key_ = key;
        lease_ = &owner;
    }
    void progressed(double fraction, std::string_view message) override;
    // The run is not the node's any more: nothing is written for it.
    void detach() noexcept;

private:
    friend class progress_writer;

    progress_writer* writer_ = nullptr;
    const task_record* task_ = nullptr;
    run_key key_;
    const lease* lease_ = nullptr;  // null: detached
    double fraction_ = 0;
    std::string message_;
    bool is_queued_ = false;
};

class progress_writer {
public:
    progress_writer(store_client& store, const wall_clock& time) noexcept
        : store_(store), time_(time) {}
    progress_writer(const progress_writer&) = delete;
    progress_writer& operator=(const progress_writer&) = delete;

    task<> run();

    void add(run_progress& changed);
    void withdraw(run_progress& ended) noexcept;

private:
    task<> write_queued();

    store_client& store_;
    const wall_clock& time_;
    std::vector<run_progress*> queued_;
    event has_queued_;
};

}  // namespace weir::service::detail
