// SPDX-License-Identifier: MIT
// The concept byte_stream: which types are streams, and code written for it.

#include "testing/io/stream_support.hpp"

#include <weir/io/any_stream.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/tls.hpp>

namespace {

using namespace stream_tests;

static_assert(io::byte_stream<io::socket>);
static_assert(io::byte_stream<simulated_stream>);
static_assert(io::byte_stream<io::any_stream>);
static_assert(io::byte_stream<weir::tls::stream<io::socket>>);
static_assert(!io::byte_stream<io::pipe_reader>);  // one direction
static_assert(!io::byte_stream<io::pipe_writer>);
static_assert(!io::byte_stream<int>);

// Everything that a stream must have, and no more.
struct least_stream {
    task<std::size_t> read(io::bytes);
    task<> write(io::const_bytes);
    task<> write(std::span<const io::const_bytes>);
    task<> close_write();
    void close() noexcept;
};
static_assert(io::byte_stream<least_stream>);

struct reads_int : least_stream {
    task<int> read(io::bytes);
};
static_assert(!io::byte_stream<reads_int>);
struct close_may_throw : least_stream {
    void close();
};
static_assert(!io::byte_stream<close_may_throw>);

template <io::byte_stream Stream>
task<> echo(Stream& peer) {
    std::array<char, 3> buffer{};
    for (;;) {
        const std::size_t count = co_await peer.read(buffer);
        if (count == 0) {
            break;
        }
        co_await peer.write(io::bytes(buffer).first(count));
    }
    co_await peer.close_write();
}

WEIR_TEST(ByteStream, AProtocolIsWrittenForAnyStream) {
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    const auto serving = weir::spawn(echo(far));
    const auto sending = weir::spawn(send(near, pattern(1000)));
    const std::string answer = co_await io::read_all(near, 2000);
    co_await sending;
    co_await serving;
    EXPECT_EQ(answer, pattern(1000));
}

}  // namespace
