// SPDX-License-Identifier: MIT
// store: where tasks are kept, queues known and turns taken. All that must survive a crash, or be
// agreed on by several nodes, is decided here, each call as one transaction that is durable when it
// returns (claims, heartbeats and progress outlive the process, and the machine with the next call
// that is not one of these).
//
// Rules that every store keeps, and that tests/service_store checks:
// - Fences. A writer names a run by task id, run number and node; a write for a run that is over
//   changes nothing and says so. So a node presumed dead does no harm when it returns.
// - Leases belong to nodes, not to tasks: one heartbeat keeps all that a node runs. A node whose
//   lease is over has lost its tasks for good; it learns that from its next heartbeat.
// - Counts of queues and what runs per flow key are part of the same transactions: no crash leaks a
//   slot.
// - A call that throws store_unavailable has done nothing that lasts, or cannot say; it can be
//   repeated, since submits with an idempotency key, and all fenced writes, do no harm twice.
//
// Times come from the caller, so that tests decide them. A store belongs to one loop.
#pragma once

#include <weir/db/error.hpp>
#include <weir/error.hpp>
#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/task.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service {

// The store cannot be used now: its disk is full, its file locked or read-only, its server away.
// what() says which. The service answers 503 and retries. Stores throw another error for a call
// that can never succeed, such as one with a value that is too large.
class store_unavailable : public db::error {
public:
    explicit store_unavailable(const std::string& what,
                               db::retry_advice advice = db::retry_advice::if_harmless)
        : db::error(what, advice) {}
};

// There are max_queues already, and this would be one more.
class too_many_queues : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

// ---- submitting

struct submit_result {
    enum class verdict : unsigned char {
        made,
        duplicate,        // its idempotency key is known: id is the first one's
        conflict,         // the same, but that task is another: kind, queue or payload differ
        queue_full,       // max_pending
        too_many_queues,  // it would make another one, and there are max_queues
    };
    verdict what = verdict::made;
    task_id id;
};

// ---- running

struct node_record {
    node_record() = default;

    std::string id;    // new for every start of a process
    std::string host;  // machine and boot: its processes can be probed
    std::int64_t pid = 0;
    timestamp started_at{};
    timestamp expires_at{};
};

struct claim_request {
    std::string_view node;
    timestamp now{};
    std::size_t limit = 1;  // free workers
};

struct claimed {
    claimed() = default;

    std::vector<task_record> tasks;  // running now, in the order of their turns
    std::optional<timestamp>
        next_at;  // when there may be more though nothing changes meanwhile: now, if only the limit of this
                  // call was in the way; empty: never
};

// Which run, of which node.
struct run_key {
    task_id id;
    std::uint32_t run = 0;
};

// The result of a run.
struct settlement {
    settlement() = default;

    run_key key;
    // completed, failed, cancelled; or pending: to be run again at due_at. Pending becomes
    // cancelled if a cancellation was requested meanwhile.
    task_state state = task_state::completed;
    timestamp due_at{};
    std::uint32_t failures = 0;          // as it is now
    std::optional<attempt_end> attempt;  // goes into the history, with the error
    std::string result;
    std::string error;
    std::string held_by;
};

struct progress_note {
    progress_note() = default;

    run_key key;
    double progress = 0;
    std::string message;
};

struct heartbeat_answer {
    heartbeat_answer() = default;

    bool is_alive = true;             // false: the lease was over, and other nodes own its tasks
    std::vector<run_key> cancelling;  // runs of this node that are to end
};

struct rescue_result {
    std::size_t returned = 0;   // to be run again
    std::size_t failed = 0;     // crashed too often
    std::size_t cancelled = 0;  // were to end anyway
};

// ---- asking

struct task_filter {
    task_filter() = default;

    std::optional<task_state> state;
    std::optional<task_view> view;
    std::string queue;  // empty: any; so for all
    std::string kind;
    std::string tag;
    std::string flow_key;
    std::optional<timestamp> created_from;  // included
    std::optional<timestamp> created_to;    // excluded
    task_id before;                         // older than this one: the cursor
    std::size_t limit = 50;
    bool is_brief = false;  // lists: without payload ('null') and result, which may be long
};

struct task_detail {
    task_detail() = default;

    task_record task;
    std::vector<attempt_record> attempts;  // oldest first, the latest 20
};

// One reason why a task does not run now.
struct hold {
    enum class reason : unsigned char {
        finished,      // it has ended
        running,       // it does
        not_due,       // until
        postponed,     // by its handler: detail says why
        paused,        // the queue
        queue_full,    // max_running
        queue_rate,    // until
        key_full,      // key_max_running
        key_rate,      // until
        no_handler,    // no handler for its kind
        workers_busy,  // all
        draining,      // the service ends
        its_turn,      // nothing: it is next, or behind others
    };
    hold() = default;

    reason why{};
    std::optional<timestamp> until;
    std::string detail;
};
std::string_view to_string(hold::reason why) noexcept;

