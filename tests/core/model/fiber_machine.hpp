// SPDX-License-Identifier: MIT
// The fibers of the model: whose turn it is, who waits for what, and how requests reach them.
//
// A fiber whose turn comes with a deliverable request is stopped: `unwind`. Ready fibers have their
// turns in an order that `choices` determines, so that all orders can be tried.
#pragma once

#include "choices.hpp"
#include "model_state.hpp"
#include "searched_trace.hpp"
#include "timeline.hpp"

#include <algorithm>
#include <utility>

namespace model {

inline ending value(int number) {
    return {ending::kind::value, number};
}

// As the stage of a frame: a join that was made to yield before it began.
constexpr std::size_t before_join = 99;

class fiber_machine {
public:
    fiber_machine(const program& executed, choices& order, const trace* searched, fault broken)
        : program_(executed),
          order_(order),
          broken_(broken),
          trace_(static_cast<std::size_t>(count_nodes(executed)) + 1, searched),
          fibers_(trace_.size()),
          crews_(trace_.size()),
          owner_of_(trace_.size()),
          deadlines_(trace_.size()) {}
    fiber_machine(const fiber_machine&) = delete;
    fiber_machine& operator=(const fiber_machine&) = delete;

    // Executes the program; false: gave up, since the trace is not the one that is searched.
    bool run() {
        for (std::size_t each = 0; each < program_.events.size(); ++each) {
            time_.add(program_.events[each].time, timer::kind::event, static_cast<int>(each));
        }
        start_fiber(program_.main, 0, true);
        do {
            while (!ready_.empty() && !trace_.is_wrong()) {
                const int id = take_ready();
                if (id <= -first_event()) {
                    happen(-id - first_event());
                } else if (id < 0) {
                    abort_group(crew_of(-id));
                } else {
                    step(at(id));
                }
            }
        } while (!trace_.is_wrong() && fire_timer());
        return !trace_.is_wrong();
    }
    const trace& result() const { return trace_.made(); }

protected:
    ~fiber_machine() = default;

    // What the nodes do is in the classes below.
    virtual void begin(fiber& on, const node& part) = 0;
    // The innermost node has ended with a value, an error or weir::cancelled.
    virtual void finish(fiber& on, const ending& how) = 0;
    // Stops the fiber: removes frames up to the target, or to one that holds the stop up.
    virtual void unwind(fiber& on, const std::optional<request>& on_its_way) = 0;
    // What the fiber waited for has happened.
    virtual void resume(fiber& on) = 0;
    virtual void child_ended(crew& in, const fiber& ended) = 0;
    virtual void member_ended(crew& in, const fiber& ended) = 0;
    virtual void abort_group(crew& group) = 0;
    // A stop has ended the wait of this fiber.
    virtual void call_off(fiber& on) = 0;

    fiber& at(int id) { return fibers_[static_cast<std::size_t>(id)]; }
    crew& crew_of(int id) { return crews_[static_cast<std::size_t>(id)]; }
    fiber& owner(int id) { return at(owner_of_[static_cast<std::size_t>(id)]); }
    static int id_of(const fiber& of) { return of.first->id; }

    // ---- order and time -------------------------------------------------------------------------

    // The choices count from the likeliest one: what came first in the trace that is searched.
    int take_ready() {
        if (trace_.is_searched() && ready_.size() > 1) {
            const auto is_before = [&](int left, int right) { return rank(left) < rank(right); };
            for (auto each = ready_.begin(); each != ready_.end(); ++each) {  // keeps equal ones
                std::rotate(std::upper_bound(ready_.begin(), each, *each, is_before), each,
                            each + 1);
            }
        }
        const auto next = ready_.begin() + order_.choose(static_cast<int>(ready_.size()));
        const int id = *next;
        ready_.erase(next);
        if (trace_.is_searched()) {
            const std::uint32_t taken = rank(id);
            last_turn_ = taken != UINT32_MAX ? std::max(last_turn_, taken) : last_turn_;
        }
        return id;
    }
    std::uint32_t rank(int id) {
        if (id <= -first_event()) {
            return trace_.turn_of_event(static_cast<std::size_t>(-id - first_event()));
        }
        return id < 0 ? crew_of(-id).abort_rank : trace_.turn_after(id, last_turn_);
    }

