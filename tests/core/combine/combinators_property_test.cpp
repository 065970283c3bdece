// SPDX-License-Identifier: MIT
// Random trees of combinators with random delays, failures, cancellations and time limits, under
// random schedules. In every case every child has ended when its combinator returns, values are in
// order and complete, and each combinator ends in exactly one way.

#include "support.hpp"

#include <random>

namespace {

using namespace combinators;

// The invariants of a run of one seed.
struct world {
    explicit world(std::uint32_t seed) : random(seed) {}

    int below(int limit) { return static_cast<int>(random() % static_cast<std::uint32_t>(limit)); }
    std::chrono::milliseconds some_time() { return std::chrono::milliseconds(below(6)); }

    std::mt19937 random;
    int live = 0;
    int errors_told = 0;
};

// The children of one combinator: none may be left when it has ended.
class family {
public:
    explicit family(const char* kind) : kind_(kind) {}
    family(const family&) = delete;
    family& operator=(const family&) = delete;
    ~family() { EXPECT_EQ(live, 0) << kind_ << " left children behind"; }

    int live = 0;

private:
    const char* kind_;
};

weir::task<int> node(world& in, int& siblings, int depth, int value);

weir::task<int> leaf(world& in, int value) {
    const std::chrono::milliseconds time = in.some_time();
    auto clean = [&in]() -> weir::task<> {
        const std::chrono::milliseconds pause = in.some_time();
        co_await weir::sleep(pause);
        if (in.below(12) == 0) {
            throw failure(-1);
        }
    };
    switch (in.below(7)) {
        case 0:
            co_await weir::yield();
            co_return value;
        case 1:
            co_await weir::sleep(time);
            throw failure(value);
        case 2:
            co_await weir::finally(weir::sleep(time), clean);
            co_return value;
        case 3:
            co_await weir::shield(weir::sleep(time));
            co_return value;
        case 4:
            co_await weir::sleep(time);
            throw weir::cancelled("by chance");
        case 5:
            co_return value;
        default:
            co_await weir::sleep(time);
            co_return value;
    }
}

std::vector<weir::task<int>> some_children(world& in, family& of, int depth) {
    std::vector<weir::task<int>> made;
    const int count = in.below(4) + 1;
    for (int i = 0; i < count; ++i) {
        made.push_back(node(in, of.live, depth - 1, i));
    }
    return made;
}

weir::task<int> gathering(world& in, int depth, int value) {
    family children("gather");
    std::vector<weir::task<int>> work = some_children(in, children, depth);
    const std::size_t count = work.size();
    const std::vector<int> values = co_await weir::gather(std::move(work));
    EXPECT_EQ(children.live, 0);
    EXPECT_EQ(values.size(), count);
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(values[i], static_cast<int>(i));
    }
    co_return value;
}

weir::task<int> settling(world& in, int depth, int value) {
    family children("gather_settled");
    std::vector<weir::task<int>> work = some_children(in, children, depth);
    const std::size_t count = work.size();
    std::vector<weir::outcome<int>> outcomes = co_await weir::gather_settled(std::move(work));
    EXPECT_EQ(children.live, 0);
    const weir::partitioned<int> sorted = weir::partition(std::move(outcomes));
    EXPECT_EQ(sorted.values.size() + sorted.errors.size() + sorted.cancelled.size(), count);
    for (const auto& each : sorted.values) {
        EXPECT_EQ(each.value, static_cast<int>(each.index));
    }
    co_return value;
}

weir::task<int> racing(world& in, int depth, int value) {
    family children("race");
    std::vector<weir::task<int>> work = some_children(in, children, depth);
    const int count = static_cast<int>(work.size());
    try {
        const int winner = co_await weir::race(std::move(work));
        EXPECT_LT(winner, count);
    } catch (const weir::error_group& all) {
        EXPECT_EQ(static_cast<int>(all.size()), count);
    }
    EXPECT_EQ(children.live, 0);
    co_return value;
}

