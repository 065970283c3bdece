// SPDX-License-Identifier: MIT
// Group TO: timeout scopes. The scope object is weir::cancel_scope; weir::timeout is the same with
// timed_out in place of an empty result.

#include "support/fifo_test.hpp"

#include <optional>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::cancel_scope;
using weir::task;

task<> forever() {
    co_await weir::sleep_forever();
}

WEIR_TEST(Semantics, TO_01) {
    bool stopped_there = false;
    auto work = [&]() -> task<> {
        weir::outcome<> ended = co_await weir::intercept(weir::sleep(1h));
        stopped_there = ended.is_stop();
        co_await std::move(ended);
    };
    WEIR_EXPECT_THROW(weir::timeout(1s, work()), weir::timed_out);
    EXPECT_TRUE(stopped_there);
    cancel_scope scope(1s);
    const bool ended = co_await scope.run(forever());
    EXPECT_FALSE(ended);
    EXPECT_TRUE(scope.expired());
    EXPECT_EQ(weir::now().time_since_epoch(), 2s);
    EXPECT_FALSE(weir::current_task().cancelled());
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    co_await weir::sleep(1s);
}

WEIR_TEST(Semantics, TO_02) {
    cancel_scope scope(10s);
    const auto deadline = weir::now() + 10s;
    const std::optional<int> got = co_await scope.run(weir::sleep(1s, 4));
    EXPECT_EQ(got, 4);
    EXPECT_FALSE(scope.expired());
    EXPECT_EQ(scope.deadline(), deadline);
    EXPECT_FALSE(weir::loop::current().next_deadline().has_value()) << "the timer is gone";
    co_await weir::sleep(1h);
}

WEIR_TEST(Semantics, TO_03) {
    cancel_scope endless;
    EXPECT_FALSE(endless.deadline().has_value());
    const bool ended = co_await endless.run(weir::sleep(24h * 365));
    EXPECT_TRUE(ended);
    EXPECT_FALSE(endless.expired());
    EXPECT_FALSE(endless.deadline().has_value());
    const auto when = weir::now() + 1234567ns;
    cancel_scope absolute(when);
    EXPECT_EQ(absolute.deadline(), when);
    auto work = [&]() -> task<> {
        EXPECT_EQ(absolute.deadline(), when);
        co_await weir::sleep(1s);
    };
    const bool in_time = co_await absolute.run(work());
    EXPECT_FALSE(in_time);
    EXPECT_EQ(weir::now(), when);
}

FIFO_TEST(Semantics, TO_04) {
    const auto start = weir::now();
    for (const auto deadline : {start, start - 1h}) {
        cancel_scope scope(deadline);
        bool ran = false;
        bool beyond = false;
        auto work = [&]() -> task<> {
            weir::mutex free;
            auto lock = co_await free.lock();  // no real suspension
            ran = true;
            co_await weir::sleep(0s);
            beyond = true;
        };
        const bool ended = co_await scope.run(work());
        EXPECT_FALSE(ended);
        EXPECT_TRUE(scope.expired());
        EXPECT_TRUE(ran);
        EXPECT_FALSE(beyond);
    }
    EXPECT_EQ(weir::now(), start);
}

FIFO_TEST(Semantics, TO_05) {
    const auto start = weir::now();
    std::optional<cancel_scope> scope;
    auto compute = [&]() -> task<int> {
        EXPECT_FALSE(scope->expired()) << "it has not taken effect";
        co_return 3;
    };
    for (const auto limit : {0s, -1s}) {
        scope.emplace(limit);
        const std::optional<int> got = co_await scope->run(compute());
        EXPECT_EQ(got, 3);
        EXPECT_FALSE(scope->caught());
        EXPECT_FALSE(scope->expired());
    }
    // Blocking work after the last await, until after the deadline.
    auto block = [&]() -> task<int> {
        co_await weir::yield();
        weir::loop::current().get_driver().wait((start + 2s).time_since_epoch().count());
        EXPECT_FALSE(scope->expired());
        co_return 4;
    };
    scope.emplace(1s);
    const std::optional<int> got = co_await scope->run(block());
    EXPECT_EQ(weir::now(), start + 2s);
    EXPECT_EQ(got, 4);
    EXPECT_FALSE(scope->expired());
    co_await weir::yield();  // nothing arrives later
    co_await weir::sleep(1s);
    EXPECT_EQ(weir::now(), start + 3s);
    EXPECT_EQ(weir::current_task().cancelling(), 0u);

    // A suspension lets it take effect.
    auto suspend = [&]() -> task<int> {
        co_await weir::yield();
        co_return 5;
    };
    scope.emplace(0s);
    const std::optional<int> stopped = co_await scope->run(suspend());
    EXPECT_EQ(stopped, std::nullopt);
    EXPECT_TRUE(scope->expired());
    // Before that, it can be put off.
    auto put_off = [&]() -> task<int> {
        scope->reschedule_after(1s);
        co_await weir::sleep(500ms);
        co_return 6;
    };
    scope.emplace(0s);
    const std::optional<int> later = co_await scope->run(put_off());
    EXPECT_EQ(later, 6);
    EXPECT_FALSE(scope->expired());
}

