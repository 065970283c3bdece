// SPDX-License-Identifier: MIT
// The race for the first connection, with scripted attempts, in simulated time.

#include "io/net/happy_eyeballs.hpp"

#include <weir/testing/testing.hpp>

#include <map>
#include <random>

namespace {

using namespace std::chrono_literals;
using weir::clock;
using weir::io::address;

enum class fate { success, failure, never };
struct script {
    fate end = fate::success;
    clock::duration time{};
};

// Counts itself, so that one that was opened and not closed is seen.
class connection {
public:
    connection(int id, int& open) : id(id), open_(&open) { ++open; }
    connection(connection&& from) noexcept
        : id(from.id), open_(std::exchange(from.open_, nullptr)) {}
    connection& operator=(connection&&) = delete;
    ~connection() {
        if (open_ != nullptr) {
            --*open_;
        }
    }
    int id;

private:
    int* open_;
};

struct world {
    std::vector<script> scripts{};
    std::map<std::size_t, clock::duration> started{};  // since the beginning
    clock::time_point begin = weir::now();
    int running = 0;
    int open = 0;

    weir::task<connection> connect(address to) {
        const std::size_t index = to.port();
        started[index] = weir::now() - begin;
        ++running;
        const auto end = std::shared_ptr<void>(nullptr, [this](void*) { --running; });
        if (scripts[index].end == fate::never) {
            co_await weir::sleep_forever();
        }
        if (scripts[index].time > 0s) {
            co_await weir::sleep(scripts[index].time);
        }
        if (scripts[index].end == fate::failure) {
            throw std::runtime_error(std::to_string(index));
        }
        co_return connection(static_cast<int>(index), open);
    }

