// SPDX-License-Identifier: MIT
// store: the interface to the storage of tasks, queues, nodes and schedules. The store decides
// everything that must survive a crash or that several nodes must agree on. Each call is one
// transaction, durable when the call returns. Claims, heartbeats and progress survive a crash of
// the process at once, and a power failure after the next call of another kind.
//
// Rules that every store keeps, and that tests/service/store checks:
// - Fences. A node names the task that it runs by id, run and node. A write for a run that has
//   ended changes nothing and returns that. So a node presumed dead cannot change anything when it
//   returns.
// - Leases belong to nodes, not to tasks: one heartbeat renews the lease for all tasks that a node
//   runs. A node whose lease has ended has lost its tasks for good; its next heartbeat tells it.
// - The counts of queues, flow keys and destinations change in the same transactions: no crash
//   leaks a slot.
// - The end of a task creates the tasks that deliver its callbacks in the same transaction,
//   whatever ends it: a settlement, a rescue or a cancel. Their queue takes them even if it is
//   full; where it does not exist and max_queues forbids it, the queue of the ended task takes
//   them.
// - A call that throws store_unavailable has changed nothing, or does not know. The caller can
//   repeat it: submits with an idempotency key and all fenced writes are safe to repeat.
//
// Times come from the caller, so that tests can choose them, on the two clocks of a `moment`. A
// store belongs to one loop.
#pragma once

#include <weir/db/error.hpp>
#include <weir/error.hpp>
#include <weir/service/destination.hpp>
#include <weir/service/flow_key.hpp>
#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/task.hpp>
#include <weir/service/worker.hpp>
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

// The store is not available now: its disk is full, its file is locked or read-only, or its server
// cannot be reached; what() says which. The service answers 503 and retries by itself. Stores throw
// other errors for requests that can never succeed, such as a value that is too large.
class store_unavailable : public db::error {
public:
    explicit store_unavailable(const std::string& what,
                               db::retry_advice advice = db::retry_advice::if_harmless)
        : db::error(what, advice) {}
};

// The call would create one queue more than max_queues.
class too_many_queues : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

class workflow_store;  // in workflow_store.hpp
class node_channel;    // in node_channel.hpp

// ---- submitting

struct submit_result {
    enum class verdict : unsigned char {
        made,
        // A task with this idempotency key exists, or one holds this unique key: id is that task's.
        duplicate,
        conflict,         // the same, but kind, queue or payload differ
        queue_full,       // max_pending
        too_many_queues,  // its queue would be one more than max_queues
        // Of a schedule whose overlap is skip: its last task, id, is pending or running.
        overlap,
    };
    verdict what = verdict::made;
    task_id id;
    // Of a schedule whose overlap is replace: its last task, if that was running and is being
    // cancelled now.
    task_id replaced{};
};
// Whether the same task may be submitted later.
inline bool is_refused(submit_result::verdict what) noexcept {
    return what == submit_result::verdict::queue_full ||
           what == submit_result::verdict::too_many_queues;
}

// ---- running

struct node_record {
    node_record() = default;

    std::string id;    // new for every start of a process
    std::string host;  // machine and boot: on the same host, a pid shows whether the process lives
    std::int64_t pid = 0;
    timestamp started_at{};
    timestamp expires_at{};  // on the steady clock
    // The steady clock is the loop's clock plus this. Loops of one machine count from the same
    // moment, so nodes with the same host and offset have the same steady clock.
    std::chrono::microseconds clock_offset{0};
    bool is_worker = false;  // a session of a worker, see worker.hpp: it has no process here
};

struct claim_request {
    std::string_view node;
    moment now{};
    std::size_t limit = 1;  // free workers
    // That of the last answer; 0: none. If the store's is another one by now, nothing is claimed:
    // the store may have lost runs of this node, and would give them out again under the same
    // numbers. The node compares its runs with running_on() first.
    std::int64_t history = 0;
};

struct claimed {
    claimed() = default;

    // Another number after a failover to a server that may lack the last transactions. 0: the store
    // never loses what it has answered.
    std::int64_t history = 0;

    std::vector<task_record> tasks;  // running now, in the order of their turns
    // When the next claim may find more tasks without any other change, on the steady clock: now,
    // if this call ended at its limit; empty: never.
    std::optional<timestamp> next_at;
};

// How a run has ended.
struct settlement {
    settlement() = default;

