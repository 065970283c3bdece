// SPDX-License-Identifier: MIT
// Connections over simulated networks: between two of ours, and with peers that are slow, silent or
// gone.

#include "support/schedules.hpp"
#include "ws/support.hpp"

#include <stdexcept>

namespace {

using namespace ws_test;
using ws::close_code;

task<> nothing(ws::connection&) {
    co_return;
}

// Until the end, which must be regular.
task<> listen(ws::connection& peer) {
    for (;;) {
        const std::optional<ws::message> came = co_await peer.receive();
        if (!came) {
            co_return;
        }
    }
}

// True at the end.
task<bool> listen_once(ws::connection& peer) {
    const std::optional<ws::message> came = co_await peer.receive();
    co_return !came;
}

task<> wait_for_ever() {
    weir::event never;
    co_await never.wait();
}

WEIR_TEST(Connection, EchoesTextAndBytes) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), echo));
    auto talk = [](ws::connection& peer) -> task<> {
        co_await peer.send("hello");
        co_await peer.send_binary(std::string("\xFF\0", 2));
        co_await peer.send("");
        co_await peer.send(ws::frame::text("shared"));
        auto messages = peer.messages();
        std::optional<ws::message> first = co_await messages.next();
        std::optional<ws::message> second = co_await messages.next();
        std::optional<ws::message> third = co_await messages.next();
        std::optional<ws::message> fourth = co_await messages.next();
        WEIR_ASSERT_TRUE(first && second && third && fourth);
        EXPECT_EQ(first->text(), "hello");
        EXPECT_TRUE(first->is_text());
        EXPECT_EQ(second->text(), std::string_view("\xFF\0", 2));
        EXPECT_TRUE(second->is_binary());
        EXPECT_EQ(third->size(), 0u);
        EXPECT_EQ(fourth->text(), "shared");
        const auto trip = co_await peer.ping();
        EXPECT_EQ(trip, 10ms);
        EXPECT_EQ(peer.stats().round_trip, 10ms);
        EXPECT_EQ(peer.stats().sent, 4u);
        EXPECT_EQ(peer.stats().received, 4u);
    };
    co_await be_client(std::move(near), talk);
    co_await server;
    EXPECT_EQ(net.stats().open, 0u);
    EXPECT_EQ(net.stats().resets, 0u);
}

// The end of a handler is reported to the peer and to the caller of the handler, and to no one
// else.
WEIR_TEST(Connection, TheEndOfTheHandlerIsTheEnd) {
    simulated_network net({.link = {.latency = 5ms}});
    struct row {
        int kind;
        close_code code;
    };
    for (const row each : {row{0, close_code::normal}, row{1, close_code::internal_error},
                           row{2, close_code::going_away}}) {
        auto [near, far] = net.pair();
        auto handler = [&](ws::connection& peer) -> task<> {
            co_await peer.send("hello");
            if (each.kind == 1) {
                throw std::runtime_error("broken");
            }
            if (each.kind == 2) {
                co_await wait_for_ever();
            }
        };
        auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
        auto client = [&](ws::connection& peer) -> task<> {
            const std::optional<ws::message> hello = co_await peer.receive();
            EXPECT_TRUE(hello);
            if (each.kind == 2) {
                server.cancel();
            }
            const auto last = co_await weir::settle(peer.receive());
            if (each.kind == 1) {
                EXPECT_TRUE(last.has_error());
            } else {
                EXPECT_TRUE(last.has_value() && !last.value());
            }
            EXPECT_EQ(peer.code(), each.code);
            EXPECT_FALSE(peer.is_open());
        };
        co_await be_client(std::move(near), client);
        if (each.kind == 1) {
            WEIR_EXPECT_THROW_WITH(server, std::runtime_error, "broken");
        } else if (each.kind == 2) {
            WEIR_EXPECT_CANCELLED(server);
        } else {
            co_await server;
        }
        EXPECT_EQ(net.stats().open, 0u);
    }
}

// A stream that remembers how its writing ended: TLS would say so to the peer.
struct watched_stream {
    simulated_stream inner;
    std::vector<std::string>* notes;
    const char* name;

    auto read(io::bytes into) { return inner.read(into); }
    auto write(io::const_bytes data) { return inner.write(data); }
    auto write(std::span<const io::const_bytes> parts) { return inner.write(parts); }
    auto close_write() {
        notes->push_back(name);
        return inner.close_write();
    }
    void close() noexcept { inner.close(); }
};

