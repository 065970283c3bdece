// SPDX-License-Identifier: MIT
// any_stream over simulated connections: it behaves as the stream that it holds.

#include "testing/io/stream_support.hpp"

#include <weir/io/any_stream.hpp>

namespace {

using namespace stream_tests;

static_assert(io::byte_stream<io::any_stream>);

WEIR_TEST(AnyStream, IsAStream) {
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    io::any_stream erased(std::move(near));
    EXPECT_TRUE(erased);
    EXPECT_NE(erased.target<simulated_stream>(), nullptr);
    const std::array<io::const_bytes, 3> parts{io::const_bytes("one "), io::const_bytes(""),
                                               io::const_bytes("two")};
    const auto writing = weir::spawn([&]() -> task<> {
        co_await erased.write(parts);
        co_await erased.write(" three");
        co_await erased.close_write();
    });
    io::any_stream other(std::move(far));
    const std::string all = co_await io::read_all(other, 100);
    EXPECT_EQ(all, "one two three");
    co_await writing;
    io::any_stream moved(std::move(other));
    const auto answering = weir::spawn(moved.write("back"));
    std::array<char, 4> back{};
    co_await io::read_exact(erased, back);
    co_await answering;
    EXPECT_EQ(std::string(back.begin(), back.end()), "back");
    moved.close();
    const std::size_t at_end = co_await erased.read(back);
    EXPECT_EQ(at_end, 0u);
}

WEIR_TEST(AnyStream, AnEmptyOneSaysSo) {
    io::any_stream none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.target<simulated_stream>(), nullptr);
    none.close();
    std::array<char, 1> into{};
    EXPECT_THROW((void)none.read(into), weir::invalid_state);
    EXPECT_THROW((void)none.write("x"), weir::invalid_state);
    EXPECT_THROW((void)none.close_write(), weir::invalid_state);
    co_return;
}

}  // namespace