    run_key key;
    // completed, failed, cancelled; or pending: runs again at due_at. Pending becomes cancelled if
    // a client has cancelled the task meanwhile.
    task_state state = task_state::completed;
    timestamp due_at{};                  // on the steady clock
    std::uint32_t failures = 0;          // the task's new count
    std::optional<attempt_end> attempt;  // added to the history, with the error
    std::string result;
    std::string error;
    std::string held_by;
    destination_report learnt;  // about the task's destination
    // With pending: the destination of a task that has none, such as one of an earlier version.
    std::string destination;
};

// What became of a step.
struct step_answer {
    enum class verdict : unsigned char {
        kept,
        known,        // the task has a step of this name: its result counts
        not_running,  // the node does not run this any more; nothing was written
        too_many,     // more than max_steps, or than max_task_step_bytes; nothing was written
    };
    step_answer() = default;

    verdict what = verdict::not_running;
    std::string result;  // of kept and known
};

struct heartbeat_answer {
    heartbeat_answer() = default;

    bool is_alive = true;  // false: the lease has ended, and the node has lost its tasks
    // The offset that the node has to use from now on: that of the nodes of its host that were
    // there before, or its own.
    std::chrono::microseconds clock_offset{0};
    std::optional<timestamp> calendar{};  // of the server, where nodes follow its calendar
    std::vector<run_key> cancelling;      // runs of this node that clients have cancelled
};

struct rescue_result {
    std::size_t returned = 0;   // pending again
    std::size_t failed = 0;     // crashed too often
    std::size_t cancelled = 0;  // were being cancelled
    std::vector<task_id> failed_tasks{};
};

// A transaction of some program in the same database: rows that are changed or removed stay there
// as long as it lasts, and searches pass over them.
struct old_transaction {
    old_transaction() = default;

    // What has changed since it began cannot be cleaned up, which slows the store down.
    bool is_harmful() const noexcept { return age >= std::chrono::seconds(60); }

    std::int64_t process = 0;  // of the server
    std::string application;
    std::chrono::seconds age{0};
};

// ---- queries

struct task_filter {
    task_filter() = default;

    std::optional<task_state> state;
    std::optional<task_view> view;
    std::vector<task_state> any_of;  // one of these states; empty: any
    std::string queue;               // empty: any; the same for the next three
    std::string kind;
    std::string tag;
    std::string flow_key;
    std::optional<timestamp> created_from;  // included
    std::optional<timestamp> created_to;    // excluded
    task_id before;                         // only older tasks: the cursor of a list
    std::size_t limit = 50;
    bool is_brief = false;  // list(): payload ('null') and result, which may be long, are left out
    // list(): tasks that it looks at for a filter that has no index.
    std::size_t max_scanned = 20'000;
    // list(): may be read from a standby of the database: see task_page::lag.
    bool may_lag = false;
};

// Tasks of a list, newest first.
struct task_page : std::vector<task_record> {
    using vector::vector;

    // Set if the store has ended its search at max_scanned tasks: older tasks than this may match
    // as well. Continue with it as task_filter::before.
    task_id searched_to{};
    // Set if it was read from a standby: later changes than this long ago may be missing.
    std::optional<std::chrono::microseconds> lag{};
};

struct task_detail {
    task_detail() = default;

    task_record task;
    std::vector<attempt_record> attempts;  // oldest first, the latest 20
    std::vector<task_id> callbacks;        // tasks that its ends have created, the latest 20
    std::vector<task_id> children;         // tasks that depend on it, the first 100
};

// A reason why a task does not run now.
struct hold {
    enum class reason : unsigned char {
        finished,             // the task has ended
        running,              // the task is running
        not_due,              // with until
        waits_for,            // a task that it depends on; detail is its id and outcome
        postponed,            // by its handler, with until; detail says why
        paused,               // the queue is paused
        queue_full,           // max_running of the queue
        queue_rate,           // rate of the queue, with until
        key_paused,           // its flow key is paused
        key_full,             // key_max_running of the flow key
        key_rate,             // key_rate of the flow key, with until
        destination_full,     // max_running of its destination
        destination_rate,     // rate of its destination, with until
        destination_circuit,  // open, with until; or half open, and its trial is running
        destination_pause,    // the destination asked for it, with until
        no_handler,           // no handler is registered for its kind
        workers_busy,         // all workers of the service
        draining,             // the service is shutting down
        no_worker,            // no worker with a lease takes tasks of its kind and queue
        worker_stuck,         // such workers have room, and have not polled for long
        its_turn,             // nothing holds it: it is next, or behind other tasks
        // With its_turn: all claims are slow, because of the transaction that detail names.
        long_transaction,
    };
    hold() = default;

