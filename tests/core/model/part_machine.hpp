// SPDX-License-Identifier: MIT
// The boundaries of the model that wait for other fibers, their parts: groups, gather and race.
//
// A stop is passed on to the parts and held until they have ended. Then it goes on, unless errors
// are thrown: these answer it, or it is pending again.
#pragma once

#include "line_machine.hpp"

namespace model {

// As the origin of weir::cancelled that catchable has thrown; otherwise the id of a scope. 0: it
// comes from another fiber.
constexpr int origin_fiber = -1;

class part_machine : public line_machine {
public:
    using line_machine::line_machine;

protected:
    ~part_machine() = default;

    // The innermost frame is gone.
    void note_end(fiber& on, const ending& how) {
        const int id = on.stack.back().at->id;
        on.drop(id);
        on.stack.pop_back();
        trace_.ended(id, time_.now(), how);
    }
    // The request of this fiber that weir::cancelled stands for, if catchable has thrown it.
    static std::optional<request> thrown_stop(fiber& on, const ending& how) {
        if (how.origin == origin_fiber && on.cancelling > 0) {
            return request{request::whole_fiber, how.number};
        }
        if (how.origin > 0 && on.find(how.origin) != nullptr) {
            return request{how.origin, how.number};
        }
        return {};
    }
    // Is weir::cancelled, which leaves the frame, the frame's own stop?
    static bool is_own_stop(const frame& in, const ending& how) {
        return in.has_answer && how.is_cancellation() &&
               (how.origin == 0 || how.origin == in.at->id);
    }

    // ---- parts: fibers that a boundary waits for ------------------------------------------------

    crew& open_crew(fiber& on, const node& part) {
        crew& opened = crew_of(part.id);
        opened.of = &part;
        opened.owner = id_of(on);
        return opened;
    }
    void cancel_running(crew& all, int reason) {
        all.is_aborting = true;
        for (const int each : std::vector<int>(all.running)) {
            cancel_fiber(at(each), reason);
        }
    }
    // The stop goes on when the parts have ended.
    static void hold(frame& in, const request& stop, bool is_passed_on) {
        in.held = stop;
        in.is_answered = in.is_answered && is_passed_on;
    }
    // A part has ended with an error that its boundary will throw. It is an answer to the stop that
    // was passed on to the part before.
    void note_error(crew& in, const fiber& part) {
        if (frame* boundary = at(in.owner).find(in.of->id)) {
            boundary->is_answered =
                boundary->is_answered && boundary->held && !part.left_unanswered;
        }
    }
    // The error is thrown now. A stop that was held and that the errors do not answer is pending
    // again: it is delivered at the next suspension.
    void error_beats_stop(fiber& on, const ending& error) {
        const frame& top = on.stack.back();
        if (top.held && top.is_answered) {
            on.note_answer(*top.held);
        } else if (top.held &&
                   !(broken_ == fault::group_drops_stop && top.at->what == kind::group)) {
            on.add_again(*top.held);
        }
        finish(on, error);
    }
    // The stop that was held goes on, or one that came meanwhile.
    void stop_goes_on(fiber& on) {
        const std::optional<request> stop = on.stack.back().held;
        note_end(on, {ending::kind::stopped});
        unwind(on, stop);
    }

    // ---- groups ---------------------------------------------------------------------------------

