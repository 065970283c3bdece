// SPDX-License-Identifier: MIT
// Datagrams, also under stops at random moments.

#include "io/attack/attack.hpp"

#include <weir/error.hpp>
#include <weir/io/udp.hpp>

#include <array>
#include <set>

namespace attack {
namespace {

using weir::udp::datagram;

WEIR_IO_TEST(Udp, DatagramsComeWholeWithTheirSender) {
    for (const address& at : {address::loopback(0), address::loopback_v6(0)}) {
        weir::udp::socket server = weir::udp::bind(at);
        weir::udp::socket client = weir::udp::bind(at);
        std::array<char, 20> buffer;
        co_await client.send_to("hello", server.local_address());
        const datagram first = co_await server.receive_from(buffer);
        EXPECT_EQ(std::string_view(buffer.data(), first.size), "hello");
        EXPECT_EQ(first.sender, client.local_address());
        EXPECT_FALSE(first.truncated);
        // Empty ones are datagrams too.
        co_await server.send_to({}, first.sender);
        const datagram empty = co_await client.receive_from(buffer);
        EXPECT_EQ(empty.size, 0u);
        EXPECT_EQ(empty.sender, server.local_address());
        // The rest of a large datagram is lost, and the result reports that.
        co_await client.send_to(std::string(100, 'x'), server.local_address());
        const datagram cut = co_await server.receive_from(buffer);
        EXPECT_EQ(cut.size, 20u);
        EXPECT_TRUE(cut.truncated);
        // Two in a row: the first, shorter than the buffer, does not hide the second.
        co_await client.send_to("a", server.local_address());
        co_await client.send_to("b", server.local_address());
        for (const char* expected : {"a", "b"}) {
            const datagram each = co_await server.receive_from(buffer);
            EXPECT_EQ(std::string_view(buffer.data(), each.size), expected);
        }
        auto waiting = weir::spawn([&]() -> weir::task<std::size_t> {
            const datagram late = co_await server.receive_from(buffer);
            co_return late.size;
        });
        co_await weir::sleep(1ms);
        EXPECT_FALSE(waiting.done());
        co_await client.send_to("later", server.local_address());
        const std::size_t size = co_await waiting;
        EXPECT_EQ(size, 5u);
    }
}

WEIR_IO_TEST(Udp, APortAloneIsIpv6AndIpv4) {
    weir::udp::socket both = weir::udp::bind(address::parse(":0"));
    const std::uint16_t port = both.local_address().port();
    weir::udp::socket peer = weir::udp::bind(address::loopback(0));
    co_await peer.send_to("question", address::loopback(port));
    std::string buffer(100, ' ');
    const weir::udp::datagram got = co_await both.receive_from(buffer);
    EXPECT_EQ(got.sender, peer.local_address());
    co_await both.send_to("answer", got.sender);
    const weir::udp::datagram back = co_await peer.receive_from(buffer);
    EXPECT_EQ(buffer.substr(0, back.size), "answer");
    EXPECT_EQ(back.sender, address::loopback(port));
}

WEIR_IO_TEST(Udp, ConnectedSocketsHaveOnePeer) {
    weir::udp::socket server = weir::udp::bind(address::loopback(0));
    weir::udp::socket client = weir::udp::connect(server.local_address());
    weir::udp::socket stranger = weir::udp::bind(address::loopback(0));
    EXPECT_EQ(client.remote_address(), server.local_address());
    co_await client.send("question");
    std::array<char, 20> buffer;
    const datagram asked = co_await server.receive_from(buffer);
    EXPECT_EQ(asked.sender, client.local_address());
    co_await stranger.send_to("lies", client.local_address());
    co_await server.send_to("answer", asked.sender);
    const datagram answer = co_await client.receive(buffer);
    EXPECT_EQ(std::string_view(buffer.data(), answer.size), "answer");
    EXPECT_EQ(answer.sender, server.local_address());
}

WEIR_IO_TEST(Udp, ErrorsNameWhatWasAsked) {
    const weir::udp::socket taken = weir::udp::bind(address::loopback(0));
    const std::string where = taken.local_address().text();
    try {
        weir::udp::bind(taken.local_address());
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "bind to " + where + ": Address already in use");
    }
    address nobody;
    {
        nobody = weir::udp::bind(address::loopback(0)).local_address();
    }
    // The refusal arrives as an ICMP message; a later call reports it, once.
    weir::udp::socket client = weir::udp::connect(nobody);
    std::array<char, 20> buffer;
    co_await client.send("anybody?");
    try {
        co_await client.receive(buffer);
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "receive from " + nobody.text() + ": Connection refused");
    }
    EXPECT_THROW(co_await weir::timeout(2ms, client.receive(buffer)), weir::timed_out);
    weir::udp::socket free = weir::udp::bind(address::loopback(0));
    try {
        co_await free.send_to(std::string(70'000, 'x'), taken.local_address());
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "send to " + where + ": Message too long");
    }
    try {
        co_await free.send("to whom?");
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(),
                  "send at " + free.local_address().text() + ": Destination address required");
    }
    EXPECT_THROW(weir::udp::bind(address::parse("unix:@x")), weir::invalid_argument);
    EXPECT_THROW(weir::udp::bind(address::loopback(0), {.receive_buffer = -1}),
                 weir::invalid_argument);
    weir::udp::socket closed;
    EXPECT_THROW(co_await closed.receive(buffer), weir::io_error);
    EXPECT_THROW(free.join(address::loopback(0)), weir::io_error);
    weir::udp::socket again(free.release());
    EXPECT_FALSE(free.is_open());
    EXPECT_THROW(free.release(), weir::invalid_state);
    EXPECT_THROW(co_await weir::timeout(2ms, again.receive(buffer)), weir::timed_out);
}

