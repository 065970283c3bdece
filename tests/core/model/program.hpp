// SPDX-License-Identifier: MIT
// Random programs of concurrent work and what is observed of them.
//
// A program is a tree of nodes, and events from outside at given times. Every node is executed at
// most once, so a trace is one record per node: when it began, when and how it ended. Times are in
// nanoseconds of virtual time. In most programs no two are equal, so what happens does not depend
// on the order of ready tasks, apart from what one event causes in its instant; in the others many
// are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace model {

enum class kind : unsigned char {
    // Leaves.
    sleep,  // for `time`
    yield,
    fail,            // throws error(id)
    await_handle,    // co_await the handle of fiber `target`, in timeout() if `time` is not 0
    wait_handle,     // handle.wait()
    shield_handle,   // shield(handle)
    gather_handles,  // gather of the handles of `targets`; `variant` 1: gather_settled
    cancel,          // cancels the fiber `target`, or the scope or group -`target`, with `reason`
    uncancel,        // of its own fiber
    extend,          // gives the scope -`target` `time` from now: try_reschedule_after
    put,             // timeout(time, queue.put(id)), into the one queue, which has room for 1
    get,             // timeout(time, queue.get())
    // Work in the same fiber.
    sequence,   // the parts one after the other
    attempt,    // try { part } catch std::exception, and with `variant` 1 weir::cancelled too
    timeout,    // timeout(time, part); 0: no time left; `variant` 1: timeout_or
    scope,      // cancel_scope, with a deadline if `time` is not 0: part; `variant` 1: with_scope
    shield,     // shield(part)
    finally,    // finally(part 0, clean-up: part 1)
    with,       // with(a resource: open is part 0, close is part 2; body: part 1)
    defer,      // co_await defer(part 1), then part 0
    settle,     // settle(part)
    intercept,  // intercept(part 0); then `variant` 0: goes on, 1: runs part 1 and goes on,
                // 2: runs part 1 and awaits the outcome, 3: awaits the outcome
    catchable,  // catchable(part), caught; then `variant` 0: goes on, 1: rethrows, 2: error(id)
    lock,       // timeout(time, lock), then the part; `variant` 0, 1: mutexes, 2: a semaphore of 2
    generate,   // a generator: the last part is its deferred clean-up; of the others, those with
                // even places run in its body, each followed by a co_yield, and the next one in the
                // consumer. `variant` 0: closing(generator), 1: dropped at the end, 2, 3: the same,
                // and the consumer leaves after the first item
    // Work in other fibers.
    spawn,           // starts part 0 in the root group; `variant` 1: eagerly
    group,           // with_group: part 0 is the body, the others are children from the start;
                     // `variant` 1, 3: the body has a value, 2, 3: children are started eagerly
    group_spawn,     // starts part 0 in group -`target`, which is around this node
    gather,          // gather(parts)
    gather_settled,  // gather_settled(parts)
    race,            // race(parts)
};

struct node {
    kind what = kind::yield;
    int id = 0;  // from 1, in the order of the text
    std::int64_t time = 0;
    int target = 0;  // the id of the first node of a fiber; negative: of a scope or a group
    int reason = 0;  // 0: none
    int variant = 0;
    std::vector<int> targets{};
    std::vector<node> parts{};
};

// A cancel that comes from a callback of the loop.
struct event {
    std::int64_t time = 0;
    int target = 0;
    int reason = 0;
};

struct program {
    node main;
    std::vector<event> events;
};

// ---- programs -----------------------------------------------------------------------------------

// A random program. The same seed gives the same program.
program make_program(std::uint64_t seed);
// The number of nodes, which is also the largest id.
int count_nodes(const program& of);
// As indented text.
std::string to_text(const program& shown);
// Does part `at` of such a node run in a fiber of its own?
bool starts_fiber(const node& of, std::size_t at);
// Gives new ids after a change; references to nodes that are gone are removed.
void renumber(program& changed);

// All programs that are a little smaller: a node replaced by one of its parts, a part, an event or
// a detail dropped. The largest steps first.
std::vector<program> smaller_programs(const program& than);

// ---- traces -------------------------------------------------------------------------------------

// How something ended.
struct ending {
    enum class kind : unsigned char {
        none,       // has not
        value,      // with the value `number`
        error,      // by the error of node `number`
        timed_out,  // by weir::timed_out
        cancelled,  // by weir::cancelled with reason `number`, or as a cancelled fiber
        misuse,     // by weir::invalid_state
        group,      // by an error_group of `parts`
        stopped,    // by a stop of the fiber that passed through
    };
    kind how = kind::none;
    int number = 0;
    std::vector<ending> parts{};
    int origin = 0;  // cancelled: the target of the stop that catchable turned into this; not shown

    bool is_value() const { return how == kind::value; }
    bool is_cancellation() const { return how == kind::cancelled; }
    // An error in the sense of 'error beats stop'.
    bool is_error() const { return !is_value() && !is_cancellation() && how != kind::stopped; }
    bool operator==(const ending& other) const {
        return how == other.how && number == other.number && parts == other.parts;
    }
};
std::string to_text(const ending& shown);

struct record {
    std::int64_t begun = -1;
    std::int64_t ended = -1;
    ending how{};    // the node
    ending seen{};   // what a boundary was told about its work (finally, settle, intercept, ...)
    ending fiber{};  // the first node of a fiber: how the fiber ended
    int cancelling = 0;  // and its count of requests then
    // Not compared, but a help in the search for a trace: the turns of the loop that the first node
    // of a fiber had, and of record 0 the turns of the events.
    std::vector<std::uint32_t> turns{};

    bool operator==(const record& other) const {
        return begun == other.begun && ended == other.ended && how == other.how &&
               seen == other.seen && fiber == other.fiber && cancelling == other.cancelling;
    }
};

// By id; 0 is unused.
using trace = std::vector<record>;
// Where they differ; empty if they do not.
std::string difference(const trace& expected, const trace& seen);

// ---- the two sides ------------------------------------------------------------------------------

// What Weir does with it, with the schedule of the seed (0: first in, first out).
trace run_on_weir(const program& executed, std::uint64_t schedule);

// Rules that the model may break on purpose, to show that the programs reach them. Weir has had
// the first five of these faults.
enum class fault : unsigned char {
    none,
    group_drops_stop,      // a group that throws drops a stop that its errors do not answer
    every_error_answers,   // also of a task that failed before the request, or held it off
    join_is_not_begun,     // a request is pending where a handle is awaited: the task is left alone
    expiry_takes_reason,   // an expired deadline takes the reason of a cancel of the whole fiber
    late_extend_throws,    // try_reschedule throws when it comes too late
    claim_is_lost,         // a fiber that is stopped after a grant does not pass it on
    dropped_is_forgotten,  // a generator that is dropped half-way is not cleaned up
};

// What the rules say. What happens within one instant may depend on the order of ready fibers; so
// there may be several right traces. Looks for `seen` among them; returns it if it is right, and
// otherwise a right one.
trace run_on_model(const program& executed, const trace& seen, fault broken = fault::none);

}  // namespace model