enum class change_result : unsigned char {
    done,
    requested,  // cancel: it runs, and ends when its node has heard
    not_found,
    no_change,  // it is so already, or cannot be: cancelling what has ended, retrying what runs
};

// How long tasks that have ended are kept.
struct retention {
    std::chrono::seconds completed = std::chrono::hours(24);
    std::chrono::seconds failed = std::chrono::hours(24 * 30);
    std::chrono::seconds cancelled = std::chrono::hours(24 * 7);
    // And queues without tasks that are not paused and have no limits, since they were used last.
    std::chrono::seconds queues = std::chrono::hours(24);
};

// A change that lasts. Also progress, which may be lost.
struct task_event {
    task_event() = default;

    task_id id;
    std::string kind;
    std::string queue;
    task_view view{};
    std::uint32_t run = 0;
    std::uint32_t failures = 0;
    double progress = 0;
    std::string message;  // with progress; the error of a failed run
    timestamp at{};
    timestamp due_at{};      // as in task_record: how long it waited is started_at - due_at
    timestamp started_at{};  // its last run; 0 before the first
};

class store_observer {
public:
    // After each transaction that changed tasks, on the store's loop.
    virtual void changed(std::span<const task_event> events) noexcept = 0;
    // A queue was paused, resumed, limited.
    virtual void queue_changed(std::string_view queue) noexcept = 0;

protected:
    ~store_observer() = default;
};

class store {
public:
    virtual ~store() = default;

    // The store does not check its arguments: the service has done so. One result per task, in
    // their order.
    virtual task<std::vector<submit_result>> submit(std::vector<new_task> fresh, timestamp now) = 0;

    // Tasks for free workers, fair between flow keys, within all limits; they are running then.
    // None for a node without a lease: each run needs a responsible node.
    virtual task<claimed> claim(claim_request asked) = 0;
    // The runs of this node in the store, including those of a claim whose answer was lost.
    virtual task<std::vector<run_key>> running_on(std::string_view node) = 0;
    // One answer per settlement: false if the run is over for the store, and nothing was written.
    virtual task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                           timestamp now) = 0;
    virtual task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                                 timestamp now) = 0;

    // The first one registers the node. Prolongs its lease until expires_at, unless that is over,
    // or another process has that id.
    virtual task<heartbeat_answer> heartbeat(node_record node, timestamp now) = 0;
    virtual task<std::vector<node_record>> nodes() = 0;
    // Ends a node's lease now: it is known to be gone, or says goodbye.
    virtual task<> retire(std::string_view node) = 0;
    // Takes the tasks of nodes whose lease is over: they may run again at once, or fail if they
    // have crashed max_crashes times now. All of them, in steps of a bounded size.
    virtual task<rescue_result> rescue(timestamp now, std::uint32_t max_crashes) = 0;

    virtual task<std::optional<task_detail>> find(task_id id) = 0;
    virtual task<std::vector<task_record>> list(task_filter filter, timestamp now) = 0;
    // The reasons known to the store why the task does not run; empty if there is no such task.
    virtual task<std::vector<hold>> why(task_id id, timestamp now) = 0;
    virtual task<change_result> cancel(task_id id, timestamp now) = 0;
    // Runs a failed or cancelled task again, with all its attempts, and a task that waits for its
    // time at once.
    virtual task<change_result> retry(task_id id, timestamp now) = 0;
    // The same for failed tasks that match, up to the filter's limit, oldest failure first. Returns
    // their number.
    virtual task<std::size_t> redrive(task_filter filter, timestamp now) = 0;

    virtual task<std::vector<queue_record>> queues() = 0;
    // Both create the queue if it does not exist, or throw too_many_queues.
    virtual task<> pause(std::string_view queue, bool is_paused) = 0;
    virtual task<> limit(std::string_view queue, queue_limits limits) = 0;

    // Creates or replaces it. Its current slot is kept if the times are unchanged and it was not
    // paused: slots during a pause are skipped.
    virtual task<> put_schedule(schedule asked, timestamp next_slot) = 0;
    virtual task<bool> remove_schedule(std::string_view name) = 0;
    virtual task<std::vector<schedule_record>> schedules() = 0;
    // Moves the schedule from this slot to the next and makes its task, both or none. Nothing if
    // the schedule is gone, paused, or not at this slot any more. It stays there if the queue is
    // full. The task's run_at, where it has one, is the last_slot then: the latest of several that
    // were missed. Without a task: the slot is skipped, and the answer has no id.
    virtual task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                                    timestamp next_slot,
                                                    std::optional<new_task> fresh,
                                                    timestamp now) = 0;

    // Removes what has been kept long enough, in one step of a bounded size: how many tasks. Also
    // what they leave behind: flow keys, queues, and nodes that are gone.
    virtual task<std::size_t> purge(retention kept, timestamp now) = 0;

    // A small transaction: throws store_unavailable if it cannot be written. For /readyz.
    virtual task<> probe() = 0;
    virtual task<> close() = 0;

    // At most one observer, or null. The store keeps the pointer.
    virtual void observe(store_observer* by) noexcept = 0;
};

}  // namespace weir::service
