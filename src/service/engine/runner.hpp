// SPDX-License-Identifier: MIT
// Runs claimed tasks with their handlers and hands their ends to the settler.
#pragma once

#include "service/engine/claim_trigger.hpp"
#include "service/engine/endpoint_list.hpp"
#include "service/engine/event_log.hpp"
#include "service/engine/handler_registry.hpp"
#include "service/engine/lease.hpp"
#include "service/engine/progress_writer.hpp"
#include "service/engine/settlement_builder.hpp"
#include "service/engine/settler.hpp"
#include "service/engine/step_writer.hpp"
#include "service/engine/task_metrics.hpp"
#include "service/tracing/tracer.hpp"

#include <weir/group.hpp>
#include <weir/scope.hpp>
#include <weir/service/service.hpp>
#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::service::detail {

class runner {
public:
    runner(const handler_registry& handlers, endpoint_list& endpoints, settler& ends,
           settlement_builder& builder, progress_writer& progress, step_writer& steps,
           claim_trigger& claims, task_metrics& metrics, const event_log& log,
           const service_options& options, tracer* traces = nullptr);
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;
    ~runner();

    // Why a claimed task was not started, and when it may be tried again.
    struct refusal {
        clock::duration delay{};
        std::string reason;
        std::string destination{};  // that the store does not know yet
    };
    // Starts the task in the group, and moves it. A task that is refused is left as it is: the
    // caller returns it to the store.
    std::optional<refusal> start(task_record& claimed, const lease& owner, bool is_cancelled,
                                 const task_group& group);

    // Stops runs. Each is settled when its handler has ended.
    void cancel(task_id id);
    void cancel(const lease& owner, const run_key& key);
    void stop_all(stop_cause cause);
    void stop_all(const lease& owner, stop_cause cause);
    // Stops those of these runs that the lease has, and forgets how they end: the store does not
    // know them. The number of them.
    std::size_t stop_lost(const lease& owner, const std::vector<run_key>& lost);

    // Warns about runs that have been stopped and do not end.
    task<> watch();

    std::size_t running() const noexcept { return running_.size(); }
    std::size_t running(const lease& owner) const noexcept;
    std::size_t free_workers() const noexcept {
        return running_.size() < options_.workers ? options_.workers - running_.size() : 0;
    }
    bool is_running(task_id id) const noexcept;
    // Lost runs whose handlers have not ended yet.
    bool has_lost() const noexcept;
    void append_running(std::vector<run_key>& to) const;
    task<> wait_until_idle();
    void name_fibers() const;

    void add_to(service_stats& stats) const noexcept;

private:
    struct run;
    class run_guard;

    task<> execute(run& current);
    // The end of a run without its handler: it was stopped before, or its endpoint is disabled.
    std::optional<settlement> end_unstarted(const run& current);
    void note_gone(const run& ended, settlement& to) const;
    void release(run& ended) noexcept;
    void warn_unresponsive();
    bool has_last_chance(const task_record& task) const noexcept;
    bool runs_last_chance() const noexcept;

    const handler_registry& handlers_;
    endpoint_list& endpoints_;
    settler& ends_;
    settlement_builder& builder_;
    progress_writer& progress_;
    step_writer& steps_;
    claim_trigger& claims_;
    task_metrics& metrics_;
    const event_log& log_;
    const service_options& options_;
    tracer* const traces_;  // null: no spans

    std::vector<run*> running_;
    std::vector<std::unique_ptr<run>> runs_;  // all, to be used again
    std::vector<run*> free_runs_;
    event became_idle_;
    std::uint64_t started_ = 0;
};

}  // namespace weir::service::detail