WEIR_TEST(Connection, TheServerEndsTheStreamFirst) {
    for (const bool by_server : {false, true}) {
        simulated_network net({.link = {.latency = 5ms}});
        auto [near, far] = net.pair();
        std::vector<std::string> notes;
        watched_stream at_client{std::move(near), &notes, "client"};
        watched_stream at_server{std::move(far), &notes, "server"};
        auto first = weir::spawn(
            ws::serve(io::any_stream(std::move(at_server)), by_server ? nothing : listen));
        auto second = weir::spawn(be_client(std::move(at_client), by_server ? listen : nothing));
        co_await first;
        co_await second;
        EXPECT_EQ(notes, (std::vector<std::string>{"server", "client"}));
        EXPECT_EQ(net.stats().open, 0u);
    }
}

WEIR_TEST(Connection, CodesAndReasonsArrive) {
    simulated_network net({.link = {.latency = 5ms}});
    auto [near, far] = net.pair();
    bool was_told = false;
    auto handler = [&](ws::connection& peer) -> task<> {
        try {
            co_await peer.receive();
        } catch (const ws::closed& end) {
            was_told = true;
            EXPECT_EQ(end.code(), close_code(4001));
            EXPECT_EQ(end.reason(), "enough");
            EXPECT_STREQ(end.what(), "the peer closed the connection: 4001 enough");
            EXPECT_EQ(peer.reason(), "enough");
            throw;
        }
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
    auto client = [](ws::connection& peer) -> task<> {
        EXPECT_THROW(static_cast<void>(peer.close(close_code::none)), weir::invalid_argument);
        EXPECT_THROW(static_cast<void>(peer.close(close_code::normal, std::string(124, 'x'))),
                     weir::invalid_argument);
        EXPECT_THROW(static_cast<void>(peer.send("\xFF")), weir::invalid_argument);
        EXPECT_FALSE(peer.code());
        co_await peer.close(close_code(4001), "enough");
        EXPECT_EQ(peer.code(), close_code(4001));
        WEIR_EXPECT_THROW(peer.send("more"), ws::closed);
        EXPECT_FALSE(peer.try_send("more"));
        EXPECT_EQ(peer.post(ws::frame::text("more")), ws::posted::refused);
        EXPECT_EQ(peer.room().messages, 0u);
        const std::optional<ws::message> none = co_await peer.receive();  // as it should be
        EXPECT_FALSE(none);
        co_await peer.close();
    };
    co_await be_client(std::move(near), client);
    co_await server;
    EXPECT_TRUE(was_told);
}

// A peer that says its last word behind a question still gets an answer.
WEIR_TEST(Connection, TheHandlerMayAnswerWhatCameBeforeTheClose) {
    simulated_network net;
    auto [near, far] = net.pair();
    auto handler = [](ws::connection& peer) -> task<> {
        co_await weir::sleep(10ms);
        const std::optional<ws::message> question = co_await peer.receive();
        co_await weir::sleep(1s);
        co_await peer.send("answer");
        const std::optional<ws::message> none = co_await peer.receive();
        EXPECT_TRUE(question && !none);
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
    const raw question(1, "question");
    const raw bye(8, close_content(1000));
    co_await near.write(bytes_of(question) + bytes_of(bye));
    const std::string came = co_await io::read_all(near, 1000);
    co_await server;
    const std::vector<seen> frames = frames_in(came);
    WEIR_ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].content, "answer");
    EXPECT_EQ(frames[1].code(), 1000u);
}

// ... and one whose handler never listens is answered at once, or when it has had its time.
WEIR_TEST(Connection, ACloseIsAnsweredWithoutTheHandler) {
    simulated_network net;
    for (const bool with_message : {false, true}) {
        auto [near, far] = net.pair();
        const auto began = weir::now();
        auto handler = [&](ws::connection& peer) -> task<> {
            co_await peer.wait_closed();
            EXPECT_EQ(weir::now(), began);
            EXPECT_EQ(peer.code(), close_code::none);
            co_await weir::sleep(20s);
            EXPECT_FALSE(peer.is_open());
        };
        auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
        const raw bye(8);
        const std::string before = with_message ? bytes_of(raw(1, "x")) : "";
        co_await near.write(before + bytes_of(bye));
        const std::string came = co_await io::read_all(near, 1000);
        EXPECT_EQ(weir::now() - began, with_message ? 5s : 0s);
        EXPECT_EQ(came, std::string("\x88\0", 2));
        near.close();
        co_await server;
    }
}

