// SPDX-License-Identifier: MIT
// The part of a task manager that does not depend on the types of what it runs.
#pragma once

#include <weir/flow/detail/task_body.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/task_events.hpp>
#include <weir/flow/task_store.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/handle.hpp>
#include <weir/local.hpp>
#include <weir/refusal.hpp>
#include <weir/sync/event.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct task_manager_options {
    std::string_view name = "tasks";
    std::size_t concurrency = 10;       // tasks that run at a time
    std::size_t most_pending = 10'000;  // more are refused: queue_full
    // Finished tasks are kept so many, and so long; then they are removed from the store.
    std::size_t keep = 1000;
    clock::duration keep_for = std::chrono::hours(1);
    std::size_t event_history = 1024;    // events kept for subscribers that lag or come back
    task_store* store = nullptr;         // null: the manager's own, in memory
    weir::executor* executor = nullptr;  // for functions that block; null: they are not accepted
    // A call of the store that fails is made again so often, after a delay that doubles.
    unsigned store_attempts = 5;
    clock::duration store_retry = std::chrono::milliseconds(100);
    // What the time in records is; default: the time of day when the manager was first used, moved
    // on by the loop's clock; in simulated time the beginning of 1970.
    hook<wall_time()> wall_clock{};
    weir::observer* observer = nullptr;  // "failed", "refused", "store_error", "shut_down"
};

struct task_manager_stats {
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;
    std::uint64_t removed = 0;       // finished ones, to make room or by age
    std::uint64_t store_errors = 0;  // calls of the store that threw
    std::uint64_t unsaved = 0;       // tasks whose end the store would not take
    // Now:
    std::size_t pending = 0;
    std::size_t running = 0;
    std::size_t kept = 0;  // finished
};

namespace detail {

enum class task_phase : unsigned char { inserting, queued, starting, running, finishing, finished };

// A task of this process, from submission until its end is stored.
struct live_task {
    managed_task record;  // as the store has it; progress may be ahead
    task_phase phase = task_phase::inserting;
    task_body body;
    std::optional<context> locals;  // of whoever submitted it, if there were any
    any_handle fiber;               // while it runs
    bool cancel_requested = false;
    std::string cancel_reason;
    std::shared_ptr<stop_flag> stop = std::make_shared<stop_flag>();
    bool progress_is_new = false;
    any_handle progress_writer;
    event ended;
};

class task_manager_core : public std::enable_shared_from_this<task_manager_core> {
public:
    using live_pointer = std::shared_ptr<live_task>;
    using core_pointer = std::shared_ptr<task_manager_core>;
    using named_handler = unique_function<task<task_value>(task_context&, std::string)>;

    explicit task_manager_core(const task_manager_options& options);

    executor* blocking_executor() const noexcept { return executor_; }
    const std::string& name() const noexcept { return name_; }
    [[noreturn]] void throw_refused(const refusal& why, std::string_view id) const;

    // Lets it in, under its id or a new one, or says why not.
    static task<std::optional<refusal>> submit(core_pointer self, live_pointer fresh);
    void define(std::string name, named_handler handler);
    task_body body_for(const std::string& name, std::string payload);  // empty: no such handler
    static task<std::size_t> recover(core_pointer self);

    bool request_cancel(std::string_view id, std::string_view reason);
    static task<bool> cancel(core_pointer self, std::string id, std::string reason);
    static task<std::optional<managed_task>> get(core_pointer self, std::string id);
    static task<managed_task> wait(core_pointer self, std::string id);
    static task<std::vector<managed_task>> list(core_pointer self, task_query query);
    task_events subscribe(std::optional<std::uint64_t> seen);

    void progress(live_task& of, double fraction, std::string_view message);
    void close(shutdown_mode mode);
    static task<void> drain(core_pointer self);
    static task<void> shutdown(core_pointer self, shutdown_mode mode);
    bool is_closed() const noexcept { return is_closed_; }

    task_manager_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    // In the frame of the fiber that drives a task, from before it starts.
    class driving {
    public:
        driving(core_pointer manager, live_pointer driven, bool takes_a_slot) noexcept
            : manager_(std::move(manager)),
              driven_(std::move(driven)),
              takes_a_slot_(takes_a_slot) {}
        driving(driving&&) noexcept = default;
        driving& operator=(driving&&) = delete;
        ~driving() {
            if (manager_ != nullptr) {
                manager_->driven(driven_, takes_a_slot_);
            }
        }
        task_manager_core& manager() const noexcept { return *manager_; }
        const live_pointer& task() const noexcept { return driven_; }

