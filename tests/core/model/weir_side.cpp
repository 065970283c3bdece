// SPDX-License-Identifier: MIT
// Runs a program on Weir: one coroutine per kind of node, around each a recorder.
//
// Compiled alone (tests/unite.cmake): other files use what it defines.

#include "core/debug/explorer.hpp"
#include "core/loop/loop_state.hpp"
#include "world.hpp"

#include <weir/weir.hpp>

#include <optional>

namespace model {

namespace {

using namespace std::chrono_literals;
using weir::task;

task<int> run(world& in, const node& at);

task<int> fiber_main(world& in, const node& first) {
    in.fibers[static_cast<std::size_t>(first.id)] = weir::current_task();
    co_return co_await run(in, first);
}
void add_fiber(world& in, const node& first, const weir::handle<int>& started) {
    in.fibers[static_cast<std::size_t>(first.id)] = started;
    in.handles[static_cast<std::size_t>(first.id)] = started;
}
std::vector<task<int>> fibers_of(world& in, const node& at) {
    std::vector<task<int>> made;
    for (const node& each : at.parts) {
        made.push_back(fiber_main(in, each));
    }
    return made;
}
weir::handle<int> handle_of(world& in, int target) {
    return in.handles[static_cast<std::size_t>(target)];
}

void note_outcomes(world& in, const node& at, const std::vector<weir::outcome<int>>& outcomes) {
    ending& seen = in.of(at).seen;
    seen.how = ending::kind::group;
    for (const weir::outcome<int>& each : outcomes) {
        seen.parts.push_back(to_ending(each));
    }
}

// ---- leaves -------------------------------------------------------------------------------------

task<int> run_sleep(const node& at) {
    co_await weir::sleep(weir::clock::duration(at.time));
    co_return at.id;
}
task<int> run_yield(const node& at) {
    co_await weir::yield();
    co_return at.id;
}
task<int> run_fail(const node& at) {
    throw node_error(at.id);
    co_return 0;
}
task<int> run_await(world& in, const node& at) {
    const weir::handle<int> target = handle_of(in, at.target);
    if (!target.valid()) {
        co_return 0;
    }
    if (at.time != 0) {
        co_return co_await weir::timeout(weir::clock::duration(at.time), target);
    }
    const int value = co_await target;
    co_return value;
}
task<int> run_wait(world& in, const node& at) {
    const weir::handle<int> target = handle_of(in, at.target);
    if (target.valid()) {
        co_await target.wait();
    }
    co_return 0;
}
task<int> run_shield_handle(world& in, const node& at) {
    const weir::handle<int> target = handle_of(in, at.target);
    if (!target.valid()) {
        co_return 0;
    }
    const int value = co_await weir::shield(target);
    co_return value;
}
task<int> run_gather_handles(world& in, const node& at) {
    std::vector<weir::handle<int>> handles;
    for (const int target : at.targets) {
        if (weir::handle<int> each = handle_of(in, target); each.valid()) {
            handles.push_back(std::move(each));
        }
    }
    if (at.variant == 1) {
        const std::vector<weir::outcome<int>> outcomes =
            co_await weir::gather_settled(std::move(handles));
        note_outcomes(in, at, outcomes);
        co_return at.id;
    }
    const std::vector<int> values = co_await weir::gather(std::move(handles));
    int sum = 0;
    for (const int each : values) {
        sum += each;
    }
    co_return sum;
}
task<int> run_uncancel() {
    co_return static_cast<int>(weir::current_task().uncancel());
}
task<int> run_extend(world& in, const node& at) {
    weir::cancel_scope* scope = in.scopes[static_cast<std::size_t>(-at.target)];
    co_return scope != nullptr && scope->try_reschedule_after(weir::clock::duration(at.time)) ? 1
                                                                                              : 0;
}
task<int> run_cancel(world& in, const node& at) {
    in.cancel(at.target, at.reason);
    co_return at.id;
}

task<int> run_put(world& in, const node& at) {
    co_await weir::timeout(weir::clock::duration(at.time), in.items.put(at.id));
    co_return at.id;
}
task<int> run_get(world& in, const node& at) {
    co_return co_await weir::timeout(weir::clock::duration(at.time), in.items.get());
}

// ---- work in the same fiber ---------------------------------------------------------------------

task<int> run_sequence(world& in, const node& at) {
    int last = 0;
    for (const node& each : at.parts) {
        last = co_await run(in, each);
    }
    co_return last;
}
task<int> run_attempt(world& in, const node& at) {
    try {
        co_return co_await run(in, at.parts[0]);
    } catch (const std::exception&) {
    } catch (const weir::cancelled&) {
        if (at.variant == 0) {
            throw;
        }
    }
    co_return -at.id;
}
task<int> run_timeout(world& in, const node& at) {
    if (at.variant == 1) {
        co_return co_await weir::timeout_or(weir::clock::duration(at.time), run(in, at.parts[0]),
                                            -at.id);
    }
    co_return co_await weir::timeout(weir::clock::duration(at.time), run(in, at.parts[0]));
}
// Where events find a scope as long as it exists.
class known_scope {
public:
    known_scope(world& in, const node& at, weir::cancel_scope& scope)
        : place_(in.scopes[static_cast<std::size_t>(at.id)]) {
        place_ = &scope;
    }
    known_scope(const known_scope&) = delete;
    known_scope& operator=(const known_scope&) = delete;
    ~known_scope() { place_ = nullptr; }

private:
    weir::cancel_scope*& place_;
};
task<int> run_with_scope(world& in, const node& at) {
    auto body = [&in, &at](weir::cancel_scope& scope) -> task<int> {
        const known_scope known(in, at, scope);
        co_return co_await run(in, at.parts[0]);
    };
    std::optional<int> value;
    if (at.time != 0) {
        value = co_await weir::with_scope(weir::clock::duration(at.time), body);
    } else {
        value = co_await weir::with_scope(body);
    }
    co_return value.value_or(-at.id);
}
task<int> run_scope(world& in, const node& at) {
    weir::cancel_scope scope(at.time != 0 ? weir::now() + weir::clock::duration(at.time)
                                          : weir::clock::time_point::max());
    const known_scope known(in, at, scope);
    const std::optional<int> value = co_await scope.run(run(in, at.parts[0]));
    if (scope.caught() == value.has_value()) {
        throw std::logic_error("caught() contradicts the result");
    }
    co_return value.value_or(-at.id);
}
task<int> run_shield(world& in, const node& at) {
    co_return co_await weir::shield(run(in, at.parts[0]));
}
task<int> run_finally(world& in, const node& at) {
    auto cleanup = [&in, &at](weir::ending how) -> task<void> {
        in.of(at).seen = to_ending(how);
        co_await run(in, at.parts[1]);
    };
    co_return co_await weir::finally(run(in, at.parts[0]), cleanup);
}
struct resource {
    world& in;
    const node& at;
    task<void> open() { co_await run(in, at.parts[0]); }
    task<void> close(weir::ending how) {
        in.of(at).seen = to_ending(how);
        co_await run(in, at.parts[2]);
    }
};
task<int> run_with(world& in, const node& at) {
    resource used{in, at};
    auto body = [&in, &at](resource&) { return run(in, at.parts[1]); };
    co_return co_await weir::with(used, body);
}
task<void> deferred(world* in, const node* cleanup) {
    co_await run(*in, *cleanup);
}
task<int> run_defer(world& in, const node& at) {
    co_await weir::defer(deferred, &in, &at.parts[1]);
    co_return co_await run(in, at.parts[0]);
}
task<int> run_lock(world& in, const node& at) {
    const weir::clock::duration limit(at.time);
    if (at.variant == 2) {
        const weir::semaphore::permit held = co_await weir::timeout(limit, in.permits.acquire());
        co_return co_await run(in, at.parts[0]);
    }
    const weir::mutex::guard held =
        co_await weir::timeout(limit, in.mutexes[static_cast<std::size_t>(at.variant)].lock());
    co_return co_await run(in, at.parts[0]);
}
weir::generator<int> items_of(world& in, const node& at) {
    co_await weir::defer(deferred, &in, &at.parts.back());
    for (std::size_t each = 0; each + 1 < at.parts.size(); each += 2) {
        int item = co_await run(in, at.parts[each]);
        co_yield std::move(item);
    }
}
task<int> consume(world& in, const node& at, weir::generator<int>& items) {
    int last = 0;
    for (std::size_t each = 1;; each += 2) {
        const std::optional<int> item = co_await items.next();
        if (!item.has_value()) {
            break;
        }
        last = co_await run(in, at.parts[each]);
        if (at.variant >= 2) {
            break;
        }
    }
    co_return last;
}
task<int> run_generate(world& in, const node& at) {
    if (at.variant % 2 == 0) {
        weir::generator<int>& items = co_await weir::closing(items_of(in, at));
        co_return co_await consume(in, at, items);
    }
    weir::generator<int> items = items_of(in, at);
    co_return co_await consume(in, at, items);
}
task<int> run_settle(world& in, const node& at) {
    const weir::outcome<int> outcome = co_await weir::settle(run(in, at.parts[0]));
    in.of(at).seen = to_ending(outcome);
    co_return outcome.has_value() ? outcome.value() : -at.id;
}
task<int> run_intercept(world& in, const node& at) {
    weir::outcome<int> outcome = co_await weir::intercept(run(in, at.parts[0]));
    in.of(at).seen = to_ending(outcome);
    if (at.variant == 1 || at.variant == 2) {
        (void)co_await run(in, at.parts[1]);
    }
    if (at.variant >= 2) {
        co_return co_await std::move(outcome);
    }
    co_return -at.id;
}
task<int> run_catchable(world& in, const node& at) {
    try {
        co_return co_await weir::catchable(run(in, at.parts[0]));
    } catch (const weir::cancelled& caught) {
        in.of(at).seen = {ending::kind::cancelled, reason_number(caught.reason())};
        if (at.variant == 1) {
            throw;
        }
        if (at.variant == 2) {
            throw node_error(at.id);
        }
    }
    co_return -at.id;
}

// ---- work in other fibers -----------------------------------------------------------------------

task<int> run_spawn(world& in, const node& at) {
    const weir::start how = at.variant == 1 ? weir::start::eager : weir::start::later;
    add_fiber(in, at.parts[0], weir::spawn(fiber_main(in, at.parts[0]), {.start = how}));
    co_return at.id;
}
void start_children(world& in, const node& at, weir::task_group& group) {
    in.groups[static_cast<std::size_t>(at.id)].emplace(group);
    const weir::start how = at.variant >= 2 ? weir::start::eager : weir::start::later;
    for (std::size_t each = 1; each < at.parts.size(); ++each) {
        add_fiber(in, at.parts[each], group.spawn(fiber_main(in, at.parts[each]), {.start = how}));
    }
}
task<int> run_group(world& in, const node& at) {
    if (at.variant % 2 == 1) {
        auto body = [&in, &at](weir::task_group& group) -> task<int> {
            start_children(in, at, group);
            co_return co_await run(in, at.parts[0]);
        };
        co_return co_await weir::with_group(body);
    }
    auto body = [&in, &at](weir::task_group& group) -> task<void> {
        start_children(in, at, group);
        co_await run(in, at.parts[0]);
    };
    co_await weir::with_group(body);
    co_return at.id;
}
task<int> run_group_spawn(world& in, const node& at) {
    auto& group = in.groups[static_cast<std::size_t>(-at.target)];
    if (group.has_value()) {
        add_fiber(in, at.parts[0], group->spawn(fiber_main(in, at.parts[0])));
    }
    co_return at.id;
}
task<int> run_gather(world& in, const node& at) {
    const std::vector<int> values = co_await weir::gather(fibers_of(in, at));
    int sum = 0;
    for (const int each : values) {
        sum += each;
    }
    co_return sum;
}
task<int> run_gather_settled(world& in, const node& at) {
    const std::vector<weir::outcome<int>> outcomes =
        co_await weir::gather_settled(fibers_of(in, at));
    note_outcomes(in, at, outcomes);
    co_return at.id;
}
task<int> run_race(world& in, const node& at) {
    co_return co_await weir::race(fibers_of(in, at));
}

// ---- all of them --------------------------------------------------------------------------------

task<int> perform(world& in, const node& at) {
    switch (at.what) {
        case kind::sleep:
            return run_sleep(at);
        case kind::yield:
            return run_yield(at);
        case kind::fail:
            return run_fail(at);
        case kind::await_handle:
            return run_await(in, at);
        case kind::wait_handle:
            return run_wait(in, at);
        case kind::shield_handle:
            return run_shield_handle(in, at);
        case kind::gather_handles:
            return run_gather_handles(in, at);
        case kind::cancel:
            return run_cancel(in, at);
        case kind::uncancel:
            return run_uncancel();
        case kind::extend:
            return run_extend(in, at);
        case kind::put:
            return run_put(in, at);
        case kind::get:
            return run_get(in, at);
        case kind::lock:
            return run_lock(in, at);
        case kind::generate:
            return run_generate(in, at);
        case kind::sequence:
            return run_sequence(in, at);
        case kind::attempt:
            return run_attempt(in, at);
        case kind::timeout:
            return run_timeout(in, at);
        case kind::scope:
            return at.variant == 1 ? run_with_scope(in, at) : run_scope(in, at);
        case kind::shield:
            return run_shield(in, at);
        case kind::finally:
            return run_finally(in, at);
        case kind::with:
            return run_with(in, at);
        case kind::defer:
            return run_defer(in, at);
        case kind::settle:
            return run_settle(in, at);
        case kind::intercept:
            return run_intercept(in, at);
        case kind::catchable:
            return run_catchable(in, at);
        case kind::spawn:
            return run_spawn(in, at);
        case kind::group:
            return run_group(in, at);
        case kind::group_spawn:
            return run_group_spawn(in, at);
        case kind::gather:
            return run_gather(in, at);
        case kind::gather_settled:
            return run_gather_settled(in, at);
        case kind::race:
            return run_race(in, at);
    }
    throw std::logic_error("no such node");
}

task<int> run(world& in, const node& at) {
    recorder note(in, at);
    try {
        const int value = co_await perform(in, at);
        co_return note.value(value);
    } catch (...) {
        note.error();
        throw;
    }
}

// Starts the program and its events, and waits until all fibers have ended.
task<void> run_all(const program& executed, std::uint64_t schedule, trace& seen) {
    weir::loop& home = weir::loop::current();
    weir::detail::explorer& turns = home.state().turns.explore(schedule);
    co_await weir::sleep(1ns);  // the turn in which that was done is over
    world in(executed);
    turns.on_step = [&in](std::uint64_t, std::uint32_t, const weir::detail::ready_item& whose) {
        in.next_turn(whose);
    };
    for (std::size_t each = 0; each < executed.events.size(); ++each) {
        const event& made = executed.events[each];
        home.call_at(in.at(made.time), [&in, &made, each] {
            in.note_event(each);
            in.cancel(made.target, made.reason);
        });
    }
    add_fiber(in, executed.main, weir::spawn(fiber_main(in, executed.main)));
    for (bool all_done = false; !all_done;) {
        all_done = true;
        for (const weir::any_handle& each : weir::all_tasks()) {
            if (each != weir::current_task()) {
                all_done = false;
                co_await each.wait();
            }
        }
    }
    for (std::size_t id = 1; id < in.fibers.size(); ++id) {
        const weir::any_handle& each = in.fibers[id];
        if (!each.valid()) {
            continue;
        }
        record& at = in.seen[id];
        at.cancelling = static_cast<int>(each.cancelling());
        try {
            const std::exception_ptr error = each.error();
            at.fiber = error != nullptr ? to_ending(error) : ending{ending::kind::value};
        } catch (const weir::cancelled& how) {
            at.fiber = {ending::kind::cancelled, reason_number(how.reason())};
        }
    }
    turns.on_step = nullptr;
    in.note_turns();
    seen = std::move(in.seen);
}

}  // namespace

trace run_on_weir(const program& executed, std::uint64_t schedule) {
    trace seen;
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.signals = weir::signal_handling::none;
    options.debug = false;
    options.on_report = [](const weir::report&) {};
    weir::run(run_all(executed, schedule, seen), std::move(options));
    return seen;
}

}  // namespace model