WEIR_TEST(Connection, SilentPeersAreGivenUp) {
    simulated_network net({.link = {.latency = 10ms}});
    auto [near, far] = net.pair();
    const auto began = weir::now();
    auto handler = [&](ws::connection& peer) -> task<> {
        WEIR_EXPECT_THROW_WITH(peer.receive(), ws::closed, "did not answer a ping");
        EXPECT_EQ(weir::now() - began, 40s);
        EXPECT_EQ(peer.code(), close_code::abnormal);
        WEIR_EXPECT_THROW(peer.send("x"), ws::closed);
    };
    co_await ws::serve(io::any_stream(std::move(far)), handler);
    EXPECT_EQ(weir::now() - began, 40s);
    std::array<char, 100> buffer;
    const std::size_t count = co_await near.read(buffer);
    EXPECT_EQ(frames_in(std::string_view(buffer.data(), count)).at(0).kind, 9u);
}

WEIR_TEST(Connection, PeersThatAnswerStay) {
    simulated_network net({.link = {.latency = 100ms}});
    auto [near, far] = net.pair();
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), listen));
    auto client = [](ws::connection& peer) -> task<> {
        co_await weir::sleep(1h);
        EXPECT_TRUE(peer.is_open());
        EXPECT_EQ(peer.stats().round_trip, 200ms);
    };
    co_await be_client(std::move(near), client);
    co_await server;
}

