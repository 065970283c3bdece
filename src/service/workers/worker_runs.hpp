// SPDX-License-Identifier: MIT
// The runs of workers: what is remembered of each while it runs, the end of a run as the worker
// reports it, and its timeout, which the service keeps too.
//
// A run that this server has not handed out, since another one has, or this one before a restart,
// is looked up when the worker mentions it.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/settlement_builder.hpp"
#include "service/engine/store_client.hpp"
#include "service/engine/task_metrics.hpp"
#include "service/tracing/tracer.hpp"
#include "service/workers/worker_calls.hpp"

#include <weir/service/service.hpp>
#include <weir/service/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

class worker_runs {
public:
    worker_runs(store_client& store, const wall_clock& time, const event_log& log,
                settlement_builder& builder, claim_trigger& claims, task_metrics& metrics,
                tracer& traces, const service_options& options);
    worker_runs(const worker_runs&) = delete;
    worker_runs& operator=(const worker_runs&) = delete;
    ~worker_runs();

    // A worker has claimed the task.
    worker_task begin(const std::string& worker, task_record claimed);
    // Looks up those that are not known here. Throws store_unavailable.
    task<> learn(std::string worker, std::vector<run_key> runs);
    // Removes the secrets of the task from a message.
    std::string shown_message(const run_key& key, std::string_view message) const;

    // Writes the ends of runs; one verdict per result, after the commit. Throws store_unavailable.
    task<std::vector<result_verdict>> settle(std::string worker,
                                             std::vector<worker_result> results);

    // The worker does not have the run any more.
    void forget(const std::string& worker, const run_key& key);
    void forget_all_of(const std::string& worker);
    // A client has cancelled the task. Returns the worker that runs it; null: none known here.
    const std::string* note_cancelling(task_id id);

    // Ends runs whose worker has not reported their end in time. `on_end` gets the worker of each.
    task<> end_overdue(std::function<void(const std::string& worker)> on_end);

    std::size_t size() const noexcept { return all_.size(); }
    void add_to(service_stats& stats) const noexcept;

private:
    struct held;

    held& hold(const std::string& worker, task_record task);
    held* find(const std::string& worker, const run_key& key);
    settlement end_of(const worker_result& result, held* run);
    task<std::vector<settle_answer>> write(std::string worker, std::vector<settlement> ends);
    task<settle_answer> write_one(std::string worker, settlement end);
    void count(const settlement& end, held* run);

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    settlement_builder& builder_;
    claim_trigger& claims_;
    task_metrics& metrics_;
    tracer& traces_;
    const service_options& options_;
    std::unordered_map<std::int64_t, std::unique_ptr<held>> all_;  // by the task's number
    std::uint64_t started_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t dead_ = 0;
    std::uint64_t cancelled_ = 0;
    std::uint64_t fenced_ = 0;
};

}  // namespace weir::service::detail