    weir::task<weir::io::detail::attempts<connection>> race(clock::duration delay) {
        std::vector<address> addresses;
        for (std::size_t index = 0; index < scripts.size(); ++index) {
            addresses.push_back(address::loopback(static_cast<std::uint16_t>(index)));
        }
        auto attempt = [this](const address& to) { return connect(to); };
        co_return co_await weir::io::detail::connect_to_first<connection>(addresses, attempt,
                                                                          delay);
    }
};

constexpr clock::duration infinite = clock::duration::max();

// The outcome that RFC 8305 requires, by plain arithmetic.
struct expected {
    std::vector<clock::duration> started{};
    int winner = -1;
    clock::duration end = infinite;
};
expected predict(const std::vector<script>& scripts, clock::duration delay) {
    expected made;
    for (std::size_t index = 0; index < scripts.size(); ++index) {
        clock::duration start{};
        if (index > 0) {
            const clock::duration last = made.started.back();
            start = last + delay;
            for (std::size_t earlier = 0; earlier < index; ++earlier) {
                const clock::duration end = made.started[earlier] + scripts[earlier].time;
                if (scripts[earlier].end == fate::failure && end > last) {
                    start = std::min(start, end);
                }
            }
        }
        if (start >= made.end) {
            break;
        }
        made.started.push_back(start);
        if (scripts[index].end == fate::success && start + scripts[index].time < made.end) {
            made.end = start + scripts[index].time;
            made.winner = static_cast<int>(index);
        }
    }
    while (!made.started.empty() && made.started.back() > made.end) {
        made.started.pop_back();
    }
    return made;
}

WEIR_TEST(HappyEyeballs, OneAfterTheOther) {
    // The first never answers, the second refuses, the third is slow, the fourth is not needed.
    world all{
        .scripts = {{fate::never}, {fate::failure, 20ms}, {fate::success, 100ms}, {fate::never}}};
    auto ended = co_await all.race(250ms);
    WEIR_ASSERT_TRUE(ended.connection.has_value());
    EXPECT_EQ(ended.connection->id, 2);
    EXPECT_EQ(all.started,
              (std::map<std::size_t, clock::duration>{{0, 0ms}, {1, 250ms}, {2, 270ms}}));
    EXPECT_EQ(weir::now() - all.begin, 370ms);
    EXPECT_EQ(all.running, 0);
    EXPECT_EQ(all.open, 1);
    EXPECT_EQ(ended.errors[0], nullptr);
    EXPECT_EQ(weir::describe(ended.errors[1]), "1");
    ended.connection.reset();
    EXPECT_EQ(all.open, 0);
}

WEIR_TEST(HappyEyeballs, AllFailOrThereIsNone) {
    world all{.scripts = {{fate::failure, 400ms}, {fate::failure, 0s}, {fate::failure, 10ms}}};
    const auto ended = co_await all.race(250ms);
    EXPECT_FALSE(ended.connection.has_value());
    EXPECT_EQ(weir::now() - all.begin, 400ms);
    for (std::size_t index = 0; index < 3; ++index) {
        EXPECT_EQ(weir::describe(ended.errors[index]), std::to_string(index));
    }
    world none;
    const auto nothing = co_await none.race(250ms);
    EXPECT_FALSE(nothing.connection.has_value());
}

WEIR_TEST(HappyEyeballs, TwoAtOnceLeaveOne) {
    world all{.scripts = {{fate::success, 300ms}, {fate::success, 50ms}, {fate::success, 50ms}}};
    const auto ended = co_await all.race(250ms);
    EXPECT_TRUE(ended.connection.has_value());
    EXPECT_EQ(all.open, 1);
    EXPECT_EQ(all.running, 0);
}

WEIR_TEST(HappyEyeballs, AgainstTheRules) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937_64 random(seed);
        const clock::duration delay = std::chrono::nanoseconds(random() % 250'000'000);
        world all;
        for (std::uint64_t count = 1 + random() % 8; count > 0; --count) {
            const auto kind = static_cast<fate>(random() % 3);
            all.scripts.push_back({kind, std::chrono::nanoseconds(1 + random() % 600'000'000)});
        }
        const expected right = predict(all.scripts, delay);
        if (right.winner < 0) {  // one must answer, and it is the last one
            for (script& each : all.scripts) {
                each.end = each.end == fate::never ? fate::failure : each.end;
            }
        }
        const expected plan = predict(all.scripts, delay);
        const auto ended = co_await all.race(delay);
        EXPECT_EQ(ended.connection.has_value(), plan.winner >= 0) << seed;
        std::vector<clock::duration> started;
        for (const auto& [index, when] : all.started) {
            started.push_back(when);
        }
        EXPECT_EQ(started, plan.started) << seed;
        if (ended.connection) {
            EXPECT_EQ(ended.connection->id, plan.winner) << seed;
            EXPECT_EQ(weir::now() - all.begin, plan.end) << seed;
        }
        EXPECT_EQ(all.running, 0);
        EXPECT_EQ(all.open, ended.connection ? 1 : 0);
    }
}

// Stopped at any time, it stops all its attempts, and no connection is left.
WEIR_TEST(HappyEyeballs, StoppedAtAnyTime) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937_64 random(seed);
        world all;
        for (std::uint64_t count = 1 + random() % 5; count > 0; --count) {
            all.scripts.push_back(
                {static_cast<fate>(random() % 3), std::chrono::milliseconds(random() % 6)});
        }
        int received = 0;
        auto use = [&]() -> weir::task<> {
            const auto ended = co_await all.race(2ms);
            received = ended.connection ? 1 : 0;
        };
        const auto racing = weir::spawn(use);
        co_await weir::sleep(std::chrono::milliseconds(random() % 12));
        for (std::uint64_t yields = random() % 4; yields > 0; --yields) {
            co_await weir::yield();
        }
        racing.cancel();
        const auto how = co_await weir::settle(racing);
        EXPECT_FALSE(how.has_error());
        EXPECT_EQ(all.running, 0) << seed;
        EXPECT_EQ(all.open, 0) << seed;
    }
}

}  // namespace