// Anything that comes is an answer: here a long message that takes a minute, with the pong behind
// it.
WEIR_TEST(Connection, ALongMessageIsALifeSign) {
    simulated_network net({.link = {.latency = 10ms, .bandwidth = 1000}});
    auto [near, far] = net.pair();
    std::size_t size = 0;
    auto handler = [&](ws::connection& peer) -> task<> {
        const std::optional<ws::message> came = co_await peer.receive();
        size = came->size();
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
    auto client = [](ws::connection& peer) -> task<> {
        co_await peer.send_binary(std::string(60'000, 'x'));
        co_await listen(peer);
    };
    co_await be_client(std::move(near), client, {.ping_interval = 0s});
    co_await server;
    EXPECT_EQ(size, 60'000u);
}

// A handler that takes nothing stops the reading; the peer is not to blame for the silence.
WEIR_TEST(Connection, AFullInboxHoldsThePeerBack) {
    simulated_network net;
    auto [near, far] = net.pair();
    std::size_t received = 0;
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await weir::sleep(10min);
        EXPECT_TRUE(peer.is_open());
        EXPECT_EQ(peer.stats().received, 4u);
        for (; received < 1000; ++received) {
            const std::optional<ws::message> came = co_await peer.receive();
            WEIR_ASSERT_TRUE(came);
            EXPECT_EQ(came->text(), std::to_string(received) + std::string(200, '.'));
        }
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(far)), handler, {.inbox_messages = 4}));
    auto client = [](ws::connection& peer) -> task<> {
        for (int number = 0; number < 1000; ++number) {
            co_await peer.send(std::to_string(number) + std::string(200, '.'));
        }
        co_await listen(peer);
    };
    co_await be_client(std::move(near), client,
                       {.outbox_bytes = 1000, .ping_interval = 0s, .write_timeout = 1h});
    co_await server;
    EXPECT_EQ(received, 1000u);
}

WEIR_TEST(Connection, PeersThatTakeNothingAreGivenUp) {
    simulated_network net;
    auto [near, far] = net.pair();
    const auto began = weir::now();
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await weir::sleep(3s);
        co_await peer.send_binary(std::string(500'000, 'x'));
        WEIR_EXPECT_THROW_WITH(peer.receive(), ws::closed, "write_timeout");
        EXPECT_EQ(weir::now() - began, 23s);
        EXPECT_EQ(peer.stats().sent, 0u);
    };
    co_await ws::serve(io::any_stream(std::move(far)), handler, {.ping_interval = 0s});
    // What was taken slowly is another matter: 64 KiB in 20 s are enough.
    auto [slow, other] = net.pair();
    auto sender = [](ws::connection& peer) -> task<> {
        co_await peer.send_binary(std::string(500'000, 'x'));
        co_await listen(peer);
    };
    auto server =
        weir::spawn(ws::serve(io::any_stream(std::move(other)), sender, {.ping_interval = 0s}));
    std::string all;
    std::array<char, 10'000> buffer;
    while (all.size() < 500'010) {
        co_await weir::sleep(1s);
        const std::size_t count = co_await slow.read(buffer);
        all.append(buffer.data(), count);
    }
    co_await slow.write(bytes_of(raw(8)));
    const std::string rest = co_await io::read_all(slow, 1000);
    EXPECT_EQ(frames_in(all + rest).size(), 2u);
    slow.close();
    co_await server;
}

WEIR_TEST(Connection, APeerThatDoesNotCloseIsGivenUp) {
    simulated_network net;
    auto [near, far] = net.pair();
    const auto began = weir::now();
    auto handler = [&](ws::connection& peer) -> task<> {
        co_await peer.close();
        EXPECT_EQ(weir::now() - began, 5s);
        EXPECT_EQ(peer.code(), close_code::abnormal);
        const std::optional<ws::message> none = co_await peer.receive();  // we wanted it so
        EXPECT_FALSE(none);
    };
    co_await ws::serve(io::any_stream(std::move(far)), handler);
    EXPECT_EQ(weir::now() - began, 5s);
    // One that answers but keeps its connection is no better.
    auto [polite, other] = net.pair();
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(other)), nothing));
    co_await polite.write(bytes_of(raw(8)));
    co_await server;
    EXPECT_EQ(weir::now() - began, 10s);
}

WEIR_TEST(Connection, LostConnectionsSaySo) {
    simulated_network net({.link = {.latency = 1ms}});
    for (const int variant : {0, 1, 2}) {
        auto [near, far] = net.pair();
        auto handler = [&](ws::connection& peer) -> task<> {
            const std::optional<ws::message> first = co_await peer.receive();
            EXPECT_TRUE(first);
            if (variant == 2) {
                co_await weir::sleep(1s);
                for (int count = 0; count < 3; ++count) {
                    const auto sent = co_await weir::settle(peer.send("into the void"));
                    EXPECT_TRUE(sent.has_value() || sent.has_error());
                    co_await weir::sleep(1s);
                }
            }
            const auto last = co_await weir::settle(peer.receive());
            EXPECT_TRUE(last.has_error());
            EXPECT_EQ(peer.code(), close_code::abnormal);
            // Thrown by one task or by several, it is no error of the server.
            auto several = [&](weir::task_group& group) -> task<> {
                group.spawn(listen, std::ref(peer));
                co_await listen(peer);
            };
            co_await weir::with_group(several);
        };
        auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
        co_await near.write(bytes_of(raw(1, "x")));
        co_await weir::sleep(100ms);
        if (variant == 0) {
            near.close();
        } else if (variant == 1) {
            near.reset();
        } else {
            net.reset("client", "server");
        }
        co_await server;
        near.close();
        EXPECT_EQ(net.stats().open, 0u);
    }
}

// Many pings do not pile up: what a peer does not read is answered once.
WEIR_TEST(Connection, PingFloodsAreAnsweredInBounds) {
    simulated_network net;
    auto [near, far] = net.pair();
    std::size_t most = 0;
    auto handler = [&](ws::connection& peer) -> task<> {
        while (peer.is_open()) {
            most = std::max(most, peer.stats().queued_bytes);
            const bool ended = co_await weir::timeout_or(100ms, listen_once(peer), false);
            if (ended) {
                co_return;
            }
        }
    };
    auto server = weir::spawn(ws::serve(io::any_stream(std::move(far)), handler));
    std::string flood;
    for (int count = 0; count < 1000; ++count) {
        flood += bytes_of(raw(9, std::string(125, 'p')));
    }
    for (int count = 0; count < 5; ++count) {
        co_await near.write(flood);
        co_await weir::sleep(1s);
    }
    co_await near.write(bytes_of(raw(8)));
    const std::string came = co_await io::read_all(near, 10 << 20);
    EXPECT_EQ(frames_in(came).back().kind, 8u);
    co_await server;
    EXPECT_LT(most, 1000u);
}

}  // namespace
