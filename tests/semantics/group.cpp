// SPDX-License-Identifier: MIT
// Group TG: task groups.

#include "support/fifo_test.hpp"

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::error_group;
using weir::handle;
using weir::task;
using weir::task_group;
using names = std::vector<std::string>;

task<int> value_after(weir::clock::duration time, int value) {
    co_await weir::sleep(time);
    co_return value;
}
task<> fail_after(weir::clock::duration time, std::string what) {
    co_await weir::sleep(time);
    throw std::runtime_error(what);
}
task<> forever() {
    co_await weir::sleep_forever();
}
// Waits for ever; when stopped, cleans up for a while and throws, if there is something to throw.
task<> clean_then_throw(weir::clock::duration time, std::string what) {
    auto cleanup = [&]() -> task<> {
        co_await weir::sleep(time);
        if (!what.empty()) {
            throw std::runtime_error(what);
        }
    };
    co_await weir::finally(weir::sleep_forever(), cleanup);
}

// The texts of the errors that the group threw, in order.
template <class Body>
task<names> errors_of(Body& body) {
    names found;
    try {
        co_await weir::with_group(body);
    } catch (const error_group& errors) {
        for (const auto& each : errors.errors()) {
            found.push_back(weir::describe(each));
        }
    }
    co_return found;
}

WEIR_TEST(Semantics, TG_01) {
    handle<int> first;
    handle<int> second;
    auto body = [&](task_group& group) -> task<> {
        first = group.spawn(value_after(1s, 1));
        second = group.spawn(value_after(5s, 2));
        co_return;
    };
    co_await weir::with_group(body);
    EXPECT_EQ(weir::now().time_since_epoch(), 5s);
    EXPECT_EQ(first.result(), 1);
    EXPECT_EQ(second.result(), 2);
}

WEIR_TEST(Semantics, TG_02) {
    int ended = 0;
    auto grandchild = [&]() -> task<> {
        co_await weir::sleep(5s);
        ++ended;
    };
    auto child = [&](task_group group) -> task<> {
        co_await weir::sleep(2s);  // the body has ended: the group is joining
        group.spawn(grandchild);
        ++ended;
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(child, group);
        co_await weir::sleep(1s);
        group.spawn(child, group);
    };
    co_await weir::with_group(body);
    EXPECT_EQ(ended, 4);
    EXPECT_EQ(weir::now().time_since_epoch(), 8s);
}

WEIR_TEST(Semantics, TG_03) {
    bool sibling_done = false;
    auto throws_cancelled = []() -> task<> {
        co_await weir::sleep(1s);
        throw weir::cancelled();
    };
    auto sibling = [&]() -> task<> {
        co_await weir::sleep(5s);
        sibling_done = true;
    };
    auto body = [&](task_group& group) -> task<> {
        auto victim = group.spawn(forever());
        group.spawn(throws_cancelled);
        group.spawn(sibling);
        co_await weir::sleep(1s);
        victim.cancel();
        co_await weir::sleep(1s);
        EXPECT_TRUE(victim.cancelled());
    };
    co_await weir::with_group(body);
    EXPECT_TRUE(sibling_done);
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
}

WEIR_TEST(Semantics, TG_04) {
    handle<> sibling;
    bool beyond = false;
    auto body = [&](task_group& group) -> task<> {
        sibling = group.spawn(clean_then_throw(2s, ""));
        group.spawn(fail_after(1s, "failed"));
        co_return;
    };
    auto whole = [&]() -> task<> {
        co_await weir::with_group(body);
        beyond = true;
    };
    std::size_t count = 0;
    try {
        co_await whole();
    } catch (const error_group& errors) {
        count = errors.size();
        EXPECT_TRUE(errors.contains<std::runtime_error>());
    }
    EXPECT_EQ(count, 1u);
    EXPECT_FALSE(beyond);
    EXPECT_TRUE(sibling.cancelled());
    EXPECT_EQ(weir::now().time_since_epoch(), 3s) << "the sibling's clean-up was awaited";
}

WEIR_TEST(Semantics, TG_05) {
    bool stopped = false;
    auto body = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "failed"));
        weir::outcome<> ended = co_await weir::intercept(forever());
        stopped = ended.is_stop();
        co_await std::move(ended);
    };
    const names found = co_await errors_of(body);
    EXPECT_TRUE(stopped);
    EXPECT_EQ(found, (names{"failed"}));
    auto throwing = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "failed"));
        co_await weir::catchable(forever());
    };
    const names again = co_await errors_of(throwing);
    EXPECT_EQ(again, (names{"failed"}));
}

