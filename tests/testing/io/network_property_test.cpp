// SPDX-License-Identifier: MIT
// Properties of simulated connections under random networks, schedules and cancellations: bytes
// arrive in order, unchanged, none twice and none missing unless the connection was reset; every
// byte sent is read or counted as lost; the same seed gives the same run.

#include "support/loops.hpp"
#include "testing/io/stream_support.hpp"

#include <set>

namespace {

using namespace stream_tests;

// ---- one connection, both directions, readers and writers that are cancelled

class duplex {
public:
    explicit duplex(std::uint64_t seed) : random_(seed), net_({.link = link_with_faults(seed)}) {}

    task<> run() {
        {
            auto [near, far] = net_.pair();
            auto streams = [&, &near = near, &far = far](weir::task_group& group) -> task<> {
                group.spawn(write_some(near, there_));
                group.spawn(read_all(far, there_));
                group.spawn(write_some(far, back_));
                group.spawn(read_all(near, back_));
                group.spawn(disturb());
                co_return;
            };
            co_await weir::with_group(streams);
        }
        for (const direction& each : {there_, back_}) {
            EXPECT_EQ(each.received, pattern(each.received.size()));  // in order, once, unchanged
            EXPECT_LE(each.received.size(), each.begun);
            if (!each.was_reset && each.has_ended) {
                EXPECT_GE(each.received.size(), each.finished);
            }
        }
        const network_stats stats = net_.stats();
        EXPECT_EQ(stats.bytes_sent, stats.bytes_read + stats.bytes_lost);
        EXPECT_EQ(stats.open, 0u);
        if (stats.resets == 0) {
            EXPECT_FALSE(there_.was_reset || back_.was_reset);
            EXPECT_TRUE(there_.has_ended && back_.has_ended);
            EXPECT_EQ(stats.bytes_lost, 0u);
        }
    }

private:
    struct direction {
        std::size_t begun = 0;     // handed to a write
        std::size_t finished = 0;  // by writes that returned
        std::string received{};
        bool has_ended = false;
        bool was_reset = false;
    };

    static link_options link_with_faults(std::uint64_t seed) {
        link_options drawn = link_options::drawn_from(seed);
        if (seed % 3 == 2) {
            drawn.resets = 0.02;
        }
        return drawn;
    }