    private:
        core_pointer manager_;
        live_pointer driven_;
        bool takes_a_slot_;
    };
    // In the frame of the fiber that inserts a task, from before it starts: unless the task is
    // accepted, it becomes unknown again.
    class entering {
    public:
        entering(core_pointer manager, live_pointer fresh);
        entering(entering&&) noexcept = default;
        entering& operator=(entering&&) = delete;
        ~entering() {
            if (manager_ != nullptr) {
                manager_->forget(*fresh_);
            }
        }
        task_manager_core& manager() const noexcept { return *manager_; }
        const live_pointer& task() const noexcept { return fresh_; }
        void accepted();

    private:
        core_pointer manager_;
        live_pointer fresh_;
    };
    enum class saved : unsigned char { yes, conflict, failed };
    struct save_result {
        explicit save_result(saved ended, std::exception_ptr thrown = nullptr) noexcept
            : how(ended), error(std::move(thrown)) {}
        saved how;
        std::exception_ptr error;
    };
    // In the frame of a fiber that writes progress, or (without a task) removes old records.
    class helping {
    public:
        helping(core_pointer manager, live_pointer of) noexcept
            : manager_(std::move(manager)), of_(std::move(of)) {
            ++manager_->helpers_;
            manager_->update_quiet();
        }
        helping(helping&&) noexcept = default;
        helping& operator=(helping&&) = delete;
        ~helping() {
            if (manager_ != nullptr) {
                manager_->helped(of_);
            }
        }
        task_manager_core& manager() const noexcept { return *manager_; }
        live_task& task() const noexcept { return *of_; }

    private:
        core_pointer manager_;
        live_pointer of_;
    };

    // The life of a task: src/flow/task_manager.cpp
    static task<std::optional<refusal>> accept(entering self);
    void forget(live_task& refused) noexcept;
    std::optional<refusal> refuse(refusal_reason why);
    void enqueue(const live_pointer& accepted);
    void start_more();
    void start(task<void> driver, live_task& driven);
    static task<void> drive(driving self);
    static task<void> drive_to_cancelled(driving self);
    static task<task_value> run_body(driving& self);
    bool cancel_live(const live_pointer& of, std::string_view reason);
    void driven(const live_pointer& ended, bool took_a_slot) noexcept;
    void conclude(const live_pointer& ended) noexcept;
    void update_quiet() noexcept;
    std::size_t pending() const noexcept { return unfinished_ - std::min(unfinished_, running_); }

    // Records and the store: src/flow/task_manager_store.cpp
    task<bool> begin(const live_pointer& of);  // false: it must not run
    task<void> finish(const live_pointer& of, managed_task final);
    managed_task final_record(const live_task& of, outcome<task_value> ended);
    task<outcome<std::optional<managed_task>>> look_up(const std::string& id);
    task<saved> insert(const managed_task& fresh);
    task<save_result> save(const managed_task& next, task_state expected);
    task<void> pause_before_retry(unsigned attempt);
    void store_failed() noexcept;
    static task<void> write_progress(helping self);
    void helped(const live_pointer& of) noexcept;
    bool is_too_old(const managed_task& finished);
    void keep(const managed_task& finished);
    bool has_old();
    void sweep();
    static task<void> remove_old(helping self);

    void publish(task_event_kind kind, const managed_task& about);
    void tell(std::string_view what) noexcept;
    wall_time wall_now();

    std::string name_;
    std::size_t concurrency_;
    std::size_t most_pending_;
    std::size_t keep_;
    clock::duration keep_for_;
    std::unique_ptr<task_store> own_store_;
    task_store& store_;
    executor* executor_;
    unsigned store_attempts_;
    clock::duration store_retry_;
    hook<wall_time()> wall_clock_;
    weir::observer* observer_;

    std::map<std::string, live_pointer, std::less<>> live_;
    std::deque<live_pointer> queue_;
    std::map<std::string, std::shared_ptr<named_handler>, std::less<>> handlers_;
    std::deque<managed_task> finished_;  // only id, token, revision, and when: oldest first
    std::shared_ptr<event_feed> feed_;
    std::size_t running_ = 0;     // slots taken
    std::size_t unfinished_ = 0;  // live ones that have not ended
    std::size_t helpers_ = 0;     // fibers that write progress or remove old records
    event quiet_;                 // set while both are 0
    std::uint64_t last_token_ = 0;
    std::optional<std::pair<wall_time, clock::time_point>> wall_base_;
    bool is_closed_ = false;
    bool cancels_pending_ = false;
    bool cancels_running_ = false;
    bool is_starting_ = false;
    bool is_sweeping_ = false;
    task_manager_stats counts_;
};

}  // namespace detail
}  // namespace weir
