// SPDX-License-Identifier: MIT
// Claims tasks for the polls of workers that wait, one call of the store for all of them.
#pragma once

#include "service/engine/event_log.hpp"
#include "service/engine/store_client.hpp"
#include "service/workers/poll_board.hpp"
#include "service/workers/worker_runs.hpp"
#include "service/workers/worker_sessions.hpp"

#include <weir/service/service.hpp>
#include <weir/service/store.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class worker_claimer {
public:
    worker_claimer(store_client& store, const wall_clock& time, const event_log& log,
                   worker_sessions& sessions, worker_runs& runs,
                   const service_options& options) noexcept
        : store_(store),
          time_(time),
          log_(log),
          sessions_(sessions),
          runs_(runs),
          options_(options) {}
    worker_claimer(const worker_claimer&) = delete;
    worker_claimer& operator=(const worker_claimer&) = delete;

    task<> run();

    // A poll begins, and ends.
    void add(std::shared_ptr<waiting_poll> poll, const worker_session& session);
    void remove(waiting_poll& poll) noexcept { board_.remove(poll); }
    void end_all(poll_answer::verdict how);
    std::size_t waiting() const noexcept { return board_.size(); }

    // What the store tells of tasks.
    void tasks_changed(std::span<const task_event> events);
    void queue_changed();

private:
    task<> claim(std::vector<std::shared_ptr<waiting_poll>> polls);
    void take_answer(waiting_poll& poll, worker_claim_answer answer);
    void look_at(clock::time_point when);

    store_client& store_;
    const wall_clock& time_;
    const event_log& log_;
    worker_sessions& sessions_;
    worker_runs& runs_;
    const service_options& options_;
    poll_board board_;
    event wake_;
    clock::time_point next_look_ = clock::time_point::max();  // at all groups of polls
    clock::time_point not_before_{};                          // after a claim that failed
    decision::backoff delays_{store_backoff_options};
};

}  // namespace weir::service::detail
