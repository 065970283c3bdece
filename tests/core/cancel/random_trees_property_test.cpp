// SPDX-License-Identifier: MIT
// Random trees of tasks, scopes, shields, clean-up and groups, stopped at random times. Each seed
// is one tree with its own simulated loop and its own order of ready tasks. WEIR_TREES is their
// number; WEIR_TREE runs one of them.

#include "random_support.hpp"

#include <cstdlib>

namespace {

using namespace cancel_tests;
using weir::task;

task<int> tree(world& in, place& at, int depth);

// ---- leaves -------------------------------------------------------------------------------------

task<int> wait_a_while(world& in, place& at) {
    piece local(in);
    watched_wait wait(in, at);
    co_await weir::sleep(in.a_while());
    wait.over();
    co_return 1;
}
task<int> yield_some(world& in, place& at) {
    piece local(in);
    for (int left = in.below(4); left > 0; --left) {
        watched_wait wait(in, at);
        co_await weir::yield();
        wait.over();
    }
    co_return 1;
}
task<int> wait_late(world& in, place& at) {
    piece local(in);
    watched_wait wait(in, at);
    co_await late_operation(in.a_while(), in.once_in(2));
    wait.over(true);
    co_return 1;
}
task<int> fail_at_once(world& in) {
    piece local(in);
    throw tree_error();
    co_return 1;
}

// ---- clean-up -----------------------------------------------------------------------------------

task<> clean_up(world& in, int depth) {
    piece local(in);
    ++in.cleanups_begun;
    place shield{.is_shield = true};
    at_exit ended([&in] { ++in.cleanups_ended; });
    place inside{.outer = &shield};
    (void)co_await weir::settle(tree(in, inside, std::min(depth, 1)));
    {
        watched_wait wait(in, inside);
        co_await weir::sleep(in.a_while());
        wait.over();
    }
    if (in.once_in(6)) {
        throw tree_error();
    }
}

task<int> with_finally(world& in, place& at, int depth) {
    piece local(in);
    ++in.cleanups_due;
    auto cleanup = [&in, depth](weir::ending) { return clean_up(in, depth - 1); };
    co_return co_await weir::finally(tree(in, at, depth - 1), cleanup);
}
task<> deferred_clean_up(world* in, int depth, std::unique_ptr<piece> owned) {
    co_await clean_up(*in, depth);
    owned.reset();
}
task<int> with_defer(world& in, place& at, int depth) {
    piece local(in);
    for (int left = 1 + in.below(2); left > 0; --left) {
        ++in.cleanups_due;
        auto owned = std::make_unique<piece>(in);
        co_await weir::defer(deferred_clean_up, &in, depth - 1, std::move(owned));
    }
    co_return co_await tree(in, at, depth - 1);
}

// ---- boundaries ---------------------------------------------------------------------------------

task<int> settled(world& in, place& at, int depth) {
    piece local(in);
    weir::outcome<int> ended = co_await weir::settle(tree(in, at, depth - 1));
    co_return ended.has_value() ? ended.value() : 0;
}
task<int> intercepted(world& in, place& at, int depth) {
    piece local(in);
    weir::outcome<int> ended = co_await weir::intercept(tree(in, at, depth - 1));
    (void)co_await wait_a_while(in, at);
    if (in.once_in(2)) {
        co_return co_await std::move(ended);
    }
    co_return 0;
}
task<int> caught(world& in, place& at, int depth) {
    piece local(in);
    try {
        co_return co_await weir::catchable(tree(in, at, depth - 1));
    } catch (const weir::cancelled&) {
        if (in.once_in(3)) {
            throw tree_error();
        }
        if (in.once_in(2)) {
            throw;
        }
    }
    co_return co_await wait_a_while(in, at);
}
task<int> shielded(world& in, int depth) {
    piece local(in);
    place shield{.is_shield = true};
    place inside{.outer = &shield};
    co_return co_await weir::shield(tree(in, inside, depth - 1));
}
task<int> timed(world& in, place& at, int depth) {
    piece local(in);
    int got = 0;
    {
        place inside{.outer = &at};
        inside.deadline = weir::now() + in.a_while();
        try {
            got = co_await weir::timeout_at(inside.deadline, tree(in, inside, depth - 1));
        } catch (const weir::timed_out&) {
            if (weir::now() < inside.deadline) {
                in.fail("timed out too early");
            }
        }
    }
    got += co_await wait_a_while(in, at);  // undisturbed by the scope
    co_return got;
}
task<int> scoped(world& in, place& at, int depth) {
    piece local(in);
    bool is_stopped = false;
    {
        weir::cancel_scope scope;
        place inside{.outer = &at, .scope = &scope};
        listed entry(in, inside);
        const std::optional<int> got = co_await scope.run(tree(in, inside, depth - 1));
        is_stopped = !got;
        if (is_stopped != scope.caught() || (is_stopped && !scope.cancel_called())) {
            in.fail("a scope stopped its work for no reason");
        }
    }
    (void)co_await wait_a_while(in, at);
    co_return is_stopped ? 0 : 1;
}

// ---- fibers -------------------------------------------------------------------------------------

task<int> fiber_main(world& in, int depth, int* group_size) {
    piece local(in);
    ++in.fibers_begun;
    place self{.is_fiber = true, .fiber = weir::current_task()};
    listed entry(in, self);
    at_exit left([&in, group_size] {
        ++in.fibers_left;
        if (group_size != nullptr) {
            --*group_size;
        }
    });
    if (group_size != nullptr) {
        ++*group_size;
    }
    co_return co_await tree(in, self, depth);
}

weir::spawn_options some_start(world& in) {
    return {.start = in.once_in(3) ? weir::start::eager : weir::start::later};
}

task<int> grouped(world& in, place& at, int depth) {
    piece local(in);
    int size = 0;
    at_exit joined([&] {
        if (size != 0) {
            in.fail("a group was left with " + std::to_string(size) + " children running");
        }
    });
    auto body = [&](weir::task_group& group) -> task<int> {
        piece in_body(in);
        place inside{.outer = &at, .group = &group};
        for (int left = in.below(3); left > 0 && !group.state().is_aborting; --left) {
            in.fibers.push_back(group.spawn(fiber_main(in, depth - 1, &size), some_start(in)));
        }
        if (in.once_in(6)) {
            group.cancel();
        }
        co_return co_await tree(in, inside, depth - 1);
    };
    try {
        co_return co_await weir::with_group(body);
    } catch (const weir::error_group&) {
        if (in.once_in(2)) {
            throw tree_error();
        }
    }
    co_return co_await wait_a_while(in, at);
}
task<int> joined(world& in, int depth) {
    piece local(in);
    auto started = weir::spawn(fiber_main(in, depth - 1, nullptr), some_start(in));
    in.fibers.push_back(started);
    if (in.once_in(3)) {
        co_return co_await weir::shield(started);
    }
    co_return co_await started;
}

// ---- requests from inside -----------------------------------------------------------------------

// Requests a stop of one of the places above.
void ask_above(world& in, place& at) {
    for (place* each = &at; each != nullptr; each = each->outer) {
        if (in.once_in(2)) {
            if (each->scope != nullptr) {
                each->request();
                each->scope->cancel();
                return;
            }
            if (each->is_fiber) {
                each->request();
                each->fiber.cancel();
                return;
            }
        }
    }
}
task<int> asks(world& in, place& at, int depth) {
    piece local(in);
    ask_above(in, at);
    co_return co_await tree(in, at, depth - 1);
}
task<int> asks_when_destroyed(world& in, place& at, int depth) {
    piece local(in);
    at_exit ask([&] { ask_above(in, at); });
    co_return co_await tree(in, at, depth - 1);
}

// ---- inner nodes --------------------------------------------------------------------------------

task<int> several(world& in, place& at, int depth) {
    piece local(in);
    int sum = 0;
    for (int left = 1 + in.below(3); left > 0; --left) {
        sum += co_await tree(in, at, depth - 1);
    }
    co_return sum;
}
task<int> guarded(world& in, place& at, int depth) {
    piece local(in);
    try {
        co_return co_await tree(in, at, depth - 1);
    } catch (const tree_error&) {
    }
    co_return co_await wait_a_while(in, at);
}

task<int> tree(world& in, place& at, int depth) {
    if (depth <= 0) {
        switch (in.below(16)) {
            case 0:
                return fail_at_once(in);
            case 1:
                return yield_some(in, at);
            case 2:
                return wait_late(in, at);
            default:
                return wait_a_while(in, at);
        }
    }
    switch (in.below(22)) {
        case 0:
            return settled(in, at, depth);
        case 1:
            return intercepted(in, at, depth);
        case 2:
            return caught(in, at, depth);
        case 3:
            return shielded(in, depth);
        case 4:
            return timed(in, at, depth);
        case 5:
            return scoped(in, at, depth);
        case 6:
            return with_finally(in, at, depth);
        case 7:
            return with_defer(in, at, depth);
        case 8:
            return grouped(in, at, depth);
        case 9:
            return joined(in, depth);
        case 10:
            return asks(in, at, depth);
        case 11:
            return asks_when_destroyed(in, at, depth);
        case 12:
            return guarded(in, at, depth);
        case 13:
            return timed(in, at, depth);
        default:
            return several(in, at, depth);
    }
}

// ---- requests from outside ----------------------------------------------------------------------

task<> attack(world& in) {
    for (int left = in.below(6); left > 0; --left) {
        co_await weir::sleep(in.a_while() * (1 + in.below(6)));
        if (in.targets.empty()) {
            continue;
        }
        place& chosen =
            *in.targets[static_cast<std::size_t>(in.below(static_cast<int>(in.targets.size())))];
        chosen.request();
        if (chosen.scope != nullptr) {
            chosen.scope->cancel("attack");
        } else {
            chosen.fiber.cancel("attack");
            if (in.once_in(10)) {
                chosen.fiber.uncancel();
                chosen.asked_at = weir::clock::time_point::min();  // may have been taken back
            }
        }
    }
}

task<> play(world& in) {
    in.fibers.push_back(weir::spawn(fiber_main(in, 3 + in.below(4), nullptr)));
    std::vector<weir::handle<>> attackers;
    for (int left = 1 + in.below(3); left > 0; --left) {
        attackers.push_back(weir::spawn(attack(in)));
    }
    for (std::size_t each = 0; each < in.fibers.size(); ++each) {  // more are added meanwhile
        const weir::any_handle fiber = in.fibers[each];
        co_await fiber.wait();
        if (!fiber.cancelled()) {
            (void)fiber.error();
        }
        if (!fiber.done() || (fiber.cancelled() && fiber.failed())) {
            in.fail("a fiber did not end in exactly one way");
        }
    }
    for (const auto& each : attackers) {
        co_await each;
    }
    if (weir::all_tasks().size() != 1) {
        in.fail("tasks are left:\n" + weir::dump_tasks());
    }
    if (weir::loop::current().next_deadline().has_value()) {
        in.fail("a timer is left");
    }
}

void run_tree(std::uint64_t seed, world& totals) {
    world in(seed);
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.seed = seed % 4 == 0 ? 0 : seed;
    options.on_report = [&in](const weir::report& about) {
        if (about.kind != weir::report_kind::suppressed_error) {
            in.fail("reported: " + about.message);
        }
    };
    try {
        weir::run(play(in), std::move(options));
    } catch (const std::exception& error) {
        in.fail(std::string("run threw: ") + error.what());
    }
    if (in.pieces != 0) {
        in.fail(std::to_string(in.pieces) + " objects are left");
    }
    if (in.cleanups_begun != in.cleanups_due || in.cleanups_ended != in.cleanups_due) {
        in.fail("clean-up: due " + std::to_string(in.cleanups_due) + ", begun " +
                std::to_string(in.cleanups_begun) + ", ended " + std::to_string(in.cleanups_ended));
    }
    if (in.fibers_begun != in.fibers_left) {
        in.fail("a fiber's frame was not left");
    }
    for (const std::string& each : in.failures) {
        ADD_FAILURE() << "tree " << seed << ": " << each;
    }
    totals.waits += in.waits;
    totals.stopped_waits += in.stopped_waits;
    totals.cleanups_ended += in.cleanups_ended;
    totals.fibers_begun += in.fibers_begun;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(RandomTrees, KeepEveryRuleUnderRandomStops) {
    const std::uint64_t only = from_environment("WEIR_TREE", 0);
    const std::uint64_t first = only != 0 ? only : 1;
    const std::uint64_t last = only != 0 ? only : from_environment("WEIR_TREES", 3000);
    world totals(0);
    for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
        run_tree(seed, totals);
    }
    RecordProperty("waits", std::to_string(totals.waits));
    RecordProperty("stopped_waits", std::to_string(totals.stopped_waits));
    if (last > 1000 && !HasFailure()) {  // the trees must not be tame
        EXPECT_GT(totals.waits, 10'000);
        EXPECT_GT(totals.stopped_waits, 1000);
        EXPECT_GT(totals.cleanups_ended, 1000);
        EXPECT_GT(totals.fibers_begun, 1000);
    }
}

}  // namespace