    reason why{};
    std::optional<timestamp> until;
    std::string detail;
};
std::string_view to_string(hold::reason why) noexcept;

enum class change_result : unsigned char {
    done,
    requested,  // cancel: the task is running, and ends once its node knows
    not_found,
    // Already so, or impossible: cancelling an ended task, retrying a running one, removing one
    // that has not ended.
    no_change,
    key_taken,  // retry: another task holds its unique_key
};

// Whether a task that is retried gets the steps that its former runs have kept.
enum class step_policy : unsigned char { keep, forget };

enum class task_action : unsigned char { cancel, retry, remove };
std::string_view to_string(task_action action) noexcept;  // cancel, retry, delete

// The same change of many tasks.
struct bulk_change {
    bulk_change() = default;

    task_action action{};
    std::vector<task_id> ids;
    step_policy steps = step_policy::keep;  // of retry
    // Tasks whose state is not the filter's any more (state, view, any_of) stay as they are. The
    // other members do not count.
    task_filter only;
};

// A change of a pending task. Members that are empty stay as they are.
struct task_edit {
    task_edit() = default;

    std::optional<std::int32_t> priority;
    // When it may run, or run again. A time that has passed: now.
    std::optional<timestamp> run_at;
    // Of a task without a run; a value without a time: it does not expire.
    std::optional<std::optional<timestamp>> expires_at;
    std::optional<std::string> payload;  // JSON
    std::string destination;             // with a payload: the destination that belongs to it

    // The settings of this task with the change. Throws invalid_value if the task is to expire and
    // a run has begun.
    new_task applied_to(const task_record& task) const;
};

struct queue_removal {
    enum class verdict : unsigned char {
        removed,
        not_found,
        has_tasks,  // running or pending ones; also if some were submitted meanwhile
    };
    verdict what = verdict::not_found;
    std::uint64_t tasks = 0;  // that were removed with it
    std::uint64_t pending = 0;
    std::uint64_t running = 0;
};

// How long the store keeps ended tasks.
struct retention {
    std::chrono::seconds completed = std::chrono::hours(24);
    std::chrono::seconds failed = std::chrono::hours(24 * 30);
    std::chrono::seconds cancelled = std::chrono::hours(24 * 7);
    // Queues without tasks, pause and limits, since their last use.
    std::chrono::seconds queues = std::chrono::hours(24);
};

// A committed change of a task, or its progress, which a power failure may undo.
struct task_event {
    task_event() = default;

    task_id id;
    std::string kind;
    std::string queue;
    task_view view{};
    std::uint32_t run = 0;
    std::uint32_t failures = 0;
    double progress = 0;
    std::string message;  // of its progress; or the error of a failed run
    timestamp at{};
    timestamp due_at{};      // as in task_record; the task waited for started_at - due_at
    timestamp started_at{};  // of the last run; 0 before the first run
};

class store_observer {
public:
    // After each transaction that changed tasks, on the store's loop.
    virtual void changed(std::span<const task_event> events) noexcept = 0;
    // A queue was paused or resumed, or its limits were set.
    virtual void queue_changed(std::string_view queue) noexcept = 0;

protected:
    ~store_observer() = default;
};

class store {
public:
    virtual ~store() = default;

    // Stores do not check their arguments: the service has checked them.