// A missing peer is an ordinary event, and so is a datagram that is too large.
WEIR_IO_TEST(Udp, ErrorsAsValues) {
    address closed;
    {
        weir::udp::socket gone = weir::udp::bind(address::loopback(0));
        closed = gone.local_address();
    }
    weir::udp::socket here = weir::udp::connect(closed);
    std::array<char, 20> buffer;
    const weir::io::result<> sent = co_await here.send("ping", weir::io::as_result);
    EXPECT_TRUE(sent.has_value());
    const weir::io::result<datagram> refused = co_await here.receive(buffer, weir::io::as_result);
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    EXPECT_THROW(static_cast<void>(refused.value()), weir::io_error);

    weir::udp::socket server = weir::udp::bind(address::loopback(0));
    weir::udp::socket client = weir::udp::bind(address::loopback(0));
    const std::string large(70'000, 'x');
    const auto too_large =
        co_await client.send_to(large, server.local_address(), weir::io::as_result);
    EXPECT_EQ(too_large.error(), std::errc::message_size);
    const auto fits = co_await client.send_to("hello", server.local_address(), weir::io::as_result);
    EXPECT_TRUE(fits.has_value());
    const auto got = co_await server.receive_from(buffer, weir::io::as_result);
    WEIR_ASSERT_TRUE(got.has_value());
    EXPECT_EQ(std::string_view(buffer.data(), got->size), "hello");
    EXPECT_EQ(got->sender, client.local_address());
}

WEIR_IO_TEST(Udp, OptionsAreSet) {
    const weir::udp::socket plain = weir::udp::bind(address::loopback(0));
    const weir::udp::socket special = weir::udp::bind(
        address::loopback(0), {.broadcast = true, .reuse_address = true, .reuse_port = true});
    for (const int option : {SO_BROADCAST, SO_REUSEADDR, SO_REUSEPORT}) {
        EXPECT_EQ(plain.option(SOL_SOCKET, option), 0) << option;
        EXPECT_EQ(special.option(SOL_SOCKET, option), 1) << option;
    }
    // Another socket shares its port.
    const weir::udp::socket other = weir::udp::bind(special.local_address(), {.reuse_port = true});
    EXPECT_EQ(other.local_address(), special.local_address());
    EXPECT_THROW(weir::udp::bind(plain.local_address(), {.reuse_port = true}), weir::io_error);
    co_return;
}

WEIR_IO_TEST(Udp, Multicast) {
    weir::udp::socket member = weir::udp::bind(address::any(0), {.reuse_address = true});
    const address group = address::parse("239.255.77.77", member.local_address().port());
    weir::udp::socket sender = weir::udp::bind(address::any(0));
    try {
        member.join(group, 1);  // the loopback interface
        sender.set_multicast_loop(true);
        sender.set_multicast_hops(0);
        sender.set_broadcast(true);
        const int is_set = sender.option(SOL_SOCKET, SO_BROADCAST);
        EXPECT_EQ(is_set, 1);
        member.leave(group, 1);
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_device) << error.what();
    }
    co_return;
}

// Several receive at once and are stopped at random: on loopback, with room in the buffers, none is
// lost.
WEIR_IO_TEST(Udp, StoppedReceivesTakeNothing) {
    weir::udp::socket server = weir::udp::bind(address::loopback(0), {.receive_buffer = 400'000});
    weir::udp::socket client = weir::udp::connect(server.local_address());
    std::set<std::string> got;
    const auto receive = [&]() -> weir::task<> {
        lent buffer(50);
        const datagram each = co_await server.receive_from(buffer.all());
        EXPECT_FALSE(each.truncated);
        const bool is_new = got.emplace(buffer.first(each.size)).second;
        EXPECT_TRUE(is_new);
    };
    const auto send = [&](int number) -> weir::task<> {
        lent buffer(8);
        const std::string text = std::to_string(10'000'000 + number);
        std::copy(text.begin(), text.end(), buffer.begin());
        co_await client.send(buffer.all());
    };
    constexpr int count = 500;
    for (int number = 0; number < count; ++number) {
        dice random(static_cast<unsigned>(number));
        auto sending = weir::spawn(send(number));
        auto first = weir::spawn(receive());
        auto second = weir::spawn(receive());
        co_await disturb(first, random, false);
        co_await disturb(second, random, false);
        co_await sending;
    }
    while (got.size() < count) {
        co_await weir::timeout(5s, receive());
    }
    co_await expect_no_damage(dice(0));
    // Closed and destroyed while tasks wait.
    for (unsigned seed = 0; seed < 100; ++seed) {
        dice random(seed);
        auto shared = std::make_unique<weir::udp::socket>(weir::udp::bind(address::loopback(0)));
        int closed = 0;
        const auto wait = [&]() -> weir::task<> {
            try {
                lent buffer(50);
                co_await shared->receive_from(buffer.all());
            } catch (const weir::io_error& error) {
                EXPECT_EQ(error.code(), std::errc::operation_canceled) << error.what();
                ++closed;
            }
        };
        auto first = weir::spawn(wait());
        auto second = weir::spawn(wait());
        co_await weir::yield();
        co_await pause(random);
        shared = nullptr;
        co_await first;
        co_await second;
        EXPECT_EQ(closed, 2) << random.seed();
    }
    co_await expect_no_damage(dice(0));
}

}  // namespace
}  // namespace attack
