// SPDX-License-Identifier: MIT
// The rules of stops, as a machine that executes programs in virtual time without coroutines.
//
// docs/design.md, "Stops: one rule for all boundaries", is the text to this. `stops_at` says for
// each kind of node what it does when a stop arrives, `part_ended` what it does when its work has
// ended otherwise. requests.cpp decides which requests are deliverable, fiber_machine.hpp has what
// fibers wait for, line_machine.hpp locks and queues, part_machine.hpp groups, gather and race.
//
// Compiled alone (tests/unite.cmake): other files use what it defines.

#include "part_machine.hpp"

#include <cstdlib>

namespace model {

namespace {

class machine final : public part_machine {
public:
    using part_machine::part_machine;

private:
    void begin(fiber& on, const node& part) override {
        trace_.begun(part.id, time_.now());
        on.stack.push_back({.at = &part});
        owner_of_[static_cast<std::size_t>(part.id)] = id_of(on);
        switch (part.what) {
            case kind::sleep:
                time_.add(part.time, timer::kind::sleep, id_of(on), on.turn);
                wait(on, waiting::plainly);
                return;
            case kind::yield:
                wake(on, value(part.id));
                return;
            case kind::fail:
                finish(on, {ending::kind::error, part.id});
                return;
            case kind::cancel:
                cancel_target(part.target, part.reason);
                finish(on, value(part.id));
                return;
            case kind::uncancel:
                if (on.cancelling > 0 && --on.cancelling == 0) {
                    on.drop(request::whole_fiber);
                }
                finish(on, value(on.cancelling));
                return;
            case kind::extend:
                if (extend(-part.target, part.time)) {
                    finish(on, value(1));
                } else if (broken_ == fault::late_extend_throws &&
                           owner(-part.target).find(-part.target) != nullptr) {
                    finish(on, {ending::kind::misuse});
                } else {
                    finish(on, value(0));
                }
                return;
            case kind::await_handle:
            case kind::wait_handle:
            case kind::shield_handle:
                begin_join(on, part);
                return;
            case kind::lock:
            case kind::get:
            case kind::put:
                begin_line(on, part);
                return;
            case kind::generate:
                begin_next(on);
                return;
            case kind::spawn:
                start_fiber(part.parts[0], 0, true, part.variant == 1);
                finish(on, value(part.id));
                return;
            case kind::group_spawn:
                begin_group_spawn(on, part);
                return;
            case kind::group:
                begin_group(on, part);
                return;
            case kind::gather:
            case kind::gather_settled:
            case kind::race:
                open_crew(on, part);
                for (const node& each : part.parts) {
                    start_fiber(each, part.id, false);
                    crew_of(part.id).members.push_back(each.id);
                }
                wait_together(on);
                return;
            case kind::gather_handles:
                watch_handles(open_crew(on, part));
                wait_together(on);
                return;
            case kind::timeout:
                if (part.time == 0) {
                    finish(on, time_is_up(part));  // not even started
                    return;
                }
                set_deadline(part.id, part.time);
                break;
            case kind::scope:
                if (part.time != 0) {
                    set_deadline(part.id, part.time);
                }
                break;
            case kind::shield:
                on.stack.back().is_shield = true;
                break;
            default:
                break;
        }
        if (part.parts.empty()) {
            finish(on, value(0));
        } else {
            begin(on, part.parts[0]);
        }
    }
    // True if the work of the scope is not being stopped by it.
    bool extend(int scope, std::int64_t time) {
        frame* extended = owner(scope).find(scope);
        if (extended == nullptr || extended->is_deadline_over) {
            return false;
        }
        set_deadline(scope, time);
        return true;
    }

    void finish(fiber& on, const ending& how) override {
        const ending ended = how;
        note_end(on, ended);
        if (on.stack.empty()) {
            end_fiber(on, ended);
        } else {
            part_ended(on, ended);
        }
    }

