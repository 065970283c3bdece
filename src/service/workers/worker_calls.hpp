// SPDX-License-Identifier: MIT
// What workers ask of the service over the API, and what the worker_desk answers.
#pragma once

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/flow/hook.hpp>
#include <weir/service/store.hpp>
#include <weir/service/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// This server knows as many sessions as it may.
class too_many_workers : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

struct new_worker {
    new_worker() = default;

    std::string name;
    std::vector<std::string> kinds;
    std::vector<std::string> queues;  // empty: all
    std::string sdk;
};

// The times that a worker has to keep.
struct worker_terms {
    clock::duration lease = std::chrono::seconds(30);
    clock::duration heartbeat = std::chrono::seconds(10);
    clock::duration wait = std::chrono::seconds(25);  // the longest poll
};

struct worker_poll {
    worker_poll() = default;

    std::uint64_t number = 0;
    std::size_t free = 1;
    clock::duration wait{};
    // Nothing is claimed for a client that has gone.
    std::function<bool()> is_client_connected;
};

// A task for a worker.
struct worker_task {
    worker_task() = default;

    task_record task;
    clock::duration left{};   // until its timeout
    std::string traceparent;  // of its run; empty: none
};

struct poll_answer {
    enum class verdict : unsigned char {
        claimed,   // with tasks
        none,      // nothing to do, or news for the worker: it sends a heartbeat
        outdated,  // the worker has sent a later poll
        gone,      // unknown, or its lease has ended
        draining,  // this service shuts down; another one may answer
    };
    poll_answer() = default;
    explicit poll_answer(verdict is) : what(is) {}

    verdict what = verdict::none;
    std::vector<worker_task> tasks;
};

// What a worker says of a run.
struct reported_run {
    reported_run() = default;

    run_key key;
    std::optional<double> progress;  // 0 to 1
    std::string message;
};

struct worker_heartbeat {
    worker_heartbeat() = default;

    std::vector<reported_run> running;
    std::size_t free = 0;
    clock::duration poll_age{};                    // since the worker's last poll
    std::optional<std::uint64_t> answered_poll{};  // when it made the list; 0: none
};

struct worker_news {
    worker_news() = default;

    bool is_alive = false;
    bool is_draining = false;
    std::vector<run_key> cancel;
    std::vector<run_key> lost;
};

enum class worker_outcome : unsigned char { completed, failed, postponed, cancelled, released };

// How a run has ended.
struct worker_result {
    worker_result() = default;

    run_key key;
    worker_outcome outcome{};
    std::string result = "null";  // JSON, as the worker wrote it
    std::string error;            // of a failure; or why it is postponed
    bool is_permanent = false;
    std::optional<std::chrono::milliseconds> delay;  // of a failure at least; of a postponement
};

struct result_verdict {
    result_verdict() = default;

    bool is_accepted = false;
    std::string why;  // if it is not
};

// All workers, and the kinds that they take.
struct worker_overview {
    worker_overview() = default;

    std::vector<worker_status> workers;
    std::vector<worker_kind> kinds;
    moment now;
};

// 'ok', 'drain', 'stuck': it has room and does not poll; or 'gone': its lease has ended.
inline std::string_view state_of(const worker_status& worker, moment now) noexcept {
    return worker.expires_at <= now.steady ? "gone"
           : worker.is_draining            ? "drain"
           : worker.is_stuck(now.steady)   ? "stuck"
                                           : "ok";
}

}  // namespace weir::service::detail
