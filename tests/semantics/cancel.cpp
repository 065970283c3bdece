// SPDX-License-Identifier: MIT
// Group CX: cancellation and uncancel. 'CancelledError at the await' reads: the fiber stops there.

#include "support/fifo_test.hpp"

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

task<> forever() {
    co_await weir::sleep_forever();
}

template <class Function>
struct at_exit {
    Function function;
    explicit at_exit(Function given) : function(std::move(given)) {}
    at_exit(const at_exit&) = delete;
    ~at_exit() { function(); }
};

FIFO_TEST(Semantics, CX_01) {
    bool unwound = false;
    bool cancelled_while_unwinding = true;
    handle<> work;
    auto body = [&]() -> task<> {
        at_exit note([&] {
            unwound = true;
            cancelled_while_unwinding = work.cancelled();
        });
        co_await weir::sleep(1h);
    };
    work = weir::spawn(body);
    co_await weir::yield();
    EXPECT_TRUE(work.cancel());
    EXPECT_FALSE(unwound) << "nothing happens inline";
    EXPECT_FALSE(work.cancelled());
    EXPECT_FALSE(work.done());
    co_await weir::yield();
    EXPECT_TRUE(unwound) << "a later tick";
    EXPECT_FALSE(cancelled_while_unwinding);
    EXPECT_TRUE(work.cancelled());
    EXPECT_EQ(weir::now().time_since_epoch(), 0s);
}

WEIR_TEST(Semantics, CX_02) {
    auto value = weir::spawn([]() -> task<int> { co_return 3; });
    auto failed = weir::spawn([]() -> task<int> {
        throw std::runtime_error("x");
        co_return 1;
    });
    auto stopped = weir::spawn(forever);
    stopped.cancel("first");
    co_await value.wait();
    co_await failed.wait();
    co_await stopped.wait();
    EXPECT_FALSE(value.cancel());
    EXPECT_FALSE(failed.cancel());
    EXPECT_FALSE(stopped.cancel("second"));
    EXPECT_FALSE(value.cancelled() || failed.cancelled());
    EXPECT_EQ(value.cancelling(), 0u);
    EXPECT_EQ(value.result(), 3);
    EXPECT_TRUE(failed.failed());
    EXPECT_THROW(failed.result(), std::runtime_error);
    try {
        stopped.result();
        ADD_FAILURE() << "gave a result";
    } catch (const weir::cancelled& stop) {
        EXPECT_EQ(stop.reason(), "first");
    }
}

WEIR_TEST(Semantics, CX_03) {
    bool ran = false;
    auto argument = std::make_shared<int>(1);
    auto body = [&](std::shared_ptr<int>) -> task<> {
        ran = true;
        co_return;
    };
    auto work = weir::spawn(body, argument);
    EXPECT_EQ(argument.use_count(), 2);
    EXPECT_TRUE(work.cancel());
    co_await work.wait();
    EXPECT_FALSE(ran);
    EXPECT_EQ(argument.use_count(), 1);
    EXPECT_TRUE(work.cancelled());
}

WEIR_TEST(Semantics, CX_04) {
    ::testing::Test::RecordProperty(
        "deviates", "cancelling a waiter leaves what it waits for, and the other waiters, alone");
    weir::event shared;
    bool other_woke = false;
    auto waits = [&]() -> task<> { co_await shared.wait(); };
    auto other_waits = [&]() -> task<> {
        co_await shared.wait();
        other_woke = true;
    };
    auto work = weir::spawn(waits);
    auto other = weir::spawn(other_waits);
    co_await weir::sleep(1s);
    work.cancel();
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_FALSE(other.done());
    shared.set();
    co_await other;
    EXPECT_TRUE(other_woke);
}

WEIR_TEST(Semantics, CX_05) {
    std::vector<std::string> order;
    auto cleanup = [&]() -> task<> {
        co_await weir::sleep(1s);
        order.push_back("inner");
    };
    auto inner_body = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto inner = weir::spawn(inner_body);
    auto outer_body = [&]() -> task<> {
        at_exit note([&] { order.push_back("outer"); });
        co_await inner;
    };
    bool seen = false;
    unsigned own = 99;
    auto other_body = [&]() -> task<> {
        try {
            co_await inner;
        } catch (const weir::cancelled&) {
            seen = true;
            own = weir::current_task().cancelling();
        }
    };
    auto outer = weir::spawn(outer_body);
    auto other = weir::spawn(other_body);
    co_await weir::sleep(1s);
    outer.cancel();
    co_await outer.wait();
    EXPECT_TRUE(inner.cancelled());
    EXPECT_TRUE(outer.cancelled());
    EXPECT_EQ(order, (std::vector<std::string>{"inner", "outer"}));
    co_await other;
    EXPECT_TRUE(seen);
    EXPECT_EQ(own, 0u);
}