    // The part of the innermost node that was running has ended.
    void part_ended(fiber& on, const ending& how) {
        frame& top = on.stack.back();
        const node& here = *top.at;
        switch (here.what) {
            case kind::sequence:
                if (how.is_value() && ++top.stage < here.parts.size()) {
                    begin(on, here.parts[top.stage]);
                } else {
                    finish(on, how);
                }
                break;
            case kind::attempt:
                finish(on, how.is_error() || (how.is_cancellation() && here.variant == 1)
                               ? value(-here.id)
                               : how);
                break;
            case kind::timeout:
                finish(on, is_own_stop(top, how) ? time_is_up(here) : how);
                break;
            case kind::scope:
                finish(on, is_own_stop(top, how) ? value(-here.id) : how);
                break;
            case kind::shield:
                top.is_shield = false;
                give_way(on, how);
                break;
            case kind::finally:
            case kind::defer:
            case kind::with:
                if (top.stage == here.parts.size() - 1) {
                    cleaned_up(on, how);
                } else if (top.stage == here.parts.size() - 2) {
                    clean_up(on, how, {});
                } else if (how.is_value()) {  // the resource is open
                    begin(on, here.parts[++top.stage]);
                } else {
                    finish(on, how);
                }
                break;
            case kind::lock:
                give(line_of(here));
                finish(on, how);
                break;
            case kind::generate:
                generator_part_ended(on, how);
                break;
            case kind::settle:
                trace_.saw(here.id, how);
                finish(on, how.is_value() ? how : value(-here.id));
                break;
            case kind::intercept:
                if (top.stage == 0) {
                    trace_.saw(here.id, how);
                    top.kept = how;
                    intercepted(on);
                } else if (how.is_value()) {
                    await_outcome(on);
                } else {
                    finish(on, how);
                }
                break;
            case kind::catchable:
                if (how.is_cancellation()) {
                    caught(on, how);
                } else {
                    finish(on, how);
                }
                break;
            case kind::group:
                body_ended(on, how);
                break;
            default:
                std::abort();  // has no parts in the same fiber
        }
    }

    void unwind(fiber& on, const std::optional<request>& on_its_way) override {
        const request stop = on.deliver(on_its_way);
        while (!on.stack.empty()) {
            if (stops_at(on, stop)) {
                return;
            }
            note_end(on, {ending::kind::stopped});
        }
        end_fiber(on, {ending::kind::cancelled, stop.reason});
    }
    // What the innermost frame does with a stop; false: it lets it pass.
    bool stops_at(fiber& on, const request& stop) {
        frame& top = on.stack.back();
        const node& here = *top.at;
        switch (here.what) {
            case kind::lock:
            case kind::get:
            case kind::put:
                leave_line(on);
                [[fallthrough]];
            case kind::timeout:
            case kind::await_handle:
                if (stop.target == here.id) {
                    finish(on, time_is_up(here));
                }
                return stop.target == here.id;
            case kind::generate:
                return generator_stops(on, stop);
            case kind::scope:
                if (stop.target == here.id) {
                    finish(on, value(-here.id));
                }
                return stop.target == here.id;
            case kind::finally:
            case kind::defer:
            case kind::with:
                if (top.stage != here.parts.size() - 2) {
                    return false;
                }
                clean_up(on, {ending::kind::stopped}, stop);
                return true;
            case kind::intercept:
                if (top.stage != 0) {
                    return false;
                }
                on.note_answer(stop);
                trace_.saw(here.id, {ending::kind::stopped, stop.reason});
                top.held = stop;
                intercepted(on);
                return true;
            case kind::catchable:
                on.note_answer(stop);
                caught(on, {ending::kind::cancelled,
                            stop.reason,
                            {},
                            stop.target == request::whole_fiber ? origin_fiber : stop.target});
                return true;
            case kind::group:
                stop_group(on, stop);
                return true;
            case kind::gather:
            case kind::gather_settled:
            case kind::race:
            case kind::gather_handles:
                stop_together(on, stop);
                return true;
            default:
                return false;
        }
    }

    // How a wait or a work ends whose time is up.
    static ending time_is_up(const node& here) {
        const bool is_timeout_or = here.what == kind::timeout && here.variant == 1;
        return is_timeout_or ? value(-here.id) : ending{ending::kind::timed_out};
    }

    // ---- generators -----------------------------------------------------------------------------

    // The body goes on until its next item or its end; next() may yield before.
    void begin_next(fiber& on) {
        if (order_.choose(2) == 0) {
            next_item(on);
        } else {
            on.stack.back().is_queued = true;
            wake(on, {});
        }
    }
    void next_item(fiber& on) {
        frame& top = on.stack.back();
        top.is_queued = false;
        if (top.stage == top.at->parts.size() - 1) {
            clean_up(on, ending(top.kept), {});
        } else {
            begin(on, top.at->parts[top.stage]);
        }
    }
    static bool is_in_body(const frame& generator) {
        return generator.stage % 2 == 0 && !generator.is_queued;
    }
    void generator_part_ended(fiber& on, const ending& how) {
        frame& top = on.stack.back();
        const node& here = *top.at;
        if (top.is_shield) {
            cleaned_up(on, how);
        } else if (is_in_body(top)) {
            if (how.is_value()) {
                begin(on, here.parts[++top.stage]);
            } else {
                clean_up(on, how, {});
            }
        } else if (how.is_value() && here.variant < 2) {
            top.kept = how;
            ++top.stage;
            begin_next(on);
        } else if (here.variant % 2 == 0) {
            clean_up(on, how, {});
        } else {
            drop_generator(here);
            finish(on, how);
        }
    }
    bool generator_stops(fiber& on, const request& stop) {
        frame& top = on.stack.back();
        const bool has_begun = top.stage > 0 || !top.is_queued;
        const bool is_over = top.stage == top.at->parts.size() - 1 && !top.is_queued;
        if (!has_begun || is_over) {
            return false;
        }
        if (!is_in_body(top) && top.at->variant % 2 == 1) {
            drop_generator(*top.at);
            return false;
        }
        top.is_queued = false;
        clean_up(on, {ending::kind::stopped}, stop);
        return true;
    }
    void drop_generator(const node& here) {
        if (broken_ != fault::dropped_is_forgotten) {
            start_in_background(here.parts.back());
        }
    }