FIFO_TEST(Semantics, TG_06) {
    auto body = [&](task_group& group) -> task<> {
        group.spawn(clean_then_throw(2s, "fourth"));
        group.spawn(clean_then_throw(1s, "third"));
        group.spawn(fail_after(1s, "first"));
        group.spawn(fail_after(1s, "second"));
        co_return;
    };
    const names found = co_await errors_of(body);
    EXPECT_EQ(found, (names{"first", "second", "third", "fourth"}));
}

WEIR_TEST(Semantics, TG_07) {
    handle<> child;
    auto body = [&](task_group& group) -> task<> {
        child = group.spawn(clean_then_throw(1s, "of the child"));
        co_await weir::sleep(1s);
        throw std::runtime_error("of the body");
    };
    const names found = co_await errors_of(body);
    EXPECT_EQ(found, (names{"of the child", "of the body"}));
    auto alone = [&](task_group& group) -> task<> {
        child = group.spawn(forever());
        co_await weir::sleep(1s);
        throw std::runtime_error("of the body");
    };
    const names one = co_await errors_of(alone);
    EXPECT_EQ(one, (names{"of the body"}));
    EXPECT_TRUE(child.cancelled());
}

WEIR_TEST(Semantics, TG_08) {
    for (const bool joining : {false, true}) {
        std::vector<handle<>> children;
        auto body = [&](task_group& group) -> task<> {
            children.push_back(group.spawn(forever()));
            children.push_back(group.spawn(clean_then_throw(2s, "")));
            if (!joining) {
                co_await weir::sleep_forever();
            }
        };
        auto whole = [&]() -> task<> { co_await weir::with_group(body); };
        const auto begin = weir::now();
        auto parent = weir::spawn(whole);
        co_await weir::sleep(1s);
        parent.cancel();
        co_await parent.wait();
        EXPECT_TRUE(parent.cancelled());
        EXPECT_TRUE(children[0].cancelled() && children[1].cancelled());
        EXPECT_EQ(weir::now() - begin, 3s);
    }
}

WEIR_TEST(Semantics, TG_09) {
    handle<int> child;
    auto swallows = []() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_return 9;
    };
    auto body = [&](task_group& group) -> task<> {
        child = group.spawn(swallows);
        co_return;
    };
    auto whole = [&]() -> task<> { co_await weir::with_group(body); };
    auto parent = weir::spawn(whole);
    co_await weir::sleep(1s);
    parent.cancel();
    co_await parent.wait();
    EXPECT_TRUE(parent.cancelled());
    EXPECT_EQ(child.result(), 9);
}

WEIR_TEST(Semantics, TG_10) {
    for (const bool body_throws : {false, true}) {
        auto body = [&](task_group& group) -> task<> {
            group.spawn(clean_then_throw(1s, body_throws ? "" : "of the child"));
            co_await clean_then_throw(1s, body_throws ? "of the body" : "");
        };
        names found;
        auto whole = [&]() -> task<> { found = co_await errors_of(body); };
        auto parent = weir::spawn(whole);
        co_await weir::sleep(1s);
        parent.cancel();
        co_await parent.wait();
        EXPECT_FALSE(parent.cancelled());
        EXPECT_EQ(found, (names{body_throws ? "of the body" : "of the child"}));
    }
}

WEIR_TEST(Semantics, TG_11) {
    auto body = [&](task_group& group) -> task<> {
        group.spawn(fail_after(3s, "crashed meanwhile"));
        weir::outcome<> ended = co_await weir::intercept(forever());
        weir::outcome<> cleaned = co_await weir::intercept(weir::sleep(5s));
        EXPECT_TRUE(cleaned.is_stop()) << "the crash stops the clean-up of the body";
        co_await std::move(ended);
    };
    names found;
    auto whole = [&]() -> task<> { found = co_await errors_of(body); };
    auto parent = weir::spawn(whole);
    co_await weir::sleep(1s);
    parent.cancel();
    co_await parent.wait();
    EXPECT_TRUE(parent.cancelled()) << "the crash does not answer the cancel";
    EXPECT_EQ(found, (names{"crashed meanwhile"}));
}

