// SPDX-License-Identifier: MIT
// The hub with WebSocket connections over a simulated network: clients that come back, clients that
// do not read, and stops at any time.
#include <weir/io/error.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/hub.hpp>
#include <weir/ws/serve.hpp>

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace ws = weir::ws;
namespace io = weir::io;
using weir::testing::simulated_network;

namespace {

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

// A feed: each client names a topic and its position in it; the feed sends a summary, then the
// messages.
//
//     > TOPIC TOKEN     < hello REPLAYED MISSED KNOWN EPOCH NUMBER     < m NUMBER ...
class feed {
public:
    feed(simulated_network& net, const ws::hub_options& keep, const ws::connection_options& options)
        : hub(std::make_unique<ws::hub>(keep)), keep_(keep), options_(options) {
        listener_ = net.listen("server:80");
    }

    weir::task<> run() {
        auto accept = [this](weir::task_group& group) -> weir::task<> {
            for (;;) {
                weir::testing::simulated_stream stream = co_await listener_.accept();
                group.spawn(attend(io::any_stream(std::move(stream))));
            }
        };
        co_await weir::with_group(accept);
    }
    void close_listener() { listener_.close(); }
    void restart() { hub = std::make_unique<ws::hub>(keep_); }
    void publish(const std::string& topic, std::size_t padding = 0) {
        ++counts[topic];
        hub->publish(topic, [&](const ws::position& at) {
            return "m " + std::to_string(at.number) + " " + at.text() + std::string(padding, ' ');
        });
    }

    std::unique_ptr<ws::hub> hub;
    std::map<std::string, std::uint64_t> counts;
    std::size_t most_queued = 0;

private:
    weir::task<> attend(io::any_stream stream) {
        auto talk = [this](ws::connection& peer) -> weir::task<> {
            std::optional<ws::message> incoming = co_await peer.receive();
            if (!incoming) {
                co_return;
            }
            const std::vector<std::string> words = split(incoming->text());
            const auto greet = [](const ws::catch_up& found) {
                return "hello " + std::to_string(found.replayed) + " " +
                       std::to_string(found.missed) + " " + (found.is_known ? "1 " : "0 ") +
                       std::to_string(found.at.epoch) + " " + std::to_string(found.at.number);
            };
            const ws::membership member = hub->join(
                peer, words[0], words.size() > 1 ? std::string_view(words[1]) : "", greet);
            for (;;) {
                incoming = co_await peer.receive();
                if (!incoming) {
                    co_return;
                }
            }
        };
        co_await ws::serve(std::move(stream), talk, options_);
    }

    weir::testing::simulated_listener listener_;
    ws::hub_options keep_;
    ws::connection_options options_;
};

}  // namespace

namespace {

// A client of the feed that accounts for every message of its topic: received or reported as
// missed.
class reader {
public:
    reader(simulated_network& net, std::string topic, std::uint64_t seed, bool gaps_allowed)
        : net_(net), topic_(std::move(topic)), random_(seed), gaps_allowed_(gaps_allowed) {}

    std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_() % below); }

    // One connection, for some time, read at some speed, ended in some way.
    weir::task<> visit() {
        const auto length = std::chrono::milliseconds(pick(4000));
        const auto pace = std::chrono::milliseconds(pick(3) == 0 ? pick(200) : 0);
        weir::cancel_scope limit(length);
        co_await limit.run(stay(pace, std::nullopt));
    }
    // Until it has come to the end.
    weir::task<> finish(ws::position end) {
        while (last_ != end) {
            co_await stay(0ms, end);
        }
    }

    std::uint64_t epoch_seen = 0;  // messages of the present epoch
    std::uint64_t epoch_told = 0;
    std::uint64_t visits = 0;
    ws::position last_{};  // everything up to there is accounted for

