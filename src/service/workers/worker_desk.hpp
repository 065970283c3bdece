// SPDX-License-Identifier: MIT
// The service as workers see it: sessions, polls, heartbeats, results and steps, and tasks for
// clients without a session. One object for each service; the API calls it.
//
//   worker_sessions   which workers have called here
//   worker_claimer    claims tasks for polls that wait        -> worker_runs
//   worker_beats      writes heartbeats
//   worker_runs       remembers what runs, and writes how it ends
#pragma once

#include "service/engine/handler_registry.hpp"
#include "service/workers/worker_beats.hpp"
#include "service/workers/worker_claimer.hpp"
#include "service/workers/worker_runs.hpp"
#include "service/workers/worker_sessions.hpp"

#include <weir/flow/telemetry.hpp>
#include <weir/service/service.hpp>
#include <weir/service/worker.hpp>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class worker_desk final : public store_observer {
public:
    static constexpr std::size_t max_sessions = 20'000;

    worker_desk(store_client& store, const wall_clock& time, const event_log& log,
                handler_registry& handlers, settlement_builder& builder, claim_trigger& claims,
                task_metrics& metrics, tracer& traces, const service_options& options);
    worker_desk(const worker_desk&) = delete;
    worker_desk& operator=(const worker_desk&) = delete;

    // Until it is stopped.
    task<> run();
    void open() noexcept { is_closed_ = false; }
    // The service shuts down: polls end, and workers find another server, or this one again.
    void close();

    const worker_terms& terms() const noexcept { return terms_; }

    // All throw store_unavailable. A session that is unknown, or whose lease has ended, is `gone`,
    // or not alive, or an empty answer.

    // Returns the id of the session. Throws invalid_value for kinds that have a handler here,
    // too_many_worker_kinds and too_many_workers.
    task<std::string> add(new_worker worker);
    // Null: gone.
    task<std::shared_ptr<worker_session>> find(std::string worker) {
        return sessions_.find(std::move(worker));
    }
    // Waits for tasks. A later poll of the session ends it.
    task<poll_answer> poll(std::string worker, worker_poll request);
    task<worker_news> heartbeat(std::string worker, worker_heartbeat beat);
    task<std::vector<result_verdict>> settle(std::string worker,
                                             std::vector<worker_result> results);
    task<step_answer> keep_step(std::string worker, run_key key, step_record step);
    // False: gone.
    task<bool> drain(std::string worker);
    task<bool> remove(std::string worker);

    // A task without a session: the session of one that is made for it is the handle. `name` and
    // `request_id` (empty: none) decide its id, so that a repeated request gets the same task.
    struct single_claim {
        single_claim() = default;

        std::string kind;
        std::vector<std::string> queues;  // empty: any
        std::string name;                 // of the client
        std::string request_id;
        clock::duration wait{};
        clock::duration lease{};
        std::function<bool()> is_client_connected;
    };
    struct claimed_one {
        claimed_one() = default;

        std::string worker;  // its session
        std::optional<worker_task> task;
        bool is_draining = false;
    };
    task<claimed_one> claim_one(single_claim request);
    // The lease lasts so long from now. Not alive: the task is lost.
    task<worker_news> extend(std::string worker, reported_run run, clock::duration lease);

    task<worker_overview> overview();
    task<bool> forget_kind(std::string kind);
    // The kind is not known here, and the store was not asked lately: another server may have
    // registered it.
    bool may_learn(const std::string& kind) const;
    // Asks the store for registered kinds.
    task<> learn_kinds();

    void changed(std::span<const task_event> events) noexcept override;
    void queue_changed(std::string_view queue) noexcept override;
    // Somebody waits for news of the store.
    bool is_used() const noexcept { return is_used_; }
    // Called once, when that begins.
    void on_first_use(std::function<void()> call) { on_first_use_ = std::move(call); }

    void add_to(service_stats& stats) const noexcept { runs_.add_to(stats); }
    void write_metrics(metric_writer& to) const;

private:
    class open_poll;

    void begin_use();
    void check_new(const std::vector<std::string>& kinds) const;
    std::string fresh_id();
    void tell(const std::string& worker);
    task<worker_answer> renew(worker_beat beat, std::span<const reported_run> running,
                              clock::duration lease);
    task<> watch();
    task<> read_kinds();
    void warn_unserved(std::span<const worker_kind> kinds);

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    handler_registry& handlers_;
    const worker_terms terms_;
    worker_sessions sessions_;
    worker_runs runs_;
    worker_claimer claimer_;
    worker_beats beats_;
    std::function<void()> on_first_use_;
    bool is_used_ = false;
    bool is_closed_ = false;
    clock::time_point kinds_read_at_ = clock::time_point::min();
    std::set<std::string> unserved_;  // kinds that the log has told of
};

}  // namespace weir::service::detail