WEIR_TEST(Semantics, TG_12) {
    handle<int> child;
    unsigned after = 99;
    auto body = [&](task_group& group) -> task<> {
        child = group.spawn(value_after(5s, 3));
        (void)co_await weir::intercept(forever());
    };
    auto whole = [&]() -> task<> {
        co_await weir::with_group(body);
        co_await weir::sleep(1s);
        after = weir::current_task().cancelling();
    };
    auto parent = weir::spawn(whole);
    co_await weir::sleep(1s);
    parent.cancel();
    co_await parent;
    EXPECT_EQ(child.result(), 3);
    EXPECT_EQ(after, 1u);
}

WEIR_TEST(Semantics, TG_14) {
    handle<> inner_child;
    auto inner = [&](task_group& group) -> task<> {
        inner_child = group.spawn(forever());
        co_await weir::sleep_forever();
    };
    auto outer = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "outer child"));
        co_await weir::with_group(inner);
    };
    const names flat = co_await errors_of(outer);
    EXPECT_EQ(flat, (names{"outer child"}));
    EXPECT_TRUE(inner_child.cancelled());

    handle<> outer_child;
    auto failing = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "inner child"));
        co_return;
    };
    auto around = [&](task_group& group) -> task<> {
        outer_child = group.spawn(forever());
        co_await weir::with_group(failing);
    };
    bool is_nested = false;
    try {
        co_await weir::with_group(around);
    } catch (const error_group& errors) {
        EXPECT_EQ(errors.size(), 1u);
        try {
            std::rethrow_exception(errors.errors().at(0));
        } catch (const error_group& nested) {
            is_nested = nested.size() == 1 && nested.contains<std::runtime_error>();
        }
    }
    EXPECT_TRUE(is_nested);
    EXPECT_TRUE(outer_child.cancelled());
}

WEIR_TEST(Semantics, TG_15) {
    auto argument = std::make_shared<int>(1);
    bool ran = false;
    auto child = [&](std::shared_ptr<int>) -> task<> {
        ran = true;
        co_return;
    };
    int refused = 0;
    auto try_to_spawn = [&](const task_group& group) {
        try {
            group.spawn(child, argument);
        } catch (const weir::invalid_state&) {
            ++refused;
        }
        EXPECT_EQ(argument.use_count(), 1) << "destroyed unstarted";
    };
    std::optional<task_group> kept;
    auto body = [&](task_group& group) -> task<> {
        kept.emplace(group);
        group.spawn(fail_after(1s, "failed"));
        (void)co_await weir::intercept(forever());
        try_to_spawn(group);  // aborting
    };
    const names found = co_await errors_of(body);
    EXPECT_EQ(found, (names{"failed"}));
    try_to_spawn(*kept);  // finished
    EXPECT_EQ(refused, 2);
    EXPECT_FALSE(ran);
    // Not yet entered: there is no such group; it is made by entering it.
}

WEIR_TEST(Semantics, TG_16) {
    int started = 0;
    auto spawner = [&](auto& self, task_group group) -> task<> {
        for (;;) {
            co_await weir::sleep(1s);
            ++started;
            group.spawn(self(self, group));
        }
    };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(spawner(spawner, group));
        group.spawn(fail_after(5500ms, "stops it"));
        co_return;
    };
    const names found = co_await errors_of(body);
    EXPECT_EQ(found, (names{"stops it"}));
    EXPECT_EQ(started, 31);
}

WEIR_TEST(Semantics, TG_17) {
    auto body = [](task_group&) -> task<> { co_return; };
    auto entered = weir::with_group(body);
    co_await std::move(entered);
    WEIR_EXPECT_THROW(std::move(entered), weir::invalid_state);
}

TEST(Semantics, TG_17_outside_any_task) {
    auto body = [](task_group&) -> task<> { co_return; };
    EXPECT_THROW(weir::spawn(weir::with_group(body)), weir::loop_error);
    bool thrown = false;
    weir::loop used;
    try {
        (void)task_group::make(weir::loop::current());
    } catch (const weir::loop_error&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
}

WEIR_TEST(Semantics, TG_18) {
    auto argument = std::make_shared<int>(0);
    std::size_t most = 0;
    auto child = [](std::shared_ptr<int> shared) -> task<> {
        ++*shared;
        co_return;
    };
    auto body = [&](task_group& group) -> task<> {
        for (int each = 0; each < 200'000; ++each) {
            group.spawn(child, argument);
            if (each % 100 == 99) {
                co_await weir::sleep(1ms);
                most =
                    std::max(most, group.size() + static_cast<std::size_t>(argument.use_count()));
            }
        }
    };
    co_await weir::with_group(body);
    EXPECT_EQ(*argument, 200'000);
    EXPECT_EQ(most, 1u) << "nothing is kept of finished children";
}

WEIR_TEST(Semantics, TG_19) {
    auto body = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "of the child"));
        co_await clean_then_throw(1s, "of the guard");
    };
    const names found = co_await errors_of(body);
    EXPECT_EQ(found, (names{"of the child", "of the guard"}));
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    auto plain = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "of the child"));
        co_await weir::sleep_forever();
    };
    const names one = co_await errors_of(plain);
    EXPECT_EQ(one, (names{"of the child"}));
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    // An earlier, swallowed cancel is still counted, and no more than that.
    unsigned level = 99;
    auto whole = [&]() -> task<> {
        (void)co_await weir::intercept(forever());
        (void)co_await errors_of(plain);
        level = weir::current_task().cancelling();
    };
    auto work = weir::spawn(whole);
    co_await weir::sleep(1s);
    work.cancel();
    co_await work;
    EXPECT_EQ(level, 1u);
}

