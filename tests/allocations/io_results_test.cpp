// SPDX-License-Identifier: MIT
// An error that is a value allocates nothing; neither does a vectored read.

#include "allocations/counting.hpp"

#include <weir/io/socket.hpp>
#include <weir/io/uring.hpp>

#include <sys/socket.h>

#include <array>

namespace {

using counting::in_steady_state;
using weir::task;
namespace io = weir::io;

std::pair<io::socket, io::socket> socket_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {io::socket(ends[0]), io::socket(ends[1])};
}

void expect_no_allocations(weir::driver_kind driver) {
    auto [near, far] = socket_pair();
    auto exchange = [&]() -> task<> {
        std::array<char, 2> head;
        std::array<char, 8> rest;
        const std::array<io::bytes, 2> parts{io::bytes(head), io::bytes(rest)};
        auto written = co_await near.write("hello", io::as_result);
        auto count = co_await far.read(parts, io::as_result);
        EXPECT_TRUE(written && count && *count == 5);
    };
    EXPECT_EQ(in_steady_state(exchange, driver), 0u);
    auto [writer, gone] = socket_pair();
    gone.close();
    auto fail = [&]() -> task<> {
        auto written = co_await writer.write("x", io::as_result);
        EXPECT_TRUE(io::is_disconnect(written.error()));
    };
    EXPECT_EQ(in_steady_state(fail, driver), 0u);
}

TEST(Allocations, ResultsOnEpoll) {
    expect_no_allocations(weir::driver_kind::epoll);
}

TEST(Allocations, ResultsOnUring) {
    if (io::make_uring_driver() == nullptr) {
        GTEST_SKIP() << "there is no io_uring here";
    }
    expect_no_allocations(weir::driver_kind::uring);
}

}  // namespace