private:
    weir::task<> stay(weir::clock::duration pace, std::optional<ws::position> until) {
        try {
            weir::testing::simulated_stream stream = co_await net_.connect("server:80");
            ws::established begun;
            begun.stream = io::any_stream(std::move(stream));
            begun.role = ws::role::client;
            auto read = [&](ws::connection& peer) -> weir::task<> {
                const std::string request =
                    topic_ + (last_ == ws::position() ? "" : " " + last_.text());
                co_await peer.send(request);
                while (!until || last_ != *until) {
                    const std::optional<ws::message> received = co_await peer.receive();
                    if (!received) {
                        break;
                    }
                    take(received->text());
                    if (pace > 0ms) {
                        co_await weir::sleep(pace);
                    }
                }
            };
            weir::task<> running = ws::detail::run_connection(
                std::move(begun), ws::detail::to_handler(read), ws::connection_options());
            co_await std::move(running);
            ++visits;
        } catch (const ws::closed&) {
        } catch (const weir::io_error&) {
        }
        co_await weir::sleep(std::chrono::milliseconds(pick(300)));
    }

    static std::uint64_t number(const std::string& text) { return std::stoull(text); }
    void begin(std::uint64_t epoch) {
        if (last_.epoch != epoch) {
            last_ = {epoch, 0};
            epoch_seen = 0;
            epoch_told = 0;
        }
    }
    void take(std::string_view text) {
        const std::vector<std::string> words = split(text);
        if (words.at(0) == "hello") {
            const std::uint64_t replayed = number(words.at(1));
            const std::uint64_t missed = number(words.at(2));
            const ws::position at{number(words.at(4)), number(words.at(5))};
            EXPECT_EQ(words.at(3) == "1", last_.epoch == 0 || last_.epoch == at.epoch);
            begin(at.epoch);
            EXPECT_EQ(last_.number + missed + replayed, at.number) << text;
            epoch_told += missed;
            last_.number += missed;
            return;
        }
        const ws::position at = ws::position::parse(words.at(2)).value();
        EXPECT_EQ(at.number, number(words.at(1)));
        if (!gaps_allowed_) {
            EXPECT_EQ(at, (ws::position{last_.epoch, last_.number + 1})) << "a gap, or twice";
        }
        begin(at.epoch);
        ASSERT_GT(at.number, last_.number);
        epoch_told += at.number - last_.number - 1;  // the numbers say so
        ++epoch_seen;
        last_ = at;
    }

    simulated_network& net_;
    std::string topic_;
    std::mt19937_64 random_;
    bool gaps_allowed_;
};

weir::task<> random_history(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    weir::testing::network_options net_options;
    net_options.link = weir::testing::link_options::drawn_from(seed);
    net_options.link.resets = seed % 3 == 0 ? 0.002 : 0;
    net_options.link.window = 1000 + pick(20'000);
    net_options.seed = seed;
    simulated_network net(net_options);
    const bool drops = seed % 2 == 0;
    ws::connection_options options;
    options.outbox_messages = 2 + pick(40);
    options.outbox_bytes = 2000 + pick(5000);
    options.when_full = drops ? ws::overflow::drop_oldest : ws::overflow::close;
    feed server(net, {.keep_messages = 1 + pick(60), .keep_for = 30s}, options);
    auto serving = weir::spawn(server.run());

    const std::string topics[] = {"a", "b"};
    std::vector<std::unique_ptr<reader>> readers;
    for (std::uint64_t i = 0; i < 5; ++i) {
        readers.push_back(std::make_unique<reader>(net, topics[i % 2], seed * 10 + i, drops));
    }
    bool is_over = false;
    auto come_and_go = [&](reader& one) -> weir::task<> {
        while (!is_over) {
            co_await one.visit();
        }
    };
    std::vector<weir::handle<void>> coming;
    for (auto& each : readers) {
        coming.push_back(weir::spawn(come_and_go(*each)));
    }
    const bool restarts = seed % 4 == 1;
    for (int i = 0; i < 300; ++i) {
        server.publish(topics[pick(2)], pick(300));
        if (pick(3) == 0) {
            co_await weir::sleep(std::chrono::milliseconds(pick(100)));
        }
        if (restarts && i == 150) {
            server.restart();
        }
    }
    is_over = true;
    for (auto& each : coming) {
        co_await each;
    }
    net.set_default_link({.latency = 1ms});
    server.publish("a");
    server.publish("b");
    for (std::size_t i = 0; i < readers.size(); ++i) {
        const ws::position end = server.hub->at(topics[i % 2]);
        co_await readers[i]->finish(end);
        EXPECT_EQ(readers[i]->epoch_seen + readers[i]->epoch_told, end.number);
        EXPECT_GT(readers[i]->visits, 0u);
    }
    co_await weir::sleep(1s);
    EXPECT_EQ(server.hub->stats().members, 0u);
    EXPECT_EQ(server.hub->stats().topics, 2u);
    serving.cancel();
    co_await serving.wait();
    EXPECT_EQ(net.stats().open, 0u);
}

}  // namespace

WEIR_TEST(HubNetwork, ClientsThatComeBackSeeEachMessageOnceOrAreTold) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE("history " + std::to_string(seed));
        co_await random_history(seed + 8 * weir::testing::current_seed());
    }
}