WEIR_TEST(Semantics, TG_20) {
    auto at_once = []() -> task<> {
        throw std::runtime_error("eager");
        co_return;
    };
    auto running = [&](task_group& group) -> task<> {  // the body runs while the child fails
        group.spawn(weir::spawn_options{.start = weir::start::eager}, at_once);
        co_return;
    };
    auto runnable = [&](task_group& group) -> task<> {  // the body is ready in the same tick
        group.spawn(fail_after(1s, "timed"));
        co_await weir::sleep(1s);
    };
    auto joining = [&](task_group& group) -> task<> {
        group.spawn(fail_after(1s, "later"));
        co_return;
    };
    const names first = co_await errors_of(running);
    co_await weir::sleep(1s);
    EXPECT_EQ(first, (names{"eager"}));
    const names second = co_await errors_of(runnable);
    co_await weir::sleep(1s);
    EXPECT_EQ(second, (names{"timed"}));
    const names third = co_await errors_of(joining);
    co_await weir::sleep(1s);
    EXPECT_EQ(third, (names{"later"}));
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
}

// cancelling() counts cancel() calls; the stop that the outer group requests is not among them.
WEIR_TEST(Semantics, TG_21) {
    names log;
    weir::event go;
    auto fails = [&](std::string what) -> task<> {
        co_await go.wait();
        throw std::runtime_error(what);
    };
    auto inner = [&](task_group& group) -> task<> {
        group.spawn(fails, "inner");
        co_await weir::sleep_forever();
    };
    auto outer = [&](task_group& group) -> task<> {
        group.spawn(fails, "outer");
        log = co_await errors_of(inner);
        log.push_back("handled");
        co_await weir::sleep(1h);
        log.push_back("ran on");
    };
    auto whole = [&]() -> task<> {
        const names found = co_await errors_of(outer);
        log.insert(log.end(), found.begin(), found.end());
        EXPECT_EQ(weir::current_task().cancelling(), 0u);
        co_await weir::sleep(1s);
        log.push_back("after");
    };
    auto parent = weir::spawn(whole);
    co_await weir::sleep(1s);
    go.set();
    co_await parent;
    EXPECT_EQ(log, (names{"inner", "handled", "outer", "after"}));
}

WEIR_TEST(Semantics, TG_22) {
    for (const bool cancel_first : {false, true}) {
        names found;
        unsigned count = 99;
        bool ran_on = false;
        weir::event go;
        handle<> parent;
        auto child = [&]() -> task<> {
            co_await go.wait();
            if (cancel_first) {
                parent.cancel();
            }
            throw std::runtime_error("child");
        };
        auto body = [&](task_group& group) -> task<> {
            group.spawn(child);
            co_await weir::sleep_forever();
        };
        auto whole = [&]() -> task<> {
            found = co_await errors_of(body);
            count = weir::current_task().cancelling();
            co_await weir::sleep(1h);
            ran_on = true;
        };
        parent = weir::spawn(whole);
        co_await weir::sleep(1s);
        go.set();
        if (!cancel_first) {
            co_await weir::yield();
            parent.cancel();
        }
        co_await parent.wait();
        EXPECT_TRUE(parent.cancelled());
        EXPECT_FALSE(ran_on);
        // With an arbitrary order of ready tasks the cancel may come before the failure.
        if (cancel_first || !found.empty()) {
            EXPECT_EQ(found, (names{"child"}));
            EXPECT_EQ(count, 1u);
        }
    }
}

}  // namespace
