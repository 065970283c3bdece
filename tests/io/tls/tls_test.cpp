// SPDX-License-Identifier: MIT
// The contract of a byte stream, over transports that cut everything into pieces; ends and
// cut-offs; stops at any point.

#include "support.hpp"
#include "support/schedules.hpp"

#include <weir/testing/io/simulated_network.hpp>

#include <openssl/err.h>

#include <array>

namespace {

using namespace tls_tests;

std::string noise(std::mt19937& random, std::size_t size) {
    std::string made(size, '\0');
    for (char& each : made) {
        each = static_cast<char>(random());
    }
    return made;
}

// Writes in random portions, some of them in parts.
template <class Stream>
task<> write_in_portions(Stream& to, const std::string& text, unsigned seed) {
    std::mt19937 random(seed);
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t most = random() % 4 == 0 ? 100'000 : 300;
        const std::size_t count = std::min<std::size_t>(random() % most, text.size() - at);
        const io::const_bytes portion = io::const_bytes(text).after(at).first(count);
        if (random() % 2 == 0) {
            co_await to.write(portion);
        } else {
            const std::size_t first = random() % (count + 1);
            const std::size_t second = random() % (count - first + 1);
            const std::array<io::const_bytes, 4> parts{portion.first(first), io::const_bytes(),
                                                       portion.after(first).first(second),
                                                       portion.after(first + second)};
            co_await to.write(parts);
        }
        at += count;
    }
    co_await to.close_write();
}

