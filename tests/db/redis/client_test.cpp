// SPDX-License-Identifier: MIT
// The client against a real Redis: answers, order, loss of the connection, stops.

#include <support/peers/redis.hpp>

#include <weir/cancel.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/group.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <csignal>
#include <random>

namespace {

using namespace std::chrono_literals;
using weir::task;
namespace redis = weir::redis;
using redis_test::redis_server;
using redis_test::shared_server;

WEIR_IO_TEST(Client, BatchesAndScripts) {
    redis::client store({.port = shared_server().port(), .database = 3});
    co_await store.command("FLUSHDB");
    redis::batch moves;
    moves.add("MULTI").add("SET", "a", 1).add("LPUSH", "a", "x").add("INCR", "a").add("EXEC");
    const std::vector<redis::value> answers = co_await store.send(moves);
    WEIR_ASSERT_EQ(answers.size(), 5U);
    EXPECT_EQ(answers[4][0].text(), "OK");
    EXPECT_TRUE(answers[4][1].is_error());
    EXPECT_EQ(answers[4][2].number(), 2);
    const redis::script adds("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    for (int i = 1; i <= 3; ++i) {
        const std::vector<std::string> keys = {"a"};
        const std::vector<std::string> ten = {"10"};
        const redis::value sum = co_await store.run(adds, keys, ten);
        EXPECT_EQ(sum.number(), 2 + 10 * i);
        if (i == 2) {
            co_await store.command("SCRIPT", "FLUSH");
        }
    }
    const redis::value nested =
        co_await store.command("EVAL", "return {1, {2, {'three', {}}}, 'x'}", 0);
    EXPECT_EQ(nested[1][1][0].text(), "three");
    EXPECT_EQ(nested[1][1][1].size(), 0U);
    EXPECT_EQ(nested[2].text(), "x");
}

// A late answer would go to the next caller.
WEIR_IO_TEST(Client, NothingIsSentThatIsNotAnsweredOnce) {
    redis::client store({.port = shared_server().port()});
    const auto say = [&](const auto&... words) { static_cast<void>(store.command(words...)); };
    EXPECT_THROW(say("SUBSCRIBE", "news"), weir::invalid_argument);
    EXPECT_THROW(say("pSubscribe", "n*"), weir::invalid_argument);
    EXPECT_THROW(say(std::string("monitor")), weir::invalid_argument);
    EXPECT_THROW(say("HELLO", 3), weir::invalid_argument);
    EXPECT_THROW(say("client", "reply", "off"), weir::invalid_argument);
    const std::vector<std::string> words = {"UNSUBSCRIBE", "a", "b"};
    EXPECT_THROW(static_cast<void>(store.command_of(words)), weir::invalid_argument);
    redis::batch several;
    several.add("PING");
    EXPECT_THROW(several.add("CLIENT", "REPLY", "SKIP"), weir::invalid_argument);
    several.add("CLIENT", "GETNAME").add("PUBLISH", "news", 1);
    const auto answers = co_await store.send(several);
    EXPECT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0].text(), "PONG");
}

WEIR_IO_TEST(Client, ManyTasksShareOneConnection) {
    redis::client store({.port = shared_server().port()});
    co_await store.command("FLUSHALL");
    std::mt19937 random(3);
    auto asks = [&](int number) -> task<> {
        for (int i = 0; i < 20; ++i) {
            const std::string mine = std::to_string(number) + ":" + std::to_string(i);
            if (random() % 4 == 0) {
                // Stopped at some moment: the answers of others must not move up.
                weir::cancel_scope limit(std::chrono::microseconds(random() % 500));
                co_await limit.run(store.command("ECHO", "nobody waits for this"));
            }
            const redis::value same = co_await store.command("ECHO", mine);
            EXPECT_EQ(same.text(), mine);
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 64; ++i) {
            group.spawn(asks(i));
        }
        co_return;
    };
    co_await weir::with_group(all);
    EXPECT_EQ(store.stats().connections, 1U);
    EXPECT_EQ(store.stats().pending, 0U);
    EXPECT_LT(store.stats().writes, store.stats().commands / 4);
}

WEIR_IO_TEST(Client, PasswordsUsersAndDatabases) {
    redis_server guarded({"--requirepass", "secret"});
    redis::client knows({.port = guarded.port(), .password = "secret", .database = 2});
    co_await knows.set("a", "b");
    redis::client named({.port = guarded.port(), .user = "default", .password = "secret"});
    const auto elsewhere = co_await named.get("a");
    EXPECT_EQ(elsewhere, std::nullopt);
    redis::client guesses({.port = guarded.port(), .password = "guess"});
    try {
        co_await guesses.get("a");
        ADD_FAILURE() << "the password is wrong";
    } catch (const redis::connection_error& error) {
        const std::string words = error.what();
        EXPECT_NE(words.find("WRONGPASS"), std::string::npos) << words;
        EXPECT_EQ(words.find("guess"), std::string::npos) << words;
    }
}

WEIR_IO_TEST(Client, ComesBackAfterARestart) {
    redis_server server;
    redis::client store({.port = server.port()});
    co_await store.set("a", "1");
    server.stop();
    const auto away = co_await weir::settle(store.get("a"));
    EXPECT_TRUE(away.has_error());
    const auto still = co_await weir::settle(store.get("a"));
    EXPECT_TRUE(still.has_error());
    server.start();
    const auto empty = co_await store.get("a");
    EXPECT_EQ(empty, std::nullopt);
    EXPECT_EQ(store.stats().connections, 2U);
}