    // One result per task, in the same order.
    virtual task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) = 0;

    // Marks tasks as running and returns them, fair between flow keys and within all limits. A node
    // without a valid lease gets none; nobody gets tasks for workers (is_remote). The tasks of a
    // flow key are in the order of priority and age, except that tasks whose destination takes none
    // now are passed over. Tasks of several keys with one destination take turns.
    virtual task<claimed> claim(claim_request request) = 0;
    // The runs of this node according to the store, including those of a claim whose answer was
    // lost.
    virtual task<std::vector<run_key>> running_on(std::string_view node) = 0;
    // One answer per settlement: false if the node does not run this any more; nothing was written.
    virtual task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                           moment now) = 0;
    virtual task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                                 timestamp now) = 0;

    // Keeps the result of a step of a running task, for all its later runs. The first result of
    // each name wins. Claims and find() return the steps, and their tasks take them along when they
    // are removed.
    virtual task<step_answer> keep_step(std::string_view node, run_key key, step_record step) = 0;

    // The first heartbeat registers the node. The next ones renew its lease until expires_at,
    // unless the lease has ended or another process has the same id. None shortens the lease: a
    // call may arrive after a later one.
    virtual task<heartbeat_answer> heartbeat(node_record node, moment now) = 0;
    // Those with a lease, or with one that has passed and that rescue() has not ended yet. Sessions
    // of workers are among them.
    virtual task<std::vector<node_record>> nodes() = 0;
    // Ends a node's lease now: the node shuts down, or its process is known to have ended.
    virtual task<> retire(std::string_view node) = 0;
    // Takes all tasks from nodes whose lease has ended, in transactions of a bounded size. The
    // tasks may run again at once, or fail if this is their crash number max_crashes.
    virtual task<rescue_result> rescue(moment now, std::uint32_t max_crashes) = 0;

    // ---- workers: see worker.hpp. A session is a node: settle(), note_progress(), keep_step(),
    // running_on() and rescue() treat it as one.

    // Registers a session, with its lease, and makes its kinds known. False: a session or node has
    // this id, or had it, and nothing has changed. Throws too_many_worker_kinds.
    virtual task<bool> add_worker(worker_record worker, moment now) = 0;
    // Heartbeats of sessions, all in one transaction. One answer per beat, in the same order. A
    // beat renews the lease (none shortens it), writes the progress of runs, and gives back,
    // unspent, the runs that the worker does not know: those that are not in its list and are of a
    // poll up to answered_poll. The others may be on their way to it, for worker_stuck_after. Of a
    // worker that does not tell what was answered, runs that were claimed before its previous
    // heartbeat, and are not in its list, are given back; a heartbeat that comes within
    // min_beat_gap after another is not 'the previous' one, and one that asks for less than the
    // lease has was overtaken by a later one and gives nothing back.
    virtual task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                           moment now) = 0;
    // Claims tasks for polls of sessions, all in one transaction, in their order. Each gets tasks
    // of its kinds and queues, by the rules of claim(); keys and queues take turns for each kind on
    // its own. A poll that finds nothing may be claimed for again, as long as it waits, until the
    // session has a poll with a higher number. A number that tasks were claimed with is never
    // claimed for again: the answer has those of them that the session still runs, and any server
    // can give it.
    virtual task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) = 0;
    // settle() for runs of a session, where a repeat is no error: the answer of the first call may
    // be lost. One answer per settlement, in the same order.
    virtual task<std::vector<settle_answer>> settle_for_worker(std::string_view worker,
                                                               std::vector<settlement> ended,
                                                               moment now) = 0;
    // The tasks that the session runs; empty where it does not run this any more. Without result
    // and steps, and without payload ('null') unless some of its members are secret.
    virtual task<std::vector<std::optional<task_record>>> runs_of_worker(
        std::string_view worker, std::vector<run_key> runs) = 0;
    // From now on, the session gets no tasks. It keeps its lease, and what it runs. False: it has
    // no lease.
    virtual task<bool> drain_worker(std::string_view worker, moment now) = 0;
    // Ends the session and gives back its runs, unspent. False: it had no lease.
    virtual task<bool> remove_worker(std::string_view worker, moment now) = 0;
    // The sessions that nodes() has, in the order of their start.
    virtual task<std::vector<worker_status>> workers() = 0;
    // Known kinds, and kinds of tasks for workers that were submitted without a worker, by name.
    virtual task<std::vector<worker_kind>> worker_kinds(moment now) = 0;
    // Its tasks stay. False: it was not known.
    virtual task<bool> forget_worker_kind(std::string_view kind) = 0;

    virtual task<std::optional<task_detail>> find(task_id id) = 0;
    // In bounded time: see task_page.
    virtual task<task_page> list(task_filter filter, timestamp now) = 0;
    // The reasons that the store knows; empty if the task does not exist.
    virtual task<std::vector<hold>> why(task_id id, moment now) = 0;
    virtual task<change_result> cancel(task_id id, moment now) = 0;
    // Makes a failed or cancelled task due with all its attempts, without an expires_at that has
    // come; and a pending task that is not due yet due now.
    virtual task<change_result> retry(task_id id, moment now) = 0;
    // Retries failed tasks that match, up to the filter's limit, in the order in which they failed.
    // Returns their number.
    virtual task<std::size_t> redrive(task_filter filter, moment now) = 0;
    // Removes an ended task with its attempts: done, not_found, or no_change if it has not ended.
    // Its keys are free again.
    virtual task<change_result> remove_task(task_id id, moment now) = 0;
    // cancel(), retry() or remove_task() of many tasks, in one transaction. One result per id, in
    // the same order.
    virtual task<std::vector<change_result>> change_tasks(bulk_change change, moment now) = 0;
    // done, not_found, or no_change if the task is not pending.
    virtual task<change_result> edit(task_id id, task_edit edit, moment now) = 0;

    virtual task<std::vector<queue_record>> queues() = 0;
    // The queues that have due tasks, each with its oldest one, in any order. In bounded time,
    // however many tasks wait: of the tasks with the same priority that share a flow key and a
    // destination the first few are looked at, and two thousand such groups at most.
    virtual task<std::vector<due_queue>> oldest_due(moment now) = 0;
    // pause() and limit() create a queue that does not exist, or throw too_many_queues.
    virtual task<> pause(std::string_view queue, bool is_paused) = 0;
    virtual task<> limit(std::string_view queue, queue_limits limits) = 0;

    // Settings of one flow key, which is not empty. Creates a queue or key that does not exist.
    // Returns the new settings. Throws too_many_queues and too_many_keys.
    virtual task<key_settings> change_key(std::string_view queue, std::string_view key,
                                          key_change change, moment now) = 0;
    // The flow keys of a queue that have tasks or settings, without the empty one. Empty if the
    // queue does not exist.
    virtual task<std::vector<key_record>> keys(std::string_view queue, key_query query) = 0;

    // The limits of each destination of the tasks of a kind.
    virtual task<> limit_destinations(std::string_view kind, destination_limits limits) = 0;
    // First those that hold tasks back, then the newest.
    virtual task<std::vector<destination_record>> destinations(std::size_t limit,
                                                               timestamp now) = 0;
    // Endpoints that settlements have reported as gone, by kind and name.
    virtual task<std::vector<endpoint_record>> disabled_endpoints() = 0;
    // False if it was not disabled.
    virtual task<bool> enable_endpoint(std::string_view kind, std::string_view name) = 0;
    // Removes a queue with its limits and ended tasks, and if `with_pending` with its pending
    // tasks, in transactions of a bounded size. Removes nothing if it has running tasks, or pending
    // ones that are to stay.
    virtual task<queue_removal> remove_queue(std::string_view queue, bool with_pending) = 0;

    // Creates or replaces a schedule. It keeps its current slot if cron and zone are unchanged and
    // it was not paused: slots within a pause are skipped.
    virtual task<> put_schedule(schedule plan, timestamp next_slot) = 0;
    virtual task<bool> remove_schedule(std::string_view name) = 0;
    virtual task<std::vector<schedule_record>> schedules() = 0;
    // Moves the schedule from this slot to the next and submits the task, both or neither. Returns
    // nothing if the schedule is removed, paused, or not at this slot any more. The schedule stays
    // at its slot if the queue is full. The task's run_at, if set, becomes last_slot: the latest of
    // several missed slots. Without a task, the slot is skipped and the result has no id. The
    // overlap of the schedule decides what happens if its last task has not ended.
    virtual task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                                    timestamp next_slot,
                                                    std::optional<new_task> task, moment now) = 0;

    // Submits the task and makes it the schedule's last task, without moving its slot, paused or
    // not. Returns nothing if there is no such schedule. Its overlap decides as in fire().
    virtual task<std::optional<submit_result>> run_schedule(std::string_view name, new_task task,
                                                            moment now) = 0;
    // False: there is no such schedule. A schedule that is resumed continues with next_slot.
    virtual task<bool> pause_schedule(std::string_view name, bool is_paused,
                                      timestamp next_slot) = 0;

    // Ends expired tasks as cancel() does, in transactions of a bounded size; their error says when
    // they had to begin. Returns their number. Claims do the same with those that they come across:
    // no claim begins an expired task.
    virtual task<std::size_t> expire(moment now) = 0;
    // Removes ended tasks whose retention has passed, and unused groups, flow keys, destinations,
    // queues and nodes, in one transaction of a bounded size. Returns the number of tasks that it
    // has removed, or looked at and kept for their group.
    virtual task<std::size_t> purge(retention kept, moment now) = 0;

    // Dependencies and groups.
    virtual workflow_store& workflows() noexcept = 0;

    // Proves that tasks can be claimed and stored: claims a due task, takes that back, and commits
    // a small transaction. Throws store_unavailable. For /readyz.
    virtual task<> probe(moment now) = 0;
    // The oldest one, where transactions of other programs make this store slower.
    virtual task<std::optional<old_transaction>> oldest_transaction() { co_return std::nullopt; }
    virtual task<> close() = 0;

    // Messages between the processes that share the store. Null: it has one process, or it has no
    // way to tell the others.
    virtual node_channel* channel() noexcept { return nullptr; }

    // At most one observer, not owned; null removes it.
    virtual void observe(store_observer* observer) noexcept = 0;
};

}  // namespace weir::service
