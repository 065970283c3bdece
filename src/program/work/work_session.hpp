// SPDX-License-Identifier: MIT
// A worker of the service as a client sees it: it registers, polls for tasks, renews its lease, and
// delivers results until they are accepted. Everything is repeated with a growing delay, for ever;
// polls with the same number, so that no task gets lost.
#pragma once

#include "program/tasks/remote.hpp"
#include "program/work/task_program.hpp"

#include <weir/clock.hpp>
#include <weir/flow/decision/backoff.hpp>
#include <weir/group.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace weir::program {

struct work_options {
    work_options() = default;

    std::string kind;
    std::string name;
    std::vector<std::string> queues;  // empty: all
    std::size_t concurrency = 1;
    task_program program;
    std::function<void(const std::string&)> log;
};

class work_session {
public:
    work_session(remote& service, work_options options);
    work_session(const work_session&) = delete;
    work_session& operator=(const work_session&) = delete;

    // Works until drain() was called and all has ended. Throws remote_error if the service refuses
    // the worker for good. A stop returns the tasks that run to the service.
    task<> run();
    // Takes no more tasks.
    void drain();
    // Stops the programs that run: their tasks are returned to the service, unspent.
    void release_all();
    bool is_idle() const noexcept { return runs_.empty() && results_.empty(); }
    task<> wait_until_idle();

private:
    enum class stop_reason : unsigned char { none, cancelled, lost, released, timed_out };
    struct active_run {
        given_task task;
        cancel_scope* scope = nullptr;
        stop_reason why = stop_reason::none;
        double progress = 0;
        std::string message;
        bool has_progress = false;

        void stop(stop_reason reason) {
            if (why == stop_reason::none) {
                why = reason;
                if (scope != nullptr) {
                    scope->cancel();
                }
            }
        }
    };

    struct result {
        std::string key;      // '{"id":..,"run":..'
        std::string members;  // of its outcome
        bool is_replaced = false;
    };

    task<> run_in(task_group group);
    task<> add_worker();
    task<> poll(task_group group);
    task<bool> poll_once(const task_group& group);
    task<> keep_lease();
    task<> send_heartbeat();
    task<> deliver();
    task<bool> deliver_once();
    void take_refusal(const std::string& session, std::string_view detail);
    task<> execute(std::list<active_run>::iterator current);
    void take_tasks(std::string_view text, const task_group& group);
    void begin_anew(const std::string& session, std::string_view reason);
    void stop_listed(const boost::json::value& news, std::string_view member, stop_reason why);
    task<> pause(decision::backoff& delays, std::string_view problem);
    std::string path(std::string_view call) const { return "/workers/" + id_ + std::string(call); }

    remote& service_;
    const work_options options_;
    decision::random_source random_;
    std::string id_;  // empty: to be registered
    clock::duration lease_{};
    clock::duration heartbeat_{};
    clock::duration wait_{};
    clock::time_point lease_until_{};
    clock::time_point polled_at_{};
    std::uint64_t poll_number_ = 1;
    bool is_draining_ = false;
    bool is_out_of_reach_ = false;  // the last call has failed
    std::list<active_run> runs_;
    std::vector<result> results_;
    bool is_one_by_one_ = false;  // how results are delivered
    event changed_;               // of runs, results, or the drain
    event wants_heartbeat_;
    event has_results_;
};

}  // namespace weir::program