    // ---- clean-up -------------------------------------------------------------------------------

    // A shield has ended: a stop that it held off beats a value, and what catchable has thrown,
    // whose request is made again.
    void give_way(fiber& on, const ending& how) {
        if (!how.is_error() && on.deliverable()) {
            if (const std::optional<request> thrown = thrown_stop(on, how)) {
                on.add_again(*thrown);
            }
            unwind(on, {});
        } else {
            finish(on, how);
        }
    }
    void clean_up(fiber& on, const ending& how, const std::optional<request>& stop) {
        frame& top = on.stack.back();
        const node& here = *top.at;
        if (here.what != kind::defer && here.what != kind::generate) {
            trace_.saw(here.id, {how.is_value()   ? ending::kind::value
                                 : how.is_error() ? ending::kind::error
                                                  : ending::kind::stopped});
        }
        top.kept = how;
        top.held = stop;
        top.stage = here.parts.size() - 1;
        top.is_shield = true;
        begin(on, here.parts.back());
    }
    // Clean-up that throws replaces how the work ended, a stop too.
    void cleaned_up(fiber& on, const ending& how) {
        frame& top = on.stack.back();
        top.is_shield = false;
        if (how.is_error()) {
            if (top.held) {
                on.note_answer(*top.held);
            }
            finish(on, how);
        } else if (top.held) {
            unwind(on, std::exchange(top.held, {}));
        } else {
            give_way(on, how.is_value() ? ending(top.kept) : how);
        }
    }
    void intercepted(fiber& on) {
        frame& top = on.stack.back();
        top.stage = 1;
        if (top.at->parts.size() > 1) {
            begin(on, top.at->parts[1]);
        } else {
            await_outcome(on);
        }
    }
    // Makes the request again, if it was a stop.
    void await_outcome(fiber& on) {
        frame& top = on.stack.back();
        if (top.at->variant < 2) {
            finish(on, value(-top.at->id));
        } else if (top.held) {
            if (order_.choose(2) == 0) {
                on.add(*std::exchange(top.held, {}));
            }  // otherwise it yields before
            wake(on, {});
        } else {
            top.kept.origin = 0;
            if (order_.choose(2) == 0) {
                finish(on, top.kept);
            } else {  // an operation may yield before it begins
                wake(on, top.kept);
            }
        }
    }
    void caught(fiber& on, const ending& thrown) {
        const node& here = *on.stack.back().at;
        trace_.saw(here.id, thrown);
        finish(on, here.variant == 0   ? value(-here.id)
                   : here.variant == 1 ? thrown
                                       : ending{ending::kind::error, here.id});
    }

    void resume(fiber& on) override {
        frame& top = on.stack.back();
        switch (top.at->what) {
            case kind::group:
                join_children(on);
                break;
            case kind::gather:
            case kind::gather_settled:
            case kind::race:
            case kind::gather_handles:
                wait_together(on);
                break;
            case kind::lock:
            case kind::get:
            case kind::put:
                resume_in_line(on);
                break;
            case kind::generate:
                next_item(on);
                break;
            case kind::intercept:
                if (top.held) {
                    on.add(*std::exchange(top.held, {}));
                    unwind(on, {});
                } else {
                    finish(on, on.arrived);
                }
                break;
            default:
                finish(on, is_own_stop(top, on.arrived) ? ending{ending::kind::timed_out}
                                                        : ending(on.arrived));
                break;
        }
    }
};

constexpr int orders_in_turn = 500;
constexpr int orders_at_random = 4000;

}  // namespace

trace run_on_model(const program& executed, const trace& seen, fault broken) {
    choices order;
    for (int tried = 0; tried < orders_in_turn + orders_at_random; ++tried) {
        if (tried == orders_in_turn) {
            order.become_random();
        }
        machine searching(executed, order, &seen, broken);
        if (searching.run() && searching.result() == seen) {
            return seen;
        }
        if (!order.next()) {
            break;
        }
    }
    choices first;
    machine plain(executed, first, nullptr, broken);
    plain.run();
    return plain.result();
}

}  // namespace model