WEIR_TEST(Semantics, CX_07) {
    auto returns = []() -> task<int> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
        }
        co_return 42;
    };
    auto throws = []() -> task<int> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
            throw std::runtime_error("instead");
        }
        co_return 1;
    };
    auto first = weir::spawn(returns);
    auto second = weir::spawn(throws);
    co_await weir::sleep(1s);
    first.cancel();
    second.cancel();
    co_await first.wait();
    co_await second.wait();
    EXPECT_EQ(first.result(), 42);
    EXPECT_THROW(second.result(), std::runtime_error);
    EXPECT_FALSE(first.cancelled());
    EXPECT_FALSE(second.cancelled());
}

WEIR_TEST(Semantics, CX_08) {
    int naps = 0;
    bool cleanup_interrupted = false;
    auto body = [&]() -> task<> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
        }
        co_await weir::sleep(1s);
        co_await weir::sleep(1s);
        naps = 2;
        weir::outcome<> ended = co_await weir::intercept(weir::sleep(1h));  // clean-up
        cleanup_interrupted = ended.is_stop();
    };
    auto work = weir::spawn(body);
    co_await weir::sleep(1s);
    work.cancel();
    co_await weir::sleep(3s);
    EXPECT_EQ(naps, 2);
    EXPECT_FALSE(work.done());
    work.cancel();
    co_await work;
    EXPECT_TRUE(cleanup_interrupted);
}

WEIR_TEST(Semantics, CX_09) {
    int stops = 0;
    auto body = [&]() -> task<> {
        for (int attempt = 0; attempt < 2; ++attempt) {
            weir::outcome<> ended = co_await weir::intercept(weir::sleep(1s));
            stops += ended.is_stop() ? 1 : 0;
        }
    };
    auto work = weir::spawn(body);
    co_await weir::sleep(500ms);
    EXPECT_TRUE(work.cancel());
    EXPECT_TRUE(work.cancel());
    EXPECT_EQ(work.cancelling(), 2u);
    co_await work;
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(work.cancelling(), 2u);
}

FIFO_TEST(Semantics, CX_10) {
    weir::mutex free;
    auto finished = weir::spawn([]() -> task<int> { co_return 5; });
    co_await finished;
    int got = 0;
    bool locked = false;
    bool beyond = false;
    auto body = [&]() -> task<> {
        weir::current_task().cancel();
        got = co_await finished;
        auto lock = co_await free.lock();
        locked = true;
        co_await weir::sleep(1h);
        beyond = true;
    };
    auto work = weir::spawn(body);
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_EQ(got, 5);
    EXPECT_TRUE(locked);
    EXPECT_FALSE(beyond);
    EXPECT_EQ(weir::now().time_since_epoch(), 0s) << "without waiting";
    EXPECT_FALSE(free.locked());
}