    task<> write_some(simulated_stream& to, direction& way) {
        const std::string all = pattern(2000);
        try {
            while (way.begun < 1500) {
                const std::size_t count = 1 + random_.below(random_.flip() ? 10 : 300);
                const io::const_bytes chunk = io::const_bytes(all).after(way.begun).first(count);
                way.begun += count;
                const bool is_cut = co_await cut_at_random(to.write(chunk), 40);
                if (is_cut) {
                    break;  // a part of it may be sent: writing cannot continue
                }
                way.finished += count;
            }
            co_await to.close_write();
        } catch (const weir::io_error& error) {
            note_reset(way, error);
        }
    }
    task<> read_all(simulated_stream& from, direction& way) {
        std::string into(300, '\0');
        try {
            for (;;) {
                std::optional<std::size_t> count;
                auto reading = [&]() -> task<> {
                    const std::size_t came =
                        co_await from.read(io::bytes(into).first(1 + random_.below(300)));
                    count = came;
                    way.received += into.substr(0, came);
                };
                co_await cut_at_random(reading(), 4);
                if (count == 0u) {
                    way.has_ended = true;
                    break;
                }
            }
        } catch (const weir::io_error& error) {
            note_reset(way, error);
        }
    }
    // Awaits the work, one time in so many under a cancellation or a timeout. True: it was cut
    // short.
    template <class Work>
    task<bool> cut_at_random(Work work, std::size_t rarity) {
        const std::size_t how = random_.below(2 * rarity);
        if (how == 0) {
            try {
                co_await weir::timeout(random_.time(20'000), std::move(work));
            } catch (const weir::timed_out&) {
                co_return true;
            }
        } else if (how == 1) {
            const auto started = weir::spawn(weir::detail::to_task(std::move(work)));
            for (std::size_t turns = random_.below(5); turns > 0; --turns) {
                co_await weir::yield();
            }
            if (random_.flip()) {
                co_await weir::sleep(random_.time(20'000));
            }
            started.cancel();
            co_await started.wait();
            if (started.cancelled()) {
                co_return true;
            }
            co_await started;
        } else {
            co_await std::move(work);
        }
        co_return false;
    }
    task<> disturb() {
        for (std::size_t left = random_.below(4); left > 0; --left) {
            co_await weir::sleep(random_.time(50'000));
            net_.partition("client", "server");
            co_await weir::sleep(random_.time(50'000));
            net_.heal();
        }
    }
    static void note_reset(direction& way, const weir::io_error& error) {
        EXPECT_TRUE(error.code().value() == ECONNRESET || error.code().value() == EPIPE ||
                    error.code().value() == ENOTCONN)
            << error.what();
        way.was_reset = true;
    }

    dice random_;
    simulated_network net_;
    direction there_;
    direction back_;
};

task<> random_duplex() {
    duplex one(weir::testing::current_seed());
    co_await one.run();
}

TEST(SimulatedNetworkProperty, BytesArriveInOrderOrTheConnectionIsReset) {
    const weir::testing::exploration found =
        weir::testing::explore(random_duplex, {.schedules = runs(1500)});
    EXPECT_FALSE(found.failed) << found.text();
}

// ---- a service and its clients

task<> echo(simulated_stream peer) {
    std::array<char, 100> buffer{};
    try {
        for (;;) {
            const std::size_t count = co_await peer.read(buffer);
            if (count == 0) {
                co_return;
            }
            co_await peer.write(io::bytes(buffer).first(count));
        }
    } catch (const weir::io_error&) {
    }
}

task<> serve(simulated_listener& listener) {
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (;;) {
            simulated_stream peer = co_await listener.accept();
            group.spawn(echo(std::move(peer)));
        }
    });
}

struct tally {
    int answered = 0;
    int failed = 0;
    std::string log{};  // the events and their times
};

// The reader gets the error, too.
task<> send_if_possible(simulated_stream& to, std::string data) {
    try {
        co_await send(to, std::move(data));
    } catch (const weir::io_error&) {
    }
}

constexpr std::string_view hosts[] = {"c0", "c1", "c2"};

task<> ask(simulated_network& net, dice& random, tally& count, int number) {
    try {
        simulated_stream stream = co_await net.connect("server:80", std::string(hosts[number % 3]));
        const std::string question = pattern(1 + random.below(400));
        const auto asking = weir::spawn(send_if_possible(stream, question));
        auto reading = [&]() -> task<std::string> { return io::read_all(stream, 400); };
        auto stop_asking = [&]() -> task<> {
            asking.cancel();
            co_await asking.wait();
        };
        const std::string answer = co_await weir::finally(reading, stop_asking);
        EXPECT_EQ(answer, question);
        ++count.answered;
    } catch (const weir::io_error& error) {
        ++count.failed;
        count.log += error.what();
    }
    count.log += std::to_string(number) + " at " +
                 std::to_string(weir::now().time_since_epoch().count()) + "\n";
}

task<tally> run_service(std::uint64_t seed) {
    dice random(seed);
    link_options link = link_options::drawn_from(seed);
    link.resets = 0.01;
    link.refusals = 0.1;
    link.silences = 0.05;
    simulated_network net({.link = link});
    simulated_listener listener = net.listen("server:80", {.backlog = 2});
    tally count;
    const auto server = weir::spawn(serve(listener));
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 12; ++i) {
            const auto client = group.spawn(ask(net, random, count, i));
            if (random.below(6) == 0) {
                co_await weir::sleep(random.time(30'000));
                client.cancel();
            }
        }
        net.partition("server", "c1");
        co_await weir::sleep(random.time(200'000));
        net.heal();
    });
    server.cancel();
    co_await server.wait();
    const network_stats stats = net.stats();
    EXPECT_EQ(stats.open, 0u);
    EXPECT_EQ(stats.bytes_sent, stats.bytes_read + stats.bytes_lost);
    co_return count;
}

TEST(SimulatedNetworkProperty, AServiceAnswersRightlyOrWithAnError) {
    int answered = 0;
    int failed = 0;
    const auto body = [&]() -> task<> {
        const tally count = co_await run_service(weir::testing::current_seed());
        answered += count.answered;
        failed += count.failed;
    };
    const weir::testing::exploration found = weir::testing::explore(body, {.schedules = runs(300)});
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GT(answered, failed);  // and both happen
    EXPECT_GT(failed, 10);
}

TEST(SimulatedNetworkProperty, TheSameSeedGivesTheSameRun) {
    std::set<std::string> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<std::string> logs;
        std::vector<std::vector<std::string>> traces;
        const auto body = [&]() -> task<> {
            const tally count = co_await run_service(weir::testing::current_seed());
            logs.push_back(count.log);
        };
        for (int again = 0; again < 2; ++again) {
            traces.push_back(weir::testing::replay(body, seed).trace);
        }
        ASSERT_EQ(logs.size(), 2u);
        EXPECT_EQ(logs[0], logs[1]);
        const auto [one, other] =
            std::mismatch(traces[0].begin(), traces[0].end(), traces[1].begin(), traces[1].end());
        EXPECT_TRUE(one == traces[0].end() && other == traces[1].end())
            << "seed " << seed << ": '" << (one == traces[0].end() ? "(end)" : *one) << "' and '"
            << (other == traces[1].end() ? "(end)" : *other) << "'";
        different.insert(logs[0]);
    }
    EXPECT_EQ(different.size(), 20u);
}

// Networks of one test differ, also without a seed; and a seed of one's own is kept.
WEIR_TEST(SimulatedNetworkProperty, SeedsCanBeChosen) {
    const simulated_network first;
    const simulated_network second;
    const simulated_network chosen({.seed = 5});
    EXPECT_NE(first.seed(), second.seed());
    EXPECT_EQ(chosen.seed(), 5u);
    co_return;
}

}  // namespace
