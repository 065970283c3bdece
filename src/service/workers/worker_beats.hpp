// SPDX-License-Identifier: MIT
// Writes the heartbeats of workers: those of a tenth of a second in one call of the store. Each is
// answered after the commit, so a worker that has an answer has its lease.
#pragma once

#include "service/engine/store_client.hpp"
#include "service/engine/wall_clock.hpp"

#include <weir/service/worker.hpp>
#include <weir/sync/event.hpp>

#include <exception>
#include <memory>
#include <vector>

namespace weir::service::detail {

class worker_beats {
public:
    static constexpr std::size_t max_batch = 500;

    worker_beats(store_client& store, const wall_clock& time) noexcept
        : store_(store), time_(time) {}
    worker_beats(const worker_beats&) = delete;
    worker_beats& operator=(const worker_beats&) = delete;

    // Throws store_unavailable, also while run() does not run.
    task<worker_answer> renew(worker_beat beat);
    task<> run();

private:
    struct waiting {
        worker_beat beat;
        worker_answer answer;
        std::exception_ptr failure;
        event done;
    };
    using batch = std::vector<std::shared_ptr<waiting>>;

    task<> write_batch();
    static void fail(const batch& all, const std::exception_ptr& why);

    store_client& store_;
    const wall_clock& time_;
    batch queued_;
    event has_queued_;
    bool is_running_ = false;
};

}  // namespace weir::service::detail