    bool is_stale(const timer& each) {
        switch (each.what) {
            case timer::kind::sleep:
                return at(each.id).turn != each.turn || at(each.id).wait == waiting::no;
            case timer::kind::deadline:
                return owner(each.id).find(each.id) == nullptr ||
                       deadlines_[static_cast<std::size_t>(each.id)] != each.turn;
            case timer::kind::event:
                return std::all_of(fibers_.begin(), fibers_.end(), [](const fiber& fiber) {
                    return fiber.first == nullptr || fiber.is_done;
                });
        }
        return false;
    }
    bool fire_timer() {
        time_.drop([&](const timer& each) { return is_stale(each); });
        if (time_.empty()) {
            return false;
        }
        const std::vector<timer> due = time_.take();
        for (const timer& each : due) {
            if (!is_stale(each)) {
                fire(each, due.size() == 1);
            }
        }
        return true;
    }
    void fire(const timer& due, bool is_alone) {
        if (due.what == timer::kind::event) {
            if (is_alone) {
                happen(due.id);
            } else {  // a callback, which has its turn among the fibers
                ready_.push_back(-first_event() - due.id);
            }
        } else if (due.what == timer::kind::sleep) {
            wake(at(due.id), value(at(due.id).stack.back().at->id));
        } else {
            owner(due.id).find(due.id)->is_deadline_over = true;
            if (broken_ == fault::expiry_takes_reason) {
                owner(due.id).forget_reason();
            }
            request_stop(due.id, 0);
        }
    }
    void happen(int index) {
        const event& happened = program_.events[static_cast<std::size_t>(index)];
        cancel_target(happened.target, happened.reason);
    }
    // Among the ready ones, events are negative, from here on.
    int first_event() const { return static_cast<int>(trace_.size()); }
    void set_deadline(int scope, std::int64_t after) {
        forget_deadline(scope);
        time_.add(after, timer::kind::deadline, scope, deadlines_[static_cast<std::size_t>(scope)]);
    }
    void forget_deadline(int scope) { ++deadlines_[static_cast<std::size_t>(scope)]; }

    // ---- requests -------------------------------------------------------------------------------

    void cancel_fiber(fiber& target, int reason) {
        if (target.first != nullptr && !target.is_done) {
            ++target.cancelling;
            if (target.add({request::whole_fiber, reason})) {
                interrupt(target);
            }
        }
    }
    void request_stop(int scope, int reason) {
        fiber& on = owner(scope);
        if (on.find(scope) != nullptr && on.add({scope, reason})) {
            interrupt(on);
        }
    }
    // What an event or a node of kind cancel does.
    void cancel_target(int target, int reason) {
        if (target > 0) {
            if (at(target).is_known) {
                cancel_fiber(at(target), reason);
            }
        } else if (crew& group = crew_of(-target); group.of != nullptr) {
            abort_group(group);
        } else if (frame* scope = owner(-target).find(-target)) {
            scope->is_deadline_over = true;
            request_stop(-target, reason);
        }
    }
    // A fiber that waits notices a request: it passes it on, or its turn comes and it is stopped.
    void interrupt(fiber& on) {
        const std::optional<request> stop = on.deliverable();
        if (stop && on.wait == waiting::join) {
            cancel_fiber(at(on.awaited), stop->reason);
        } else if (stop && (on.wait == waiting::plainly || on.wait == waiting::together)) {
            call_off(on);
            wake(on, {});
        }
    }

    // ---- fibers ---------------------------------------------------------------------------------

