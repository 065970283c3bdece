// SPDX-License-Identifier: MIT
// The pending requests of one fiber of the model, and which of them can be delivered.
#pragma once

#include "program.hpp"

#include <optional>

namespace model {

// Aimed at one scope of the fiber (a timeout, a cancel_scope, a group: the id of its node), or at
// the whole fiber.
struct request {
    static constexpr int whole_fiber = 0;
    int target = whole_fiber;
    int reason = 0;
};

// Of requests for the same target that merge, the last one with a reason gives it.
inline request merge(const request& older, const request& newer) {
    return {older.target, newer.reason != 0 ? newer.reason : older.reason};
}

// A node that a fiber is executing.
struct frame {
    const node* at = nullptr;
    std::size_t stage = 0;          // the part that runs
    bool is_shield = false;         // holds off requests aimed further out
    bool is_queued = false;         // was made to yield before it goes on
    bool has_answer = false;        // a stop aimed at it was answered inside
    bool is_deadline_over = false;  // a scope that expired or was cancelled
    bool ended_early = false;       // a group whose body was stopped
    bool has_waited = false;        // for other fibers
    ending kept{};                  // how the work has ended, while clean-up or other fibers run
    std::optional<request> held{};  // the stop that goes on after these
    bool is_answered = true;        // all errors so far are answers to the stop that is held
};

// Part of a fiber: the nodes it is executing, outermost first, and what is requested of it.
class stop_state {
public:
    std::vector<frame> stack{};

    frame* find(int id);
    bool has_request() const { return !pending_.empty(); }
    int reason() const { return pending_.front().reason; }

    // True if it is deliverable now.
    bool add(const request& made);
    // One that was delivered and is still unanswered.
    void add_again(const request& older);
    // A request ends with its scope.
    void drop(int target);

    // The deliverable request that decides: the outermost. A request is deliverable if no shield is
    // between its target and the innermost frame.
    std::optional<request> deliverable() const;
    // The deliverable requests become one stop, together with one that is on its way.
    request deliver(const std::optional<request>& on_its_way);
    // Of the requests for the whole fiber, as if none had been given.
    void forget_reason();
    // Others have answered the deliverable requests.
    void answer();
    // A stop that was delivered has been answered before it reached its target.
    void note_answer(const request& stop);

private:
    // How far out a target is: 0 is the fiber.
    std::size_t place(int target) const;
    // Requests for this place and further in are deliverable.
    std::size_t outermost() const;

    std::vector<request> pending_{};
};

}  // namespace model
