// SPDX-License-Identifier: MIT
// The fibers of the model, and those that are awaited together.
#pragma once

#include "requests.hpp"

namespace model {

enum class waiting : unsigned char {
    no,        // it runs, or is ready
    plainly,   // for a time or the end of a fiber: a stop ends the wait
    join,      // for the end of a fiber, to which requests are passed on
    together,  // for several fibers, in a frame that decides about stops
    deaf,      // the same, when that has been decided: requests stay pending
};

struct fiber : stop_state {
    const node* first = nullptr;  // null: has not been started
    bool is_known = false;        // has a handle that events can find
    bool is_background = false;   // and never will have one
    bool has_begun = false;
    bool is_done = false;
    waiting wait = waiting::no;
    unsigned turn = 0;   // counts waits, so that timers of earlier ones are recognised
    int awaited = 0;     // the fiber it waits for
    ending arrived{};    // what the wait gives,
    bool keeps = false;  // also if a request is pending
    int crew = 0;        // the group, gather or race that it belongs to; 0: the root group
    int cancelling = 0;
    ending end{};
    bool left_unanswered = false;  // it ended with an error and a pending request
    std::vector<int> watchers{};   // nodes that wait for its end
};

// The fibers of a group, a gather or a race, or those whose handles are gathered.
struct crew {
    const node* of = nullptr;
    int owner = 0;               // the fiber that waits for them
    std::vector<int> members{};  // all that it was made with
    std::vector<int> running{};
    std::vector<ending> errors{};  // groups
    ending failure{};              // gathers: what will be thrown
    int winner = 0;                // races
    bool is_failing = false;       // a child of a group failed: will be aborted in a moment
    bool is_aborting = false;      // all were cancelled; no more can be started
    bool is_over = false;          // a gather of handles that waits no longer
    bool is_closed = false;
    bool is_joining = false;  // the body of the group has ended
    std::uint32_t abort_rank = 0;

    bool is_complete() const { return is_over || running.empty(); }
    bool has_failed() const { return failure.how != ending::kind::none; }
};

}  // namespace model
