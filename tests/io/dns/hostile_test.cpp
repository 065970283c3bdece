// SPDX-License-Identifier: MIT
// Servers that lie, babble or keep silent, and askers that go away at any time.

#include "fake_server.hpp"
#include "support.hpp"

#include <sys/resource.h>

#include <random>

namespace {

using namespace std::chrono_literals;
using namespace weir_test;
using weir::dns::resolver;
using weir::dns::resolver_options;

std::vector<packet> silence(const dns_question&) {
    return {};
}

WEIR_IO_TEST(Hostile, CancelledAtOnceWhereNobodyAnswers) {
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver names(alone(where));
        std::vector<weir::clock::duration> times;
        for (int index = 0; index < 100; ++index) {
            const std::string name = std::to_string(index) + ".example";
            auto asking = weir::spawn(
                [](resolver& from, std::string host) -> weir::task<> {
                    co_await from.resolve(host, 1);
                },
                std::ref(names), name);
            co_await weir::sleep(100us);
            const auto begin = weir::now();
            asking.cancel();
            const auto ended = co_await weir::settle(asking);
            EXPECT_TRUE(ended.is_cancelled());
            times.push_back(weir::now() - begin);
        }
        std::sort(times.begin(), times.end());
        ::testing::Test::RecordProperty("median_ns", std::to_string(times[50].count()));
        ::testing::Test::RecordProperty("max_ns", std::to_string(times.back().count()));
        EXPECT_LT(times[50], 100ms);
        const auto begin = weir::now();
        WEIR_EXPECT_TIMEOUT(weir::timeout(5ms, names.resolve("slow.example")));
        EXPECT_LT(weir::now() - begin, 2s);
        EXPECT_EQ(names.stats().running, 101u);  // the query continues, for the next caller
    };
    co_await with_server(silence, body);
}

WEIR_IO_TEST(Hostile, DestroyedWhileAsking) {
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        auto names = std::make_unique<resolver>(alone(where));
        std::vector<weir::handle<void>> all;
        for (int index = 0; index < 300; ++index) {  // more than are queried at a time
            const std::string name = std::to_string(index) + ".example";
            all.push_back(weir::spawn([](resolver& from, std::string host)
                                          -> weir::task<> { co_await from.resolve(host, 1); },
                                      std::ref(*names), name));
        }
        co_await weir::sleep(1ms);
        for (std::size_t index = 0; index < all.size(); index += 3) {
            all[index].cancel();
        }
        co_await weir::yield();
        names.reset();
        for (std::size_t index = 0; index < all.size(); ++index) {
            if (index % 3 == 0) {
                WEIR_EXPECT_CANCELLED(all[index]);
            } else {
                WEIR_EXPECT_THROW_WITH(all[index], weir::resolve_error, "was destroyed");
            }
        }
    };
    co_await with_server(silence, body);
}

// Answers changed in a few places, cut, doubled or made up. For every answer, each question ends,
// with addresses or a resolve_error.
WEIR_IO_TEST(Hostile, MutatedAnswers) {
    std::mt19937 random(2024);
    auto handler = [&](const dns_question& question) -> std::vector<packet> {
        dns_reply reply(question);
        reply.alias(question.name, "x.example").alias("x.example", "y.example");
        for (unsigned count = random() % 4; count > 0; --count) {
            reply.address("y.example", question.type == type_a ? "10.0.0.1" : "fd00::1");
        }
        std::string text = reply.text();
        for (unsigned count = random() % 6; count > 0; --count) {
            const std::size_t at = 2 + random() % (text.size() - 2);
            switch (random() % 5) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text[at] = static_cast<char>(0xc0 | (random() & 3));  // a pointer
                    break;
                case 2:
                    text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
                    break;
                case 3:
                    text.insert(at, text.substr(random() % text.size(), random() % 20));
                    break;
                default:
                    text.resize(std::max<std::size_t>(3, at));
                    break;
            }
        }
        std::vector<packet> made;
        for (unsigned count = 1 + random() % 2; count > 0; --count) {
            made.push_back({text});
        }
        made.push_back({reply.text()});  // the right one, for a resolver that threw the others away
        return made;
    };
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.resolution_delay = 0s;
        options.max_queries = 30;  // the buffer of a socket has room for their answers
        int answered = 0;
        int failed = 0;
        for (int round = 0; round < 3; ++round) {
            resolver names(options);
            std::vector<weir::handle<void>> all;
            for (int index = 0; index < 400; ++index) {
                const std::string name = std::to_string(index) + ".example";
                all.push_back(weir::spawn(
                    [](resolver& from, std::string host, int& good, int& bad) -> weir::task<> {
                        const auto ended = co_await weir::settle(from.resolve(host, 1));
                        EXPECT_TRUE(ended.has_value() || ended.has_error());
                        if (ended.has_value()) {
                            EXPECT_FALSE(ended.value().empty());
                        }
                        ++(ended.has_value() ? good : bad);
                    },
                    std::ref(names), name, std::ref(answered), std::ref(failed)));
            }
            for (const auto& each : all) {
                co_await each;
            }
            // The remaining lookups were answered early, and their queries continue.
            EXPECT_EQ(names.stats().queued, 0u);
        }
        EXPECT_EQ(answered + failed, 1200);
        EXPECT_GT(answered, 0);
        EXPECT_GT(failed, 0);
    };
    co_await with_server(handler, body);
}

