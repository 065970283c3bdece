// SPDX-License-Identifier: MIT
// Workers: programs in any language that take tasks over HTTP. A kind of tasks that workers run has
// no handler in the service: its tasks are `is_remote`, no node claims them for itself, and workers
// claim them by naming the kind.
//
// A *session* is one start of a worker program. For the store it is a node: it has a lease, its
// runs are fenced by it, and rescue() returns the tasks of a session whose lease has ended. A
// session polls for tasks. Its polls have numbers that grow, and a poll may be repeated with its
// number, since answers get lost. Its heartbeats list all that it runs.
#pragma once

#include <weir/error.hpp>
#include <weir/service/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::service {

// Kinds that sessions have registered, and that nobody has deleted since. More are refused, even if
// workers invent names.
inline constexpr std::size_t max_worker_kinds = 1000;

// See store::renew_workers().
inline constexpr std::chrono::seconds min_beat_gap{1};

// A worker that has room and has not polled for so long is stuck, and an answer to a poll that has
// not arrived by then never will: two long polls.
inline constexpr std::chrono::seconds worker_stuck_after{50};

// add_worker() would make more kinds known than max_worker_kinds.
class too_many_worker_kinds : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

// A session, as it registers.
struct worker_record {
    worker_record() = default;

    std::string id;  // new for every start of a worker
    std::string name;
    std::vector<std::string> kinds;   // that it runs
    std::vector<std::string> queues;  // that it takes them from; empty: all
    std::string sdk;                  // its library and version, for people
    timestamp started_at{};
    timestamp expires_at{};  // of its lease, on the steady clock
};

struct worker_beat {
    worker_beat() = default;

    std::string worker;
    timestamp expires_at{};                // the lease that it asks for, on the steady clock
    std::vector<run_key> running;          // all that it runs
    std::vector<progress_note> progress;   // of some of these
    std::size_t free = 0;                  // how many more it could run
    std::optional<timestamp> polled_at{};  // when it last began a poll, on the steady clock
    // The last poll whose answer it had taken up when it made the list; 0: none. Empty: not told.
    std::optional<std::uint64_t> answered_poll{};
};

struct worker_answer {
    worker_answer() = default;

    bool is_alive = false;  // false: the session is unknown, or its lease has ended
    bool is_draining = false;
    std::vector<run_key> cancelling;  // runs that clients have cancelled
    std::vector<run_key> lost;        // listed, and not its runs any more: to be stopped
    std::vector<run_key> given_back;  // by this heartbeat, since the list has not got them
};

// A poll of a session that waits for tasks.
struct worker_claim {
    worker_claim() = default;

    std::string worker;
    std::uint64_t poll = 1;  // its number: 1 or more, higher than those of the polls before
    std::size_t free = 1;    // at most so many tasks
};

struct worker_claim_answer {
    enum class verdict : unsigned char {
        claimed,   // the tasks, if any; none: the poll may wait for some
        repeated,  // the number has claimed before: the tasks that the session still has from it
        outdated,  // the session has a poll with a higher number: this one is to end
        draining,  // it gets no tasks any more
        gone,      // the session is unknown, or its lease has ended
    };
    worker_claim_answer() = default;

    verdict what = verdict::gone;
    std::vector<task_record> tasks;  // running now, in the order of their turns
};

struct worker_claims {
    worker_claims() = default;

    std::vector<worker_claim_answer> answers;  // one per poll, in the same order
    // When the polls that have got fewer tasks than they have room for may find more, without any
    // other change, on the steady clock; empty: never. It may be too early.
    std::optional<timestamp> next_at;
};

enum class settle_answer : unsigned char {
    written,
    // This session has ended this run before, and equally: completed, or not completed.
    repeated,
    refused,  // the session does not run this any more; nothing was written
};

// A run of a session, for lists.
struct worker_run {
    worker_run() = default;

    run_key key;
    std::string kind;
    std::string queue;
    timestamp started_at{};
    bool is_cancelling = false;
};

struct worker_status : worker_record {
    worker_status() = default;

    timestamp heard_at{};                  // its last heartbeat or poll, on the steady clock
    std::optional<timestamp> polled_at{};  // its last poll, on the steady clock
    std::size_t free = 0;                  // as it said, less what it has got since
    bool is_draining = false;
    std::vector<worker_run> runs;

    // It could run tasks, and does not ask for any.
    bool is_stuck(timestamp now_steady) const noexcept {
        return !is_draining && free > 0 &&
               polled_at.value_or(heard_at) + worker_stuck_after < now_steady;
    }
};

// A kind of tasks for workers.
struct worker_kind {
    worker_kind() = default;

    std::string kind;
    bool is_known = false;      // a session has registered it, and nobody has deleted it since
    std::uint64_t due = 0;      // tasks that wait for a worker, or for limits
    std::uint64_t running = 0;  // tasks
    std::size_t workers = 0;    // sessions with a lease that take it, without draining ones
};

}  // namespace weir::service
