// SPDX-License-Identifier: MIT
// The task service: accepts tasks, keeps them in a store, and runs them with handlers.
//
//     auto store = co_await service::open_sqlite_store("tasks.db");
//     service::service tasks(*store);
//     tasks.handle("greet", [](service::job&) -> task<boost::json::value> { co_return "hello"; });
//     co_await tasks.run();                                   // until stopped: then it drains
//
// Meanwhile, from other fibers of the loop: co_await tasks.submit(service::new_task("greet")). The
// HTTP API is in api.hpp.
//
// The life of a task: submitted (durable when submit() returns) -> claimed in a batch with others
// -> run by its handler -> settled in a batch. The store decides which task is next and what the
// limits allow; the service runs the tasks it has claimed, keeps its lease, and stops them if it
// loses the lease.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/service/job.hpp>
#include <weir/service/operation.hpp>
#include <weir/service/store.hpp>
#include <weir/service/trace.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

namespace detail {
class node_news;
class worker_desk;
}  // namespace detail

class workflow_desk;  // in workflow_desk.hpp

enum class log_level : unsigned char { debug, info, warning, error };

struct service_options {
    std::size_t workers = 256;       // tasks that run at a time
    std::size_t claim_batch = 1000;  // most tasks claimed in one call
    clock::duration default_timeout = std::chrono::minutes(10);
    clock::duration lease = std::chrono::seconds(10);  // without a heartbeat
    clock::duration heartbeat = std::chrono::seconds(2);
    clock::duration worker_lease = std::chrono::seconds(30);  // of workers over HTTP
    clock::duration poll = std::chrono::seconds(1);  // between claims, for tasks of other nodes
    clock::duration store_timeout = std::chrono::seconds(5);  // of one store call
    clock::duration drain_limit = std::chrono::seconds(25);   // for running tasks, once stopped
    std::uint32_t max_crashes = 3;  // of the process while a task ran; then the task has failed
    std::size_t max_result_bytes = 1 << 20;  // of JSON; a longer result fails the attempt
    retention kept{};
    tracing_options tracing{};
    // Kinds without a handler that are accepted for workers before the first worker has asked for
    // them: names, or beginnings of names and '*'.
    std::vector<std::string> remote_kinds{};
    // Receives the log. Messages contain no payloads and no secrets.
    hook<void(log_level, std::string_view)> log{};
    // For tests. Empty: the system clock, or on a simulated loop a clock that follows its time.
    hook<timestamp()> wall_clock{};
};

struct service_stats {
    std::uint64_t submitted = 0;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  // attempts
    std::uint64_t dead = 0;    // tasks that will not be retried
    std::uint64_t cancelled = 0;
    std::uint64_t rescued = 0;
    std::uint64_t fenced = 0;  // results that came too late
    std::size_t running = 0;
    bool is_draining = false;
    bool store_is_well = true;
    bool can_claim = true;  // false after a claim that failed, until one succeeds
};

// A process that runs tasks of the store, or has run some lately.
struct node_info : node_record {
    node_info() = default;

    bool is_alive = false;                 // its lease is valid
    bool is_self = false;                  // the process that answers
    std::optional<timestamp> lease_until;  // on the calendar; empty unless it is alive
    // When this process has heard of it: from itself, or else by its last heartbeat. Empty: not
    // since its lease has ended.
    std::optional<timestamp> heard_at;
    std::size_t running = 0;  // tasks
};

class service {
public:
    // The store must outlive the service. Throws invalid_argument for an invalid option.
    explicit service(store& with, const service_options& options = {});
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    ~service();

    // To be called before run(). submit() throws invalid_argument for a payload that 'accepts'
    // refuses, so that the client gets an error instead of a task that fails. Throws
    // invalid_argument if the kind is empty, too long, or has a handler. `where` tells what a task
    // talks to, and what each such destination may take: see destination.hpp.
    service& handle(std::string kind, handler run, payload_check accepts = {},
                    destination_rule where = {});
    std::vector<std::string> kinds() const;
    // Throws as submit() does for an invalid task, without calling the store.
    void check(const new_task& task) const;