    void start_fiber(const node& first, int crew, bool is_known, bool is_eager = false) {
        fiber& fresh = at(first.id);
        fresh.first = &first;
        fresh.crew = crew;
        fresh.is_known = is_known;
        if (crew != 0) {
            crew_of(crew).running.push_back(first.id);
        }
        if (is_eager) {
            step(fresh);
        } else {
            ready_.push_back(first.id);
        }
    }
    // In the root group, without a handle.
    void start_in_background(const node& first) {
        at(first.id).is_background = true;
        start_fiber(first, 0, false);
    }
    void wake(fiber& on, const ending& given) {
        on.wait = waiting::no;
        ++on.turn;
        on.arrived = given;
        ready_.push_back(id_of(on));
    }
    void wake_together(fiber& on) {
        on.keeps = on.wait == waiting::deaf;
        wake(on, {});
    }
    // Suspends, unless a stop is due.
    void wait(fiber& on, waiting how) {
        on.wait = how;
        interrupt(on);
    }
    // The turn of a ready fiber.
    void step(fiber& on) {
        const bool is_fresh = !std::exchange(on.has_begun, true);
        const bool keeps = std::exchange(on.keeps, false);
        if (!is_fresh && on.stack.back().stage == before_join) {
            on.stack.back().stage = 0;
            join(on, true);
        } else if (!keeps && on.deliverable()) {
            if (is_fresh) {
                trace_.check_begun(id_of(on));  // never begins
            }
            unwind(on, {});
        } else if (is_fresh) {
            on.is_known = !on.is_background;
            begin(on, *on.first);
        } else {
            resume(on);
        }
    }
    // A pending request beats a value; an error leaves it unanswered.
    void end_fiber(fiber& on, ending how) {
        if (on.has_request() && !how.is_error()) {
            how = {ending::kind::cancelled, on.reason()};
        }
        how.origin = 0;
        on.is_done = true;
        on.end = how;
        on.left_unanswered = on.has_request() && broken_ != fault::every_error_answers;
        if (on.is_known) {
            trace_.fiber_ended(id_of(on), how.is_value() ? value(0) : how, on.cancelling);
        }
        for (const int each : std::exchange(on.watchers, {})) {
            watched_ended(each, on);
        }
        if (on.crew != 0) {
            child_ended(crew_of(on.crew), on);
        }
    }

    // ---- joins ----------------------------------------------------------------------------------

    void begin_join(fiber& on, const node& part) {
        if (at(part.target).first == nullptr) {
            finish(on, value(0));
            return;
        }
        if (part.time != 0) {
            set_deadline(part.id, part.time);
        }
        if (order_.choose(2) == 0) {
            join(on, false);
        } else {  // an operation may yield before it begins
            on.stack.back().stage = before_join;
            wake(on, {});
        }
    }
    void join(fiber& on, bool has_yielded) {
        const node& part = *on.stack.back().at;
        fiber& target = at(part.target);
        if (broken_ == fault::join_is_not_begun && on.deliverable()) {
            unwind(on, {});
        } else if (!target.is_done) {
            on.awaited = part.target;
            target.watchers.push_back(part.id);
            wait(on, part.what == kind::await_handle ? waiting::join : waiting::plainly);
        } else if (has_yielded && on.deliverable()) {
            unwind(on, {});
        } else {
            finish(on, join_result(target, part));  // does not suspend
        }
    }
    static ending join_result(const fiber& ended, const node& part) {
        return part.what == kind::wait_handle ? value(0) : ended.end;
    }
    void watched_ended(int by, fiber& ended) {
        fiber& watcher = owner(by);
        if (watcher.stack.empty() || watcher.stack.back().at->id != by) {
            return;  // it waits no longer
        }
        const node& here = *watcher.stack.back().at;
        if (here.what == kind::gather_handles) {
            member_ended(crew_of(here.id), ended);
        } else if (watcher.wait != waiting::no) {
            // A request was passed on. If the other fiber has answered it with a value or an error,
            // it is answered here too; an error that is no answer comes first, the stop after it.
            const bool is_passed_on = watcher.wait == waiting::join && watcher.deliverable();
            if (is_passed_on && !ended.end.is_cancellation() && !ended.left_unanswered) {
                watcher.answer();
            }
            watcher.keeps = is_passed_on && ended.left_unanswered && ended.end.is_error();
            wake(watcher, join_result(ended, here));
        }
    }

    const program& program_;
    choices& order_;
    fault broken_;
    searched_trace trace_;
    timeline time_;
    std::vector<int> ready_;  // fibers; negative: a group that is to be aborted, or an event

private:
    std::uint32_t last_turn_ = 0;  // in the trace that is searched
    std::vector<fiber> fibers_;    // by the id of their first node
    std::vector<crew> crews_;      // by the id of their node

protected:
    std::vector<int> owner_of_;        // by node: the fiber that executes it
    std::vector<unsigned> deadlines_;  // by scope: how many it was given
};

}  // namespace model
