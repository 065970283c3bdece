// SPDX-License-Identifier: MIT
// Faults at real sockets: an exchange with each of its accepts, connects, reads and writes failing.

#include <weir/cancel.hpp>
#include <weir/gather.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/read.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/udp.hpp>
#include <weir/io/uring.hpp>
#include <weir/outcome.hpp>
#include <weir/testing/faults.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace {

namespace io = weir::io;
using weir::io_point;
using weir::task;

task<> real_exchange(std::string& got) {
    io::listener listener = io::listen(io::address::loopback(0));
    auto serve = [&]() -> task<> {
        io::socket peer = co_await listener.accept();
        const std::string asked = co_await io::read_all(peer, 1000);
        co_await peer.write("you said " + asked);
    };
    auto ask = [&]() -> task<> {
        io::socket peer = co_await io::connect(listener.local_address());
        co_await peer.write("hello");
        co_await peer.close_write();
        got = co_await io::read_all(peer, 1000);
    };
    co_await weir::gather(serve(), ask());
}

void expect_faults_end(weir::driver_kind driver) {
    std::set<io_point> failed;
    weir::testing::fault_options options;
    options.driver = driver;
    options.most_time = std::chrono::seconds(60);
    const auto found = weir::testing::explore_faults(
        [&]() -> task<> {
            std::string got;
            auto body = [&]() -> task<> { co_await real_exchange(got); };
            const auto how = co_await weir::settle(body());
            const auto fault = weir::testing::injected_fault();
            if (!fault.has_value()) {
                EXPECT_EQ(got, "you said hello");
            } else if (fault->kind == weir::testing::fault_kind::error) {
                EXPECT_FALSE(how.has_value()) << fault->text() << " was not noticed";
                failed.insert(fault->at);
            } else if (fault->at == io_point::read) {
                EXPECT_EQ(got, "you said hello") << "a short read is no error";
            }
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(failed, (std::set<io_point>{io_point::accept, io_point::connect, io_point::read,
                                          io_point::write}));
}

// A datagram that cannot be sent or received is an error of that call; the socket goes on.
void expect_datagram_faults_are_seen(weir::driver_kind driver) {
    std::set<io_point> failed;
    weir::testing::fault_options options;
    options.driver = driver;
    options.most_time = std::chrono::seconds(60);
    const auto found = weir::testing::explore_faults(
        [&]() -> task<> {
            weir::udp::socket server = weir::udp::bind(io::address::loopback(0));
            weir::udp::socket client = weir::udp::bind(io::address::loopback(0));
            std::array<char, 16> buffer{};
            std::size_t got = 0;
            auto ask = [&]() -> task<> {
                co_await client.send_to("hello", server.local_address());
                got = (co_await server.receive_from(buffer)).size;
            };
            auto ended = co_await weir::settle(ask());
            const auto fault = weir::testing::injected_fault();
            if (fault.has_value() && fault->kind == weir::testing::fault_kind::error) {
                EXPECT_FALSE(ended.has_value()) << fault->text() << " was not noticed";
                failed.insert(fault->at);
                ended = co_await weir::settle(ask());
            }
            EXPECT_TRUE(ended.has_value());
            EXPECT_EQ(got, 5u);
        },
        options);
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(failed, (std::set<io_point>{io_point::read, io_point::write}));
}

TEST(SocketFaults, OfDatagramsAreSeenOnEpoll) {
    expect_datagram_faults_are_seen(weir::driver_kind::epoll);
}

TEST(SocketFaults, OfDatagramsAreSeenOnUring) {
    if (io::make_uring_driver() == nullptr) {
        GTEST_SKIP() << "there is no io_uring here";
    }
    expect_datagram_faults_are_seen(weir::driver_kind::uring);
}

TEST(SocketFaults, EndEveryExchangeOnEpoll) {
    expect_faults_end(weir::driver_kind::epoll);
}

TEST(SocketFaults, EndEveryExchangeOnUring) {
    if (io::make_uring_driver() == nullptr) {
        GTEST_SKIP() << "there is no io_uring here";
    }
    expect_faults_end(weir::driver_kind::uring);
}

}  // namespace