    // Runs tasks until it is stopped. Then it claims no more, waits up to drain_limit for the
    // running tasks, stops the rest and returns them to the store. Throws invalid_state if it runs
    // already, and what a broken store throws at the start; it retries while a store is
    // unavailable.
    task<> run();

    // The operations of the store, with arguments checked; tasks that become claimable start at
    // once. All throw store_unavailable and invalid_argument; submit() and put_schedule() throw
    // unknown_kind if the kind has no handler.
    task<submit_result> submit(new_task task);
    // If one of them has dependencies: all tasks or none. Otherwise each on its own.
    task<std::vector<submit_result>> submit(std::vector<new_task> tasks);
    task<std::optional<task_detail>> find(task_id id);
    task<task_page> list(task_filter filter);
    task<std::vector<hold>> why(task_id id);
    task<change_result> cancel(task_id id);
    task<change_result> retry(task_id id, step_policy steps = step_policy::keep);
    task<std::size_t> redrive(task_filter filter);
    task<change_result> remove_task(task_id id);
    // Throws invalid_value for a value or payload that submit() would refuse.
    task<change_result> edit(task_id id, task_edit edit);
    task<std::vector<queue_record>> queues();
    task<std::vector<due_queue>> oldest_due();
    task<> pause(std::string queue, bool is_paused);
    task<> limit(std::string queue, queue_limits limits);
    task<key_settings> change_key(std::string queue, std::string key, key_change change);
    task<std::vector<key_record>> keys(std::string queue, key_query query);
    task<std::vector<destination_record>> destinations(std::size_t limit);
    // Those with a lease first, then the newest; at most max_listed_nodes.
    task<std::vector<node_info>> nodes();
    static constexpr std::size_t max_listed_nodes = 100;
    task<std::vector<endpoint_record>> disabled_endpoints();
    task<bool> enable_endpoint(std::string kind, std::string name);
    task<queue_removal> remove_queue(std::string queue, bool with_pending = false);
    task<> put_schedule(schedule plan);
    task<bool> remove_schedule(std::string name);
    task<std::vector<schedule_record>> schedules();
    // Submits the task of a schedule now; its slots stay. Empty: there is no such schedule.
    task<std::optional<submit_result>> run_schedule(std::string name);
    // False: there is no such schedule.
    task<bool> pause_schedule(std::string name, bool is_paused);

    // Tasks that come after each other, and groups of tasks: see workflow_desk.hpp.
    workflow_desk& workflows() noexcept;

    // Operations on many tasks, made while run() runs: see operation.hpp. start_operation() throws
    // invalid_value and too_many_operations. stop_operation() waits until the operation has ended;
    // empty: unknown, as for find_operation().
    operation_record start_operation(new_operation request);
    std::vector<operation_record> operations() const;  // newest first
    std::optional<operation_record> find_operation(std::string_view id) const;
    task<std::optional<operation_record>> stop_operation(std::string id);

    // The observer hears of every change of the store, on this loop. It must outlive the service.
    // Null: none.
    void observe(store_observer* observer) noexcept;
    // How long ended tasks are kept from now on: the next sweep, within a minute, goes by it.
    void keep(const retention& kept) noexcept;
    // Called when run() begins to drain. Must not throw. Empty: none.
    void on_drain(hook<void()> call) noexcept;

    timestamp now() const;
    moment moment_now() const;
    service_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    store& kept_in() noexcept;
    // For the API.
    detail::worker_desk& workers() noexcept;
    detail::node_news& news() noexcept;

private:
    struct components;
    std::unique_ptr<components> parts_;
};

// The kind has no handler. what() lists the known kinds.
class unknown_kind : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

}  // namespace weir::service