    void begin_group(fiber& on, const node& part) {
        crew& group = open_crew(on, part);
        for (std::size_t each = 1; each < part.parts.size(); ++each) {
            if (group.is_aborting) {  // by a child that was started eagerly
                body_ended(on, {ending::kind::misuse});
                return;
            }
            start_fiber(part.parts[each], part.id, true, part.variant >= 2);
        }
        begin(on, part.parts[0]);
    }
    void begin_group_spawn(fiber& on, const node& part) {
        crew& group = crew_of(-part.target);
        if (group.of == nullptr) {
            finish(on, value(part.id));
        } else if (group.is_aborting || group.is_closed) {
            finish(on, {ending::kind::misuse});
        } else {
            start_fiber(part.parts[0], -part.target, true);
            finish(on, value(part.id));
        }
    }
    // Stops the children and, while it runs, the body.
    void abort(crew& group, int reason) {
        cancel_running(group, reason);
        if (!group.is_joining) {
            request_stop(group.of->id, 0);
        }
    }
    void abort_group(crew& group) override {
        if (!group.is_closed && !group.is_aborting) {
            abort(group, 0);
        }
    }
    // Later, so that children that fail in the same turn count too.
    void abort_soon(crew& group) {
        if (trace_.is_searched()) {
            for (const int each : ready_) {
                group.abort_rank = std::max(group.abort_rank, rank(each));
            }
        }
        ready_.push_back(-group.of->id);
    }
    void child_ended(crew& in, const fiber& ended) override {
        if (in.of->what != kind::group) {
            member_ended(in, ended);
            return;
        }
        std::erase(in.running, id_of(ended));
        if (ended.end.is_error()) {
            in.errors.push_back(ended.end);
            note_error(in, ended);
            if (!in.is_aborting && !std::exchange(in.is_failing, true)) {
                abort_soon(in);
            }
        }
        if (in.running.empty() && at(in.owner).wait != waiting::no && in.is_joining) {
            wake_together(at(in.owner));
        }
    }
    void body_ended(fiber& on, const ending& how) {
        frame& top = on.stack.back();
        crew& group = crew_of(top.at->id);
        top.kept = how;
        group.is_joining = true;
        on.drop(top.at->id);
        int reason = 0;
        if (is_own_stop(top, how)) {
            top.ended_early = true;
        } else if (how.is_cancellation()) {
            reason = how.number;
            if (const std::optional<request> thrown = thrown_stop(on, how)) {
                hold(top, *thrown, !group.is_aborting);
            }
        }
        if (!how.is_value() && !group.is_aborting) {
            abort(group, reason);
        }
        join_children(on);
    }
    void stop_group(fiber& on, const request& stop) {
        frame& top = on.stack.back();
        crew& group = crew_of(top.at->id);
        if (!std::exchange(group.is_joining, true)) {
            top.ended_early = true;
            top.kept = {ending::kind::stopped};
        }
        if (stop.target != top.at->id) {
            hold(top, stop, !group.is_aborting);
        }
        if (!group.is_aborting) {
            abort(group, stop.reason);
        }
        join_children(on);
    }
    // Waits for the children, then goes on with how the group ended.
    void join_children(fiber& on) {
        frame& top = on.stack.back();
        crew& group = crew_of(top.at->id);
        if (!group.running.empty()) {
            top.has_waited = true;
            wait_for_parts(on, group.is_aborting);
            return;
        }
        group.is_closed = true;
        if (top.kept.is_error()) {
            group.errors.push_back(top.kept);
        }
        if (!group.errors.empty()) {
            error_beats_stop(on, {ending::kind::group, 0, group.errors});
        } else if ((top.held && !top.kept.is_cancellation()) ||
                   (top.has_waited && on.deliverable())) {
            stop_goes_on(on);
        } else if (top.at->variant % 2 == 0) {  // without a value
            finish(on,
                   top.ended_early || top.kept.is_value() ? value(top.at->id) : ending(top.kept));
        } else {
            finish(on, top.ended_early ? ending{ending::kind::cancelled, -1} : ending(top.kept));
        }
    }
    void wait_for_parts(fiber& on, bool is_decided) {
        if (!is_decided && on.deliverable()) {
            unwind(on, {});
        } else {
            wait(on, is_decided ? waiting::deaf : waiting::together);
        }
    }

    // ---- gather and race ------------------------------------------------------------------------

    void watch_handles(crew& made) {
        for (const int each : made.of->targets) {
            fiber& target = at(each);
            if (target.first == nullptr) {
                continue;
            }
            made.members.push_back(each);
            if (target.is_done) {
                note_member(made, target);
            } else {
                made.running.push_back(each);
                target.watchers.push_back(made.of->id);
            }
        }
    }
    void member_ended(crew& in, const fiber& ended) override {
        std::erase(in.running, id_of(ended));
        note_member(in, ended);
        fiber& waiter = at(in.owner);
        if (waiter.wait != waiting::no) {
            if (in.has_failed()) {
                waiter.wait = waiting::deaf;
            }
            if (in.is_complete()) {
                wake_together(waiter);
            }
        }
    }
    void note_member(crew& in, const fiber& ended) {
        const bool is_cancelled = ended.end.is_cancellation();
        const bool is_failure = ended.end.is_error() || (is_cancelled && !in.is_aborting);
        if (in.of->what == kind::gather && is_failure && !in.has_failed()) {
            in.failure = ended.end;
            note_error(in, ended);
            if (!in.is_aborting) {
                cancel_running(in, 0);
            }
        } else if (in.of->what == kind::race && ended.end.is_value() && !in.is_aborting) {
            in.winner = id_of(ended);
            cancel_running(in, 0);
        } else if (in.of->what == kind::gather_handles && in.of->variant == 0 && !in.is_over) {
            if (is_failure) {
                in.failure = ended.end;
                note_error(in, ended);
            }
            in.is_over = is_failure || is_cancelled;
        }
    }
    void stop_together(fiber& on, const request& stop) {
        frame& top = on.stack.back();
        crew& all = crew_of(top.at->id);
        const bool is_passed_on = !all.has_failed();
        hold(top, stop, is_passed_on);
        if (is_passed_on) {
            cancel_running(all, stop.reason);
        }
        wait_together(on);
    }
    void wait_together(fiber& on) {
        frame& top = on.stack.back();
        crew& all = crew_of(top.at->id);
        if (!all.is_complete()) {
            top.has_waited = true;
            wait_for_parts(on, all.has_failed() || top.held);
            return;
        }
        all.is_closed = true;
        if (all.has_failed() && all.failure.is_error()) {
            error_beats_stop(on, all.failure);
        } else if (top.held || (top.has_waited && on.deliverable())) {
            stop_goes_on(on);
        } else {
            finish(on, all.has_failed() ? ending(all.failure) : combined_result(all));
        }
    }
    ending combined_result(const crew& all) {
        const node& here = *all.of;
        ending list{ending::kind::group};
        int sum = 0;
        for (const int each : all.members) {
            list.parts.push_back(at(each).end);
            sum += at(each).end.number;
        }
        if (here.what == kind::race) {
            return all.winner != 0 ? at(all.winner).end : list;
        }
        if (here.what == kind::gather_settled ||
            (here.what == kind::gather_handles && here.variant == 1)) {
            trace_.saw(here.id, list);
            return value(here.id);
        }
        return value(sum);
    }
};

}  // namespace model