WEIR_IO_TEST(Client, AServerThatHangsIsGivenUp) {
    redis_server server;
    redis::client store({.port = server.port(), .response_timeout = 100ms});
    co_await store.set("a", "1");
    server.signal(SIGSTOP);
    try {
        co_await store.get("a");
        ADD_FAILURE() << "nobody answers";
    } catch (const redis::connection_error& error) {
        EXPECT_EQ(error.advice(), weir::db::retry_advice::if_harmless);
        EXPECT_NE(std::string(error.what()).find("response_timeout"), std::string::npos);
    }
    server.signal(SIGCONT);
    const auto back = co_await store.get("a");
    EXPECT_EQ(back, "1");
}

// What is no Redis, or a Redis that has gone mad.
WEIR_IO_TEST(Client, HostileAnswersAreRefused) {
    const std::vector<std::string> attacks = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "*2000000000\r\n",
        "*-7\r\n",
        "$99999999999999999999\r\n",
        ":12\r\n:13\r\n",
        "+OK",
        "",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        "$2000\r\n" + std::string(3000, 'x'),
    };
    for (const std::string& each : attacks) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        auto answers = [&]() -> task<> {
            weir::io::socket peer = co_await listener.accept();
            char buffer[100];
            co_await peer.read(buffer);
            co_await peer.write(each);
            co_await peer.close_write();
            co_await peer.read(buffer);
        };
        auto answering = weir::spawn(answers());
        {
            redis::client store({.port = listener.local_address().port(),
                                 .response_timeout = 200ms,
                                 .max_reply_bytes = 1000});
            const auto first = co_await weir::settle(store.get("a"));
            if (each != ":12\r\n:13\r\n") {
                EXPECT_TRUE(first.has_error()) << each.substr(0, 40);
            }
        }
        answering.cancel();
        (void)co_await weir::settle(answering.wait());
    }
}

// Cut at random, through a proxy; no task gets the answer of another.
WEIR_IO_TEST(Client, CutsLoseNothingButWhatWasUnderWay) {
    redis::client direct({.port = shared_server().port()});
    co_await direct.command("FLUSHALL");
    std::mt19937 random(11);
    int done = 0;
    int lost = 0;
    for (int round = 0; round < 15; ++round) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        const std::uint16_t port = listener.local_address().port();
        // Forwards so many bytes, then cuts.
        auto forward = [&](weir::io::socket from, weir::io::socket to) -> task<> {
            auto half = [&](weir::io::socket& in, weir::io::socket& out, int most) -> task<> {
                char buffer[256];
                while (most > 0) {
                    const std::size_t count = co_await in.read(buffer);
                    if (count == 0) {
                        break;
                    }
                    most -= static_cast<int>(count);
                    co_await out.write(weir::io::bytes(buffer).first(count));
                }
                in.close();
                out.close();
            };
            auto both = [&](weir::task_group& group) -> task<> {
                group.spawn(half(from, to, 1000 + static_cast<int>(random() % 5000)));
                group.spawn(half(to, from, 1000 + static_cast<int>(random() % 5000)));
                co_return;
            };
            (void)co_await weir::settle(weir::with_group(both));
        };
        auto proxies = [&]() -> task<> {
            for (;;) {
                weir::io::socket client = co_await listener.accept();
                weir::io::socket server =
                    co_await weir::io::connect(weir::io::address::loopback(shared_server().port()));
                co_await forward(std::move(client), std::move(server));
            }
        };
        auto proxy = weir::spawn(proxies());
        {
            redis::client store({.port = port, .reconnect_delay = 1ms});
            auto asks = [&](int number) -> task<> {
                for (int i = 0; i < 10; ++i) {
                    const std::string mine = std::to_string(number) + "." + std::to_string(i);
                    const auto reply = co_await weir::settle(store.command("ECHO", mine));
                    if (reply.has_error()) {
                        ++lost;
                    } else {
                        ++done;
                        EXPECT_EQ(reply.value().text(), mine);
                    }
                }
            };
            auto all = [&](weir::task_group& group) -> task<> {
                for (int i = 0; i < 8; ++i) {
                    group.spawn(asks(i));
                }
                co_return;
            };
            co_await weir::with_group(all);
            EXPECT_EQ(store.stats().pending, 0U);
        }
        proxy.cancel();
        (void)co_await weir::settle(proxy.wait());
    }
    EXPECT_GT(done, 100);
    EXPECT_GT(lost, 0);
}

WEIR_IO_TEST(Client, AClientThatGoesTellsWhoWaits) {
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    std::optional<redis::client> store;
    store.emplace(redis::client_options{.port = listener.local_address().port()});
    int refused = 0;
    auto asks = [&]() -> task<> {
        const auto ended = co_await weir::settle(store->command("PING"));
        refused += ended.has_error() ? 1 : 0;
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 10; ++i) {
            group.spawn(asks());
        }
        co_await weir::sleep(10ms);
        store.reset();
    };
    co_await weir::with_group(all);
    EXPECT_EQ(refused, 10);
    EXPECT_THROW(redis::client({.host = ""}), weir::invalid_argument);
    EXPECT_THROW(redis::client({.database = -1}), weir::invalid_argument);
    EXPECT_THROW(redis::client({.response_timeout = 0s}), weir::invalid_argument);
}

}  // namespace