WEIR_TEST(Semantics, CX_13) {
    // The inner task's last act is to end; the local that goes with its frame then cancels the
    // waiter, which has been made ready but has not run.
    handle<> waiter;
    bool got_value = false;
    auto inner_body = []() -> task<int> {
        co_await weir::sleep(1s);
        co_return 7;
    };
    auto inner = weir::spawn(inner_body);
    auto body = [&]() -> task<> {
        const int got = co_await inner;
        got_value = got == 7;
    };
    auto cancels = [&]() -> task<> {
        co_await inner.wait();
        if (!waiter.done()) {
            waiter.cancel();
        }
    };
    auto canceller = weir::spawn(cancels);
    co_await weir::sleep(500ms);
    waiter = weir::spawn(body);  // is notified of the end after the canceller
    co_await waiter.wait();
    co_await canceller;
    EXPECT_NE(waiter.cancelled(), got_value) << "the stop in place of the value, or the value";
    EXPECT_EQ(inner.result(), 7);
    EXPECT_FALSE(inner.cancelled());

    // Ready, not resumed, cancelled.
    weir::event ready;
    bool went_on = false;
    auto waits = [&]() -> task<> {
        co_await ready.wait();
        went_on = true;
    };
    auto second = weir::spawn(waits);
    co_await weir::sleep(1s);
    ready.set();
    second.cancel();
    co_await second.wait();
    EXPECT_TRUE(second.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_TRUE(ready.is_set()) << "what was awaited keeps its own result";
}

WEIR_TEST(Semantics, CX_14) {
    auto victim = weir::spawn(forever);
    bool went_on = false;
    unsigned own = 99;
    auto catches = [&]() -> task<> {
        try {
            co_await victim;
        } catch (const weir::cancelled&) {
            own = weir::current_task().cancelling();
        }
        co_await weir::sleep(1s);
        went_on = true;
    };
    auto lets_through = [&]() -> task<> { co_await victim; };
    auto first = weir::spawn(catches);
    auto second = weir::spawn(lets_through);
    co_await weir::sleep(1s);
    victim.cancel();
    co_await first;
    co_await second.wait();
    EXPECT_TRUE(went_on);
    EXPECT_EQ(own, 0u);
    EXPECT_TRUE(second.cancelled());
    EXPECT_EQ(second.cancelling(), 0u);
}

WEIR_TEST(Semantics, CX_15) {
    for (const bool inner_first : {false, true}) {
        auto inner = weir::spawn(forever);
        int seen = 0;
        auto body = [&]() -> task<> {
            try {
                co_await weir::catchable(inner);
            } catch (const weir::cancelled&) {
                ++seen;
            }
            try {
                co_await weir::catchable(weir::sleep(1s));
            } catch (const weir::cancelled&) {
                ++seen;
            }
        };
        auto outer = weir::spawn(body);
        co_await weir::sleep(1s);
        if (inner_first) {
            inner.cancel();
            outer.cancel();
        } else {
            outer.cancel();
            inner.cancel();
        }
        co_await outer;
        EXPECT_EQ(seen, 1);
    }
}

WEIR_TEST(Semantics, CX_16) {
    auto body = []() -> task<> {
        for (int swallowed = 0; swallowed < 2; ++swallowed) {
            (void)co_await weir::intercept(forever());
        }
        co_await weir::sleep(1s);
    };
    auto work = weir::spawn(body);
    co_await weir::sleep(1s);
    EXPECT_EQ(work.cancelling(), 0u);
    EXPECT_EQ(work.uncancel(), 0u);
    work.cancel();
    EXPECT_EQ(work.cancelling(), 1u);
    co_await weir::sleep(100ms);
    work.cancel();
    EXPECT_EQ(work.cancelling(), 2u);
    co_await weir::sleep(100ms);
    EXPECT_EQ(work.uncancel(), 1u);
    EXPECT_EQ(work.cancelling(), 1u);
    co_await work;
    EXPECT_FALSE(work.cancel());
    EXPECT_EQ(work.cancelling(), 1u);
    EXPECT_EQ(work.uncancel(), 1u) << "after completion it changes nothing";
    EXPECT_EQ(work.cancelling(), 1u);

    auto other = weir::spawn(body);
    co_await weir::sleep(1s);
    other.cancel();
    co_await weir::sleep(100ms);
    EXPECT_EQ(other.uncancel(), 0u);
    EXPECT_EQ(other.uncancel(), 0u);
    other.cancel();
    co_await other;
}

WEIR_TEST(Semantics, CX_18) {
    bool undisturbed = false;
    bool stopped = false;
    auto body = [&]() -> task<> {
        const weir::any_handle self = weir::current_task();
        const unsigned before = self.cancelling();
        auto timer = weir::loop::current().call_later(1s, [self] { self.cancel(); });
        weir::outcome<> ended = co_await weir::intercept(forever());
        stopped = ended.is_stop();
        EXPECT_EQ(self.uncancel(), before);
        co_await weir::sleep(1h);
        undisturbed = true;
        EXPECT_EQ(self.cancelling(), 0u);
    };
    auto work = weir::spawn(body);
    co_await work;
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(undisturbed);
}

WEIR_TEST(Semantics, CX_19) {
    auto throws_itself = []() -> task<> {
        co_await weir::sleep(1s);
        throw weir::cancelled("myself");
    };
    auto lets_through = []() -> task<> { co_await weir::catchable(forever()); };
    auto first = weir::spawn(throws_itself);
    auto second = weir::spawn(lets_through);
    co_await weir::sleep(1s);
    second.cancel();
    co_await first.wait();
    co_await second.wait();
    EXPECT_TRUE(first.cancelled());
    EXPECT_EQ(first.cancelling(), 0u);
    EXPECT_TRUE(second.cancelled());
}

WEIR_TEST(Semantics, CX_20) {
    static_assert(!std::is_base_of_v<std::exception, weir::cancelled>);
    std::vector<int> passed;
    bool caught_as_error = false;
    auto level = [&](auto& self, int depth) -> task<> {
        at_exit note([&passed, depth] { passed.push_back(depth); });
        try {
            if (depth == 0) {
                co_await weir::sleep_forever();
            } else {
                co_await self(self, depth - 1);
            }
        } catch (const std::exception&) {
            caught_as_error = true;
        }
    };
    auto work = weir::spawn(level(level, 5));
    std::string seen;
    auto awaits = [&]() -> task<> {
        try {
            co_await work;
        } catch (const weir::cancelled& stop) {
            seen = stop.reason();
        }
    };
    auto awaiter = weir::spawn(awaits);
    co_await weir::sleep(1s);
    work.cancel("the reason");
    co_await awaiter;
    EXPECT_EQ(passed, (std::vector<int>{0, 1, 2, 3, 4, 5}));
    EXPECT_FALSE(caught_as_error);
    EXPECT_EQ(seen, "the reason");
    for (int way = 0; way < 2; ++way) {
        std::string reason;
        try {
            way == 0 ? work.result() : static_cast<void>(work.error());
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
        }
        EXPECT_EQ(reason, "the reason");
    }
    // Through exceptions too: each level sees it once.
    int seen_by_levels = 0;
    auto catching = [&](auto& self, int depth) -> task<> {
        try {
            if (depth == 0) {
                co_await weir::catchable(weir::sleep_forever());
            } else {
                co_await self(self, depth - 1);
            }
        } catch (const std::exception&) {
            caught_as_error = true;
        } catch (const weir::cancelled&) {
            ++seen_by_levels;
            throw;
        }
    };
    auto second = weir::spawn(catching(catching, 5));
    co_await weir::sleep(1s);
    second.cancel();
    co_await second.wait();
    EXPECT_TRUE(second.cancelled());
    EXPECT_EQ(seen_by_levels, 6);
    EXPECT_FALSE(caught_as_error);
}

FIFO_TEST(Semantics, CX_21) {
    bool beyond = false;
    auto yields = [&]() -> task<> {
        co_await weir::sleep(0s);
        beyond = true;
    };
    auto first = weir::spawn(yields);
    co_await weir::yield();
    first.cancel();
    co_await weir::yield();
    EXPECT_TRUE(first.cancelled());
    EXPECT_FALSE(beyond);

    auto sleeps = []() -> task<> { co_await weir::sleep(1h); };
    auto second = weir::spawn(sleeps);
    co_await weir::sleep(1s);
    second.cancel();
    co_await weir::yield();
    EXPECT_TRUE(second.cancelled());
    EXPECT_EQ(weir::now().time_since_epoch(), 1s);
    EXPECT_FALSE(weir::loop::current().next_deadline().has_value()) << "its timer is removed";
}

WEIR_TEST(Semantics, CX_12) {
    for (const int kind : {0, 1, 2}) {
        bool sleeper_stopped = false;
        handle<> nested;
        auto inner = [&]() -> task<> {
            weir::outcome<> ended = co_await weir::intercept(forever());
            sleeper_stopped = ended.is_stop();
            co_await std::move(ended);
        };
        auto outer = [&]() -> task<> {
            nested = weir::spawn(inner);
            co_await weir::sleep(1s);
            weir::current_task().cancel();
            if (kind == 0) {
                co_await nested;
            } else if (kind == 1) {
                co_await weir::timeout(1h, nested);
            } else {
                co_await weir::gather(nested, nested);
            }
        };
        auto work = weir::spawn(outer);
        co_await work.wait();
        EXPECT_TRUE(work.cancelled());
        EXPECT_TRUE(nested.cancelled());
        EXPECT_TRUE(sleeper_stopped);
    }
}

}  // namespace
