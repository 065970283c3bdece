// SPDX-License-Identifier: MIT
// The task service: takes tasks, keeps them in a store, and runs them with handlers.
//
//     auto store = co_await service::open_sqlite_store("tasks.db");
//     service::service tasks(*store);
//     tasks.handle("greet", [](service::job& job) -> task<boost::json::value> { co_return "hello"; });
//     co_await tasks.run();                                   // until stopped: then it drains
//
// Meanwhile, from other tasks of the loop: co_await tasks.submit(service::new_task("greet")). What
// HTTP clients see is in api.hpp.
//
// How a task goes: submit (durable when it returns) -> claimed in a batch with others -> its
// handler runs -> settled in a batch. The store decides whose turn it is and what the limits allow;
// the service runs what it is given, keeps its lease, and stops everything if it cannot.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/service/job.hpp>
#include <weir/service/store.hpp>
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

enum class log_level : unsigned char { debug, info, warning, error };

struct service_options {
    std::size_t workers = 256;       // tasks that run at a time
    std::size_t claim_batch = 1000;  // most that are claimed in one call
    clock::duration default_timeout = std::chrono::minutes(10);
    clock::duration lease = std::chrono::seconds(10);  // then others take a silent node's tasks
    clock::duration heartbeat = std::chrono::seconds(2);
    clock::duration poll = std::chrono::seconds(1);  // looks for others' submits, and for due ones
    clock::duration store_timeout = std::chrono::seconds(5);  // of one call
    clock::duration drain_limit = std::chrono::seconds(25);   // for running tasks, when stopped
    std::uint32_t max_crashes = 3;  // of the process, while a task ran: then that task has failed
    std::size_t max_result_bytes = 1 << 20;  // as JSON; a longer one is a failure of its task
    retention kept{};
    // What the service says about itself. No payloads, no secrets.
    hook<void(log_level, std::string_view)> log{};
    hook<timestamp()> wall_clock{};  // for tests; follows the loop's simulated time by itself
};

struct service_stats {
    std::uint64_t submitted = 0;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  // attempts
    std::uint64_t dead = 0;    // tasks that will not be tried again
    std::uint64_t cancelled = 0;
    std::uint64_t rescued = 0;
    std::uint64_t fenced = 0;  // results that came too late
    std::size_t running = 0;
    bool is_draining = false;
    bool store_is_well = true;
};

class service {
public:
    // The store must outlive it. Throws invalid_argument for options that make no sense.
    explicit service(store& with, const service_options& options = {});
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    ~service();

    // Before run(). Throws invalid_argument if the kind is empty, too long, or known. What
    // 'accepts' refuses is not submitted: who asks for it hears why, instead of a task that fails.
    service& handle(std::string kind, handler run, payload_check accepts = {});
    std::vector<std::string> kinds() const;
    // Throws what submit() would throw for it, whatever the store says.
    void check(const new_task& asked) const;

    // Until stopped. Then it claims no more, waits for what runs up to the drain_limit, stops the
    // rest and gives it back. Throws only what cannot be mended: a bad store at the start.
    task<> run();

    // Each as the store has it, after checking, and so that what can run starts at once. Throw
    // invalid_argument, store_unavailable; unknown_kind if there is no handler.
    task<submit_result> submit(new_task asked);
    task<std::vector<submit_result>> submit(std::vector<new_task> asked);
    task<std::optional<task_detail>> find(task_id id);
    task<std::vector<task_record>> list(task_filter filter);
    task<std::vector<hold>> why(task_id id);
    task<change_result> cancel(task_id id);
    task<change_result> retry(task_id id);
    task<std::size_t> redrive(task_filter filter);
    task<std::vector<queue_record>> queues();
    task<> pause(std::string queue, bool is_paused);
    task<> limit(std::string queue, queue_limits limits);
    task<> put_schedule(schedule asked);
    task<bool> remove_schedule(std::string name);
    task<std::vector<schedule_record>> schedules();

    // Told of every change, on this loop; must not throw, and must outlive the service.
    void observe(store_observer* by) noexcept;

    timestamp now() const;
    service_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;
    store& kept_in() noexcept;

private:
    class core;
    std::unique_ptr<core> core_;
};

// There is no handler for this kind. what() lists those there are.
class unknown_kind : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

}  // namespace weir::service
