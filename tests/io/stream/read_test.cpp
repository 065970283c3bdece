// SPDX-License-Identifier: MIT
// read_exact, read_all and copy, over simulated connections.

#include "testing/io/stream_support.hpp"

#include <weir/io/read.hpp>

namespace {

using namespace stream_tests;

static_assert(io::byte_stream<simulated_stream>);
static_assert(io::byte_source<simulated_stream> && io::byte_sink<simulated_stream>);

WEIR_TEST(ReadExact, FillsWhateverTheChunks) {
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    const std::string sent = pattern(3000);
    const auto sender = weir::spawn(send(near, sent));
    std::string first(1, '\0');
    std::string rest(2999, '\0');
    co_await io::read_exact(far, first);
    co_await io::read_exact(far, rest);
    EXPECT_EQ(first + rest, sent);
    std::array<char, 1> more{};
    const std::size_t at_end = co_await far.read(more);
    EXPECT_EQ(at_end, 0u);
    co_await sender;
}

WEIR_TEST(ReadExact, NamesHowManyOfHowManyCame) {
    simulated_network net;
    auto [near, far] = net.pair();
    co_await send(near, "abc");
    std::array<char, 10> into{};
    WEIR_EXPECT_THROW_WITH(io::read_exact(far, into), weir::end_of_stream,
                           "read_exact: the stream ended after 3 of 10 bytes");
    co_await io::read_exact(far, io::bytes());  // zero bytes are always available
}

WEIR_TEST(ReadAll, ReadsToTheEndWithinItsLimit) {
    for (const std::size_t size : {0u, 1u, 99u, 100u, 5000u}) {
        simulated_network net({.link = rough()});
        auto [near, far] = net.pair();
        const auto sender = weir::spawn(send(near, pattern(size)));
        const std::string all = co_await io::read_all(far, size);
        EXPECT_EQ(all, pattern(size));
        co_await sender;
    }
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    const auto sender = weir::spawn(send(near, pattern(101)));
    WEIR_EXPECT_THROW_WITH(io::read_all(far, 100), weir::limit_exceeded,
                           "read_all: more than the limit of 100 bytes");
    co_await sender;
}

WEIR_TEST(Copy, PassesBytesAndTheEndOn) {
    simulated_network net({.link = rough()});
    auto [client, front] = net.pair("client", "proxy");
    auto [back, server] = net.pair("proxy", "server");
    const std::string sent = pattern(4000);
    const auto sender = weir::spawn(send(client, sent));
    const auto copying = weir::spawn(io::copy(front, back, {.close_write = true, .chunk = 100}));
    const std::string came = co_await io::read_all(server, 4000);
    EXPECT_EQ(came, sent);
    const std::uint64_t count = co_await copying;
    EXPECT_EQ(count, 4000u);
    co_await sender;
    // The other direction still works.
    const auto answering = weir::spawn(send(server, "answer"));
    std::array<char, 6> answer{};
    co_await io::read_exact(back, answer);
    co_await answering;
    EXPECT_EQ(std::string(answer.begin(), answer.end()), "answer");
    WEIR_EXPECT_THROW_WITH(io::copy(back, front, {.chunk = 0}), weir::invalid_argument,
                           "chunk is 0");
}

WEIR_TEST(Copy, WithoutHalfCloseTheReceiverSeesNoEnd) {
    simulated_network net;
    auto [client, front] = net.pair("client", "proxy");
    auto [back, server] = net.pair("proxy", "server");
    co_await send(client, "abc");
    co_await io::copy(front, back);
    std::array<char, 4> into{};
    std::size_t count = co_await server.read(into);
    EXPECT_EQ(count, 3u);
    count = co_await weir::timeout_or(1h, server.read(into), std::size_t{99});
    EXPECT_EQ(count, 99u);
}

}  // namespace