WEIR_TEST(Semantics, TO_06) {
    auto fails = []() -> task<> {
        co_await weir::sleep(1s);
        throw std::runtime_error("of the body");
    };
    cancel_scope first(2s);
    WEIR_EXPECT_THROW(first.run(fails()), std::runtime_error);
    EXPECT_FALSE(first.expired());
    auto fails_late = []() -> task<> {
        auto cleanup = []() -> task<> {
            co_await weir::sleep(1s);
            throw std::runtime_error("while unwinding");
        };
        co_await weir::finally(weir::sleep_forever(), cleanup);
    };
    cancel_scope second(1s);
    std::string what;
    try {
        co_await second.run(fails_late());
    } catch (const std::runtime_error& error) {
        what = error.what();
    }
    EXPECT_EQ(what, "while unwinding");
    EXPECT_TRUE(second.expired());
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    WEIR_EXPECT_THROW(weir::timeout(1s, fails_late()), std::runtime_error);
    co_await weir::sleep(1s);
}

WEIR_TEST(Semantics, TO_07) {
    cancel_scope scope(10s);
    bool beyond = false;
    auto body = [&]() -> task<> {
        co_await scope.run(forever());
        beyond = true;
    };
    auto work = weir::spawn(body);
    co_await weir::sleep(1s);
    work.cancel();
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_FALSE(scope.expired());
    EXPECT_FALSE(beyond);
}

WEIR_TEST(Semantics, TO_10) {
    cancel_scope inner(10s);
    bool beyond = false;
    auto body = [&]() -> task<> {
        co_await inner.run(forever());
        beyond = true;
    };
    WEIR_EXPECT_THROW(weir::timeout(1s, body()), weir::timed_out);
    EXPECT_FALSE(inner.expired());
    EXPECT_FALSE(inner.caught());
    EXPECT_FALSE(beyond);
    EXPECT_EQ(weir::now().time_since_epoch(), 1s);
}

WEIR_TEST(Semantics, TO_11) {
    cancel_scope outer(3s);
    bool handled = false;
    auto body = [&]() -> task<> {
        WEIR_EXPECT_THROW(weir::timeout(1s, forever()), weir::timed_out);
        handled = true;
        co_await weir::sleep_forever();
    };
    const bool ended = co_await outer.run(body());
    EXPECT_FALSE(ended);
    EXPECT_TRUE(handled);
    EXPECT_EQ(weir::now().time_since_epoch(), 3s);
}

// With the loop blocked past both deadlines, the outer bound holds: one turn finds both due.
TEST(Semantics, TO_11_blocked) {
    auto main = []() -> task<> {
        bool slept = false;
        auto block = []() -> task<> {
            const auto until = weir::now() + 10ms;
            while (weir::now() < until) {
            }
            co_await weir::sleep_forever();
        };
        auto body = [&]() -> task<> {
            (void)co_await weir::settle(weir::timeout(2ms, block()));
            co_await weir::sleep(10s);
            slept = true;
        };
        WEIR_EXPECT_THROW(weir::timeout(5ms, body()), weir::timed_out);
        EXPECT_FALSE(slept);
    };
    weir::run(main());  // on the real clock
}

WEIR_TEST(Semantics, TO_12) {
    const auto begin = weir::now();
    cancel_scope scope(10s);
    EXPECT_THROW(scope.reschedule_after(1s), weir::invalid_state) << "not entered";
    auto later = [&]() -> task<> {
        scope.reschedule(begin + 20s);
        co_await weir::sleep(15s);
        scope.reschedule(std::nullopt);
        EXPECT_FALSE(scope.deadline().has_value());
        co_await weir::sleep(1h);
        scope.reschedule(weir::now() + 1s);
        co_await weir::sleep_forever();
    };
    bool ended = co_await scope.run(later());
    EXPECT_FALSE(ended);
    EXPECT_EQ(weir::now() - begin, 1h + 16s);
    EXPECT_THROW(scope.reschedule_after(1s), weir::invalid_state) << "left, expired";

    cancel_scope other(1h);  // earlier, from another task
    auto body = [&]() -> task<> { ended = co_await other.run(forever()); };
    auto work = weir::spawn(body);
    co_await weir::sleep(1s);
    const auto now = weir::now();
    other.reschedule(now + 1s);
    EXPECT_EQ(other.deadline(), now + 1s);
    co_await work;
    EXPECT_FALSE(ended);
    EXPECT_EQ(weir::now(), now + 1s);

    cancel_scope past(1h);
    bool beyond = false;
    auto into_past = [&]() -> task<> {
        past.reschedule(weir::now() - 1s);
        co_await weir::sleep_forever();
        beyond = true;
    };
    const auto before = weir::now();
    const bool in_time = co_await past.run(into_past());
    EXPECT_FALSE(in_time || beyond);
    EXPECT_EQ(weir::now(), before);

    cancel_scope expiring(1s);
    bool refused = false;
    auto unwinding = [&]() -> task<> {
        auto cleanup = [&]() -> task<> {
            co_await weir::sleep(1s);
            try {
                expiring.reschedule_after(1s);
            } catch (const weir::invalid_state&) {
                refused = true;
            }
        };
        co_await weir::finally(weir::sleep_forever(), cleanup);
    };
    co_await expiring.run(unwinding());
    EXPECT_TRUE(refused);

    cancel_scope finished(1h);
    co_await finished.run(weir::sleep(1s));
    EXPECT_THROW(finished.reschedule_after(1s), weir::invalid_state) << "left in time";
}