// Callers arrive, share lookups, time out and are cancelled at random, the server answers sometimes
// and late, the cache is small, resolvers are destroyed in the middle of it. Every caller gets an
// answer, once.
WEIR_IO_TEST(Hostile, RandomComingAndGoing) {
    std::mt19937 random(99);
    auto handler = [&](const dns_question& question) -> std::vector<packet> {
        if (random() % 8 == 0) {
            return {};
        }
        if (random() % 6 == 0) {
            return {{dns_reply(question, random() % 6).text()}};
        }
        std::vector<packet> made = answer_all(question);
        made[0].delay = std::chrono::microseconds(random() % 3000);
        return made;
    };
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        int ended = 0;
        int began = 0;
        for (int round = 0; round < 12; ++round) {
            resolver_options options = alone(where);
            options.timeout = 5ms;
            options.cache_size = random() % 4;
            options.max_queries = 1 + random() % 5;
            options.resolution_delay = std::chrono::milliseconds(random() % 3);
            options.negative_time = 1ms;
            options.max_time_to_live = 2ms;
            auto names = std::make_unique<resolver>(options);
            std::vector<weir::handle<void>> all;
            for (int index = 0; index < 120; ++index) {
                ++began;
                const std::string name = std::to_string(random() % 12) + ".example";
                all.push_back(weir::spawn(
                    [](resolver& from, std::string host, unsigned luck) -> weir::task<> {
                        co_await weir::sleep(std::chrono::microseconds(luck % 2000));
                        auto work = weir::timeout(std::chrono::microseconds(luck % 7000),
                                                  from.resolve(host, 1));
                        const auto result = co_await weir::settle(std::move(work));
                        if (result.has_value()) {
                            EXPECT_FALSE(result.value().empty());
                        }
                    },
                    std::ref(*names), name, static_cast<unsigned>(random())));
            }
            for (int times = 0; times < 40; ++times) {
                all[random() % all.size()].cancel();
                co_await weir::sleep(std::chrono::microseconds(random() % 100));
            }
            if (random() % 2 == 0) {
                co_await weir::sleep(2ms);  // all have sent their queries by now
                names.reset();
            }
            for (const auto& each : all) {
                const auto result = co_await weir::settle(each);
                EXPECT_FALSE(result.has_error());
                ++ended;
            }
        }
        EXPECT_EQ(ended, began);
    };
    co_await with_server(handler, body);
}

// No descriptor is left for a socket: an error at once, and all is well when there are some again.
// Not with the sanitizers of memory: they open pipes to look at it, and see errors where they
// cannot.
#if !defined(__SANITIZE_ADDRESS__)
WEIR_IO_TEST(Hostile, OutOfDescriptors) {
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver names(alone(where));
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit none = before;
        none.rlim_cur = 3;
        ::setrlimit(RLIMIT_NOFILE, &none);
        const auto begin = weir::now();
        const auto refused = co_await weir::settle(names.resolve("a.example"));
        ::setrlimit(RLIMIT_NOFILE, &before);
        EXPECT_TRUE(refused.has_error());
        EXPECT_LT(weir::now() - begin, 4s);
        const auto found = co_await names.resolve("a.example");
        EXPECT_EQ(found.size(), 2u);
    };
    co_await with_server(answer_all, body);
}
#endif

// A loop ends while questions are under way; the next one starts anew.
TEST(Hostile, OneResolverOnSeveralLoopsInTurn) {
    fake_server server([](const dns_question& question) -> std::vector<packet> {
        return question.name == "good.example" ? answer_all(question) : std::vector<packet>();
    });
    const weir::io::address where = server.address();
    resolver names(alone(where));
    for (int round = 0; round < 3; ++round) {
        weir::run([](fake_server& running, resolver& shared) -> weir::task<> {
            const auto serving = weir::spawn(running.serve_udp());
            WEIR_EXPECT_TIMEOUT(weir::timeout(1ms, shared.resolve("mute.example")));
            shared.clear_cache();
            const auto found = co_await shared.resolve("good.example");
            EXPECT_EQ(found.size(), 2u);
            EXPECT_EQ(shared.stats().running, 1u);
            const auto local = co_await weir::dns::resolve("localhost", "http");
            EXPECT_EQ(local.at(0).port(), 80);
            EXPECT_EQ(weir::dns::loop_resolver().stats().running, 0u);
        }(server, names));
        EXPECT_EQ(names.stats().running, 0u);
    }
    EXPECT_EQ(server.queries("mute.example", type_a), 3);
}

}  // namespace