// A client that does not read, and never will: the others get everything at once, and what is held
// for it is bounded.
WEIR_TEST(HubNetwork, OneThatNeverReadsDelaysNobody) {
    const ws::overflow policies[] = {ws::overflow::drop_oldest, ws::overflow::close};
    for (const ws::overflow policy : policies) {
        simulated_network net({.link = {.latency = 10ms, .window = 20'000}});
        ws::hub hub({.keep_messages = 10});
        ws::connection_options options;
        options.outbox_bytes = 50'000;
        options.outbox_messages = 100;
        options.when_full = policy;
        options.ping_interval = 0s;
        options.write_timeout = 1h;
        std::size_t most_queued = 0;
        std::size_t most_messages = 0;
        std::vector<ws::connection*> peers;
        auto attend = [&](ws::connection& peer) -> weir::task<> {
            peers.push_back(&peer);
            const ws::membership member = hub.join(peer, "a");
            co_await peer.wait_closed();
        };
        auto [stuck, stuck_server] = net.pair();
        auto [near, far] = net.pair();
        auto first =
            weir::spawn(ws::serve(io::any_stream(std::move(stuck_server)), attend, options));
        auto second = weir::spawn(ws::serve(io::any_stream(std::move(far)), attend, options));
        std::uint64_t received = 0;
        auto listen = [&](ws::connection& peer) -> weir::task<> {
            while (received < 2000) {
                const std::optional<ws::message> message = co_await peer.receive();
                if (!message) {
                    co_return;
                }
                ++received;
                const std::uint64_t sent_at = std::stoull(std::string(message->text()));
                const auto now = static_cast<std::uint64_t>(weir::now().time_since_epoch().count());
                EXPECT_LE(now - sent_at, 20'000'000u) << "message " << received << " came late";
            }
        };
        ws::established begun;
        begun.stream = io::any_stream(std::move(near));
        begun.role = ws::role::client;
        auto reading = weir::spawn(ws::detail::run_connection(
            std::move(begun), ws::detail::to_handler(listen), ws::connection_options()));
        co_await weir::testing::settle_all();
        const std::string rest(500, ' ');
        for (int i = 0; i < 2000; ++i) {
            hub.publish("a", std::to_string(weir::now().time_since_epoch().count()) + rest);
            co_await weir::sleep(1ms);
            if (hub.members("a") == 2) {
                const ws::connection_stats stats = peers[0]->stats();
                most_queued = std::max(most_queued, stats.queued_bytes);
                most_messages = std::max(most_messages, stats.queued_messages);
            }
        }
        co_await reading;
        EXPECT_EQ(received, 2000u);
        EXPECT_LE(most_queued, 50'000u + (64u << 10)) << "what waits, and what is being written";
        EXPECT_LE(most_messages, 100u + (64u << 10) / 500);
        if (policy == ws::overflow::close) {
            EXPECT_EQ(hub.stats().removed, 1u);
        } else {
            EXPECT_EQ(hub.stats().removed, 0u);
            EXPECT_GT(hub.stats().dropped, 1000u);
        }
        stuck.close();
        co_await first;
        co_await second;
        EXPECT_EQ(hub.stats().members, 0u);
    }
}

// Stops of everything, at any moment: of a replay, of a broadcast, of the closing.
WEIR_TEST(HubNetwork, StoppedAtAnyTimeNothingIsLeft) {
    for (int moment = 0; moment < 60; ++moment) {
        simulated_network net({.link = {.latency = 1ms, .window = 3000, .short_reads = 0.5}});
        ws::connection_options options;
        options.outbox_messages = 20;
        options.when_full = ws::overflow::drop_oldest;
        options.close_timeout = 1s;
        feed server(net, {.keep_messages = 15}, options);
        for (int i = 0; i < 20; ++i) {
            server.publish("a", 200);
        }
        auto serving = weir::spawn(server.run());
        reader one(net, "a", 1, true);
        reader two(net, "a", 2, true);
        auto first = weir::spawn(one.finish({1, 1}));  // never comes there
        auto second = weir::spawn(two.visit());
        auto talking = [&]() -> weir::task<> {
            for (;;) {
                server.publish("a", 100);
                co_await weir::sleep(1ms);
            }
        };
        auto publishing = weir::spawn(talking());
        co_await weir::sleep(std::chrono::microseconds(moment * 250));
        for (int i = 0; i < moment % 7; ++i) {
            co_await weir::yield();
        }
        if (moment % 2 == 0) {
            server.restart();  // the hub goes with its members there
        }
        serving.cancel();
        co_await weir::sleep(std::chrono::microseconds(moment % 3 * 700));
        first.cancel();
        publishing.cancel();
        co_await serving.wait();
        co_await first.wait();
        co_await publishing.wait();
        second.cancel();
        co_await second.wait();
        server.close_listener();
        EXPECT_EQ(server.hub->stats().members, 0u);
        EXPECT_EQ(net.stats().open, 0u) << "moment " << moment;
    }
}