// Handles: owned by a group here, watched by the combinators.
weir::task<int> watching(world& in, int depth, int value) {
    family children("group");
    auto body = [&](weir::task_group& group) -> weir::task<> {
        std::vector<weir::handle<int>> started;
        for (weir::task<int>& each : some_children(in, children, depth)) {
            auto contained = [](weir::task<int> work) -> weir::task<int> {
                weir::outcome<int> ended = co_await weir::settle(std::move(work));
                co_return ended.value_or(-1);
            };
            started.push_back(group.spawn(contained, std::move(each)));
        }
        const std::size_t count = started.size();
        const int kind = in.below(4);
        if (kind == 0) {
            const auto until = static_cast<weir::wait_until>(in.below(3));
            auto [done, pending] = co_await weir::wait(started, until, in.some_time());
            EXPECT_EQ(done.size() + pending.size(), count);
        } else if (kind == 1) {
            auto finished = weir::as_completed(started, in.some_time());
            std::vector<bool> seen(count);
            std::size_t answers = 0;
            bool more = true;
            while (more) {
                try {
                    auto next = co_await finished.next();
                    more = next.has_value();
                    answers += more ? 1 : 0;
                    if (more) {
                        EXPECT_TRUE(next->handle.done());
                        EXPECT_FALSE(seen[next->index]);
                        seen[next->index] = true;
                    }
                } catch (const weir::timed_out&) {
                    ++answers;
                }
            }
            EXPECT_EQ(answers, count);
        } else if (kind == 2) {
            started[0].cancel();
            weir::outcome<std::vector<int>> ended = co_await weir::settle(weir::gather(started));
            EXPECT_TRUE(ended.has_value() || ended.is_cancelled());
        } else {
            const std::vector<weir::outcome<int>> ended = co_await weir::gather_settled(started);
            EXPECT_EQ(ended.size(), count);
        }
    };
    co_await weir::with_group(body);
    EXPECT_EQ(children.live, 0);
    co_return value;
}

weir::task<int> node(world& in, int& siblings, int depth, int value) {
    const alive counted(siblings);
    const alive counted_too(in.live);
    if (depth == 0) {
        co_return co_await leaf(in, value);
    }
    const int kind = in.below(6);
    if (kind == 0) {
        co_return co_await gathering(in, depth, value);
    }
    if (kind == 1) {
        co_return co_await settling(in, depth, value);
    }
    if (kind == 2) {
        co_return co_await racing(in, depth, value);
    }
    if (kind == 3) {
        co_return co_await watching(in, depth, value);
    }
    if (kind == 4) {
        const std::chrono::milliseconds limit = in.some_time();
        co_return co_await weir::timeout(limit, gathering(in, depth, value));
    }
    co_return co_await leaf(in, value);
}

weir::task<> one_seed(std::uint32_t seed) {
    world in(seed);
    weir::loop::current().on_report([&](const weir::report& about) {
        EXPECT_EQ(about.kind, weir::report_kind::suppressed_error) << about.message;
        ++in.errors_told;
    });
    int top = 0;
    weir::handle<int> running = weir::spawn(node(in, top, 4, 7));
    for (int requests = in.below(3); requests > 0 && !running.done(); --requests) {
        const std::chrono::milliseconds pause = in.some_time();
        co_await weir::sleep(pause);
        running.cancel();
    }
    co_await running.wait();
    if (!running.failed() && !running.cancelled()) {
        EXPECT_EQ(running.result(), 7);
    } else if (running.failed()) {
        EXPECT_NE(running.error(), nullptr);
    }
    EXPECT_EQ(in.live, 0);
    EXPECT_EQ(top, 0);
    EXPECT_EQ(weir::all_tasks().size(), 1u) << weir::dump_tasks();
    weir::loop::current().on_report({});
}

TEST(CombinatorProperties, EveryChildIsAwaitedWhateverHappens) {
    for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
        weir::loop_options options;
        options.driver = weir::driver_kind::simulated;
        options.seed = seed % 3 == 0 ? 0 : seed;
        options.debug = seed % 5 == 0;
        weir::run(one_seed(seed), std::move(options));
        if (::testing::Test::HasFailure()) {
            FAIL() << "with seed " << seed;
        }
    }
}

}  // namespace