WEIR_TEST(Semantics, TO_13) {
    cancel_scope scope(1h);
    co_await scope.run(weir::sleep(1s));
    EXPECT_THROW((void)scope.run(weir::sleep(1s)), weir::invalid_state);
    cancel_scope nested(1h);
    bool refused = false;
    auto body = [&]() -> task<> {
        try {
            co_await nested.run(weir::sleep(1s));
        } catch (const weir::invalid_state&) {
            refused = true;
        }
    };
    const bool ended = co_await nested.run(body());
    EXPECT_TRUE(ended);
    EXPECT_TRUE(refused);
}

TEST(Semantics, TO_13_without_a_task) {
    cancel_scope scope;
    EXPECT_THROW((void)scope.run([]() -> task<> { co_return; }()), weir::invalid_state);
    EXPECT_FALSE(scope.deadline().has_value());
    EXPECT_THROW((void)cancel_scope(1s), weir::loop_error);
    auto later = [&]() -> task<> {  // unentered: it can still be used
        const bool ended = co_await scope.run([]() -> task<> { co_return; }());
        EXPECT_TRUE(ended);
    };
    run_first_in_first_out(later());
}

WEIR_TEST(Semantics, TO_14) {
    bool timed_out = false;
    bool beyond = false;
    auto body = [&]() -> task<> {
        (void)co_await weir::intercept(forever());
        EXPECT_EQ(weir::current_task().cancelling(), 1u);
        try {
            co_await weir::timeout(1s, forever());
        } catch (const weir::timed_out&) {
            timed_out = true;
        }
        EXPECT_EQ(weir::current_task().cancelling(), 1u);
        co_await weir::timeout(1h, forever());
        beyond = true;
    };
    auto work = weir::spawn(body);
    co_await weir::sleep(1s);
    work.cancel();
    co_await weir::sleep(5s);
    EXPECT_TRUE(timed_out);
    work.cancel();
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_FALSE(beyond);
}

WEIR_TEST(Semantics, TO_18) {
    int stopped = 0;
    struct counted {
        int& count;
        explicit counted(int& of) : count(of) {}
        ~counted() { ++count; }
    };
    auto child = [&]() -> task<> {
        counted note(stopped);
        co_await weir::sleep_forever();
    };
    auto body = [&](weir::task_group& group) -> task<> {
        counted note(stopped);
        group.spawn(child);
        group.spawn(child);
        co_await weir::sleep_forever();
    };
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::with_group(body)), weir::timed_out);
    EXPECT_EQ(stopped, 3);

    auto fails_in_cleanup = []() -> task<> {
        auto cleanup = []() -> task<> {
            co_await weir::sleep(1s);
            throw std::runtime_error("in clean-up");
        };
        co_await weir::finally(weir::sleep_forever(), cleanup);
    };
    auto failing = [&](weir::task_group& group) -> task<> {
        group.spawn(fails_in_cleanup);
        co_await weir::sleep_forever();
    };
    bool is_aggregate = false;
    try {
        co_await weir::timeout(1s, weir::with_group(failing));
    } catch (const weir::error_group& errors) {
        is_aggregate = errors.size() == 1 && errors.contains<std::runtime_error>();
    }
    EXPECT_TRUE(is_aggregate);

    bool child_done = false;
    auto slow = [&]() -> task<> {
        co_await weir::sleep(3s);
        child_done = true;
    };
    auto inside = [&](weir::task_group& group) -> task<> {
        group.spawn(slow);
        WEIR_EXPECT_THROW(weir::timeout(1s, forever()), weir::timed_out);
    };
    co_await weir::with_group(inside);
    EXPECT_TRUE(child_done);
}

}  // namespace