// Both directions at once, with transports that split and delay: all data arrives unchanged.
TEST(Tls, CarriesBothDirectionsInWhateverPieces) {
    schedules::expect_under(40, []() -> task<> {
        const auto seed = static_cast<unsigned>(weir::testing::current_seed() + 1);
        std::mt19937 random(seed);
        const manner of_client{.most_read = 1 + random() % 3000,
                               .most_written = 1 + random() % 9000,
                               .capacity = 1 + random() % 20'000,
                               .seed = seed};
        const manner of_server{.most_read = 1 + random() % 30'000,
                               .most_written = 1 + random() % 30'000,
                               .capacity = 1000 + random() % 70'000,  // room for tickets
                               .seed = seed + 1};
        both_streams made = co_await shake_hands(of_client, of_server);
        const std::string up = noise(random, random() % 60'000);
        const std::string down = noise(random, random() % 120'000);
        auto sending = weir::spawn(write_in_portions(made.client, up, seed));
        auto answering = weir::spawn(write_in_portions(made.server, down, seed + 1));
        auto receiving = weir::spawn(read_all(made.server, 1 + random() % 50'000));
        const std::string got_down = co_await read_all(made.client, 1 + random() % 5000);
        const std::string got_up = co_await receiving;
        co_await sending;
        co_await answering;
        EXPECT_TRUE(got_up == up);
        EXPECT_TRUE(got_down == down);
        const std::size_t still_the_end = co_await made.client.read(io::bytes());
        EXPECT_EQ(still_the_end, 0u);
        const std::string nothing_more = co_await read_all(made.server);
        EXPECT_EQ(nothing_more, "");
    });
}

WEIR_TEST(Tls, RunsOverTheSimulatedNetwork) {
    weir::testing::simulated_network net({.link = {.latency = 20ms}});
    auto [near, far] = net.pair();
    const auto begin = weir::now();
    auto accepted = weir::spawn(tls::accept(std::move(far), ids().server));
    auto client = co_await tls::connect(std::move(near), ids().client, "good.example");
    EXPECT_EQ(weir::now() - begin, 40ms);  // one round trip
    auto server = co_await std::move(accepted);
    co_await client.write("over the wire");
    co_await client.close_write();
    const std::string text = co_await read_all(server);
    EXPECT_EQ(text, "over the wire");

    net.reset("client", "server");
    WEIR_EXPECT_THROW(read_all(client), weir::io_error);
}

// OpenSSL keeps a queue of errors for each thread, and takes what it finds there for its own.
WEIR_TEST(Tls, ErrorsThatOthersLeftInTheQueueOfOpenSslDoNoHarm) {
    both_streams made = co_await shake_hands();
    std::array<char, 10> buffer;
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    auto reading = weir::spawn(made.client.read(buffer));
    co_await weir::sleep(1s);
    EXPECT_FALSE(reading.done());
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    co_await made.server.write("hello");
    const std::size_t count = co_await reading;
    EXPECT_EQ(std::string_view(buffer.data(), count), "hello");
    ERR_clear_error();
}

WEIR_TEST(Tls, PutsSmallPartsIntoOneRecord) {
    auto sent = std::make_shared<std::size_t>(0);
    two_ends counted = connected({.alter = [sent](std::string& text) { *sent += text.size(); }});
    both_streams made = co_await shake_hands(ids().client, ids().server, std::move(counted));
    *sent = 0;
    const std::vector<io::const_bytes> parts(100, "ten bytes.");
    co_await made.client.write(parts);
    EXPECT_GE(*sent, 1000u);
    EXPECT_LE(*sent, 1064u);
    std::string all(2000, '\0');
    const std::size_t count = co_await made.server.read(all);
    EXPECT_EQ(count, 1000u);

    *sent = 0;
    co_await made.client.write("");
    co_await made.client.write(std::span<const io::const_bytes>());
    EXPECT_EQ(*sent, 0u);
}

WEIR_TEST(Tls, EndsInOneDirection) {
    both_streams made = co_await shake_hands();
    co_await made.client.write("request");
    co_await made.client.close_write();
    co_await made.client.close_write();  // has ended already
    const std::string request = co_await read_all(made.server);
    EXPECT_EQ(request, "request");
    std::array<char, 10> buffer;
    const std::size_t again = co_await made.server.read(buffer);
    EXPECT_EQ(again, 0u);
    WEIR_EXPECT_THROW_WITH(made.client.write("more"), weir::io_error, "write after close_write");

    co_await made.server.write("response");
    const std::size_t count = co_await made.client.read(buffer);
    EXPECT_EQ(count, 8u);
    co_await made.server.close_write();
    const std::size_t end = co_await made.client.read(buffer);
    EXPECT_EQ(end, 0u);
}

WEIR_TEST(Tls, TellsATruncationFromAnEnd) {
    for (const bool tolerant : {false, true}) {
        both_streams made = co_await shake_hands(ids().client, ids().server, connected(),
                                                 "good.example", {.tolerate_truncation = tolerant});
        co_await made.server.write("half of it");
        made.server.close();
        std::array<char, 100> buffer;
        const std::size_t count = co_await made.client.read(buffer);
        EXPECT_EQ(count, 10u);
        for (int i = 0; i < 2; ++i) {
            if (tolerant) {
                const std::size_t end = co_await made.client.read(buffer);
                EXPECT_EQ(end, 0u);
                continue;
            }
            const auto how = co_await weir::settle(made.client.read(buffer));
            EXPECT_SAYS(text_of_outcome(how),
                        "truncated: TLS connection with good.example: cut off");
        }
    }
    // The peer ends its own direction; the other one stays usable.
    both_streams made = co_await shake_hands();
    co_await made.server.transport().close_write();
    WEIR_EXPECT_THROW_WITH(read_all(made.client), tls_error, "cut off");
    co_await made.client.write("still");
    std::array<char, 100> buffer;
    const std::size_t count = co_await made.server.read(buffer);
    EXPECT_EQ(count, 5u);
}

WEIR_TEST(Tls, RefusesTwoReadersOrTwoWriters) {
    both_streams made = co_await shake_hands({.capacity = 1000});
    std::array<char, 10> one;
    std::array<char, 10> two;
    auto reading = weir::spawn(made.client.read(one));
    const std::string large(100'000, 'x');
    auto writing = weir::spawn(made.client.write(large));
    co_await weir::testing::settle_all();
    WEIR_EXPECT_THROW_WITH(made.client.read(two), weir::invalid_state, "two tasks read at once");
    WEIR_EXPECT_THROW_WITH(made.client.write("x"), weir::invalid_state, "two tasks write at once");
    WEIR_EXPECT_THROW_WITH(made.client.close_write(), weir::invalid_state, "two tasks write");
    auto echoing = weir::spawn(made.server.write("hello"));
    const std::size_t count = co_await reading;
    EXPECT_EQ(count, 5u);
    auto draining = weir::spawn(read_all(made.server));
    co_await writing;
    co_await made.client.close_write();
    const std::string all = co_await draining;
    EXPECT_EQ(all.size(), large.size());
    co_await echoing;
}

WEIR_TEST(Tls, CloseEndsWhatOthersDo) {
    for (const bool destroyed : {false, true}) {
        both_streams made = co_await shake_hands({.capacity = 1000});
        std::optional<secure_stream> client(std::move(made.client));
        std::array<char, 10> buffer;
        const std::string large(100'000, 'x');
        auto reading = weir::spawn(client->read(buffer));
        auto writing = weir::spawn(client->write(large));
        co_await weir::testing::settle_all();
        if (destroyed) {
            client.reset();
        } else {
            client->close();
        }
        WEIR_EXPECT_THROW(reading, weir::io_error);
        WEIR_EXPECT_THROW(writing, weir::io_error);
        if (!destroyed) {
            WEIR_EXPECT_THROW_WITH(client->read(buffer), weir::io_error, "was closed");
            WEIR_EXPECT_THROW_WITH(client->write("x"), weir::io_error, "was closed");
        }
        WEIR_EXPECT_THROW_WITH(read_all(made.server), tls_error, "cut off");
    }
}

// ---- stops

// A reader that gives up again and again gets every byte all the same.
TEST(Tls, AStoppedReadLosesNothing) {
    schedules::expect_under(150, []() -> task<> {
        const auto seed = static_cast<unsigned>(weir::testing::current_seed() + 1);
        std::mt19937 random(seed);
        both_streams made = co_await shake_hands({.most_read = 700, .seed = seed},
                                                 {.most_written = 700, .seed = seed + 1});
        const std::string text = noise(random, 20'000);
        auto send = [&]() -> task<> {
            std::size_t at = 0;
            while (at < text.size()) {
                const std::size_t count =
                    std::min<std::size_t>(1 + random() % 3000, text.size() - at);
                co_await made.server.write(io::const_bytes(text).after(at).first(count));
                at += count;
                co_await weir::sleep(std::chrono::microseconds(random() % 100));
            }
            co_await made.server.close_write();
        };
        auto sending = weir::spawn(send);
        std::string got;
        std::string buffer(5000, '\0');
        int stopped = 0;
        for (;;) {
            const auto limit = std::chrono::microseconds(random() % 60);
            std::size_t count = 0;
            if (random() % 2 == 0) {
                const auto how =
                    co_await weir::settle(weir::timeout(limit, made.client.read(buffer)));
                if (!how.has_value()) {
                    ++stopped;
                    continue;
                }
                count = how.value();
            } else {  // stopped from elsewhere, after some turns of the loop
                auto reading = weir::spawn(made.client.read(buffer));
                for (auto turns = random() % 6; turns > 0; --turns) {
                    co_await weir::yield();
                }
                reading.cancel();
                const auto how = co_await weir::settle(std::move(reading));
                if (!how.has_value()) {
                    ++stopped;
                    co_await weir::sleep(limit);
                    continue;
                }
                count = how.value();
            }
            if (count == 0) {
                break;
            }
            got.append(buffer, 0, count);
        }
        co_await sending;
        EXPECT_TRUE(got == text) << got.size() << " of " << text.size();
        EXPECT_GT(stopped, 0);
    });
}

// A stopped writer cannot continue; the peer has decrypted a prefix; reading works.
TEST(Tls, AStoppedWriteEndsWriting) {
    schedules::expect_under(150, []() -> task<> {
        const auto seed = static_cast<unsigned>(weir::testing::current_seed() + 1);
        std::mt19937 random(seed);
        both_streams made =
            co_await shake_hands({.most_written = 5000, .capacity = 3000, .seed = seed},
                                 {.most_read = 900, .seed = seed});
        const std::string text = noise(random, 100'000);
        std::string got;
        auto receive = [&]() -> task<std::string> {
            std::string buffer(5000, '\0');
            try {
                for (;;) {
                    const std::size_t count = co_await made.server.read(buffer);
                    if (count == 0) {
                        co_return "end";
                    }
                    got.append(buffer, 0, count);
                }
            } catch (const tls_error& error) {
                co_return weir::to_string(error.kind());
            }
        };
        auto receiving = weir::spawn(receive);
        auto writing = weir::spawn(made.client.write(text));
        for (auto turns = random() % 100; turns > 0; --turns) {
            co_await weir::yield();
        }
        writing.cancel();
        const auto how = co_await weir::settle(std::move(writing));
        if (how.is_cancelled()) {
            const auto more = co_await weir::settle(made.client.write("more"));
            if (!more.has_value()) {  // else it had not begun
                EXPECT_SAYS(text_of_outcome(more), "an earlier write did not finish");
                WEIR_EXPECT_THROW(made.client.close_write(), weir::io_error);
            }
            co_await made.server.write("can you hear me");
            std::array<char, 100> buffer;
            const std::size_t count = co_await made.client.read(buffer);
            EXPECT_EQ(count, 15u);
            made.client.close();
            const std::string ended = co_await receiving;
            EXPECT_EQ(ended, "truncated");
            if (more.has_value()) {
                EXPECT_EQ(got, "more");
                co_return;
            }
        } else {
            co_await made.client.close_write();
            const std::string ended = co_await receiving;
            EXPECT_EQ(ended, "end");
            EXPECT_EQ(got.size(), text.size());
        }
        EXPECT_TRUE(text.starts_with(got)) << got.size();
    });
}

// One side of a handshake is stopped after any number of steps: the other sees it end.
TEST(Tls, AHandshakeMayBeStoppedAtAnyPoint) {
    int cut_short = 0;
    schedules::expect_under(300, [&cut_short]() -> task<> {
        const auto seed = static_cast<unsigned>(weir::testing::current_seed() + 1);
        std::mt19937 random(seed);
        const manner how{.most_read = 400, .most_written = 400, .capacity = 700, .seed = seed};
        two_ends ends = connected(how, how);
        auto connecting =
            weir::spawn(tls::connect(std::move(ends.client), ids().client, "good.example"));
        auto accepting = weir::spawn(tls::accept(std::move(ends.server), ids().server));
        for (auto turns = random() % 60; turns > 0; --turns) {
            co_await weir::yield();
        }
        const bool stops_client = random() % 2 == 0;
        if (stops_client) {
            connecting.cancel();
        } else {
            accepting.cancel();
        }
        const auto near = co_await weir::settle(std::move(connecting));
        auto far = co_await weir::settle(std::move(accepting));
        if (near.is_cancelled()) {
            ++cut_short;
            if (far.has_value()) {  // its last bytes had left
                secure_stream server = std::move(far).value();
                WEIR_EXPECT_THROW_WITH(read_all(server), tls_error, "cut off");
                co_return;
            }
        }
        // A client may be through while the server's last step is still to come.
        cut_short += far.is_cancelled() ? 1 : 0;
    });
    EXPECT_GT(cut_short, 20);
}

}  // namespace
