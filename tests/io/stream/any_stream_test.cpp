// SPDX-License-Identifier: MIT
// any_stream over simulated connections: it behaves as the stream that it holds.

#include "testing/io/stream_support.hpp"

#include <weir/io/any_stream.hpp>

#include <algorithm>
#include <array>
#include <vector>

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

// A stream with one buffer for a read, such as TLS.
class plain_stream {
public:
    explicit plain_stream(simulated_stream inner) : inner_(std::move(inner)) {}
    auto read(io::bytes into) { return inner_.read(into); }
    auto write(io::const_bytes data) { return inner_.write(data); }
    auto write(std::span<const io::const_bytes> parts) { return inner_.write(parts); }
    auto close_write() { return inner_.close_write(); }
    void close() noexcept { inner_.close(); }

private:
    simulated_stream inner_;
};

// Every byte once and in order, whatever the buffers, with and without a vectored read below.
WEIR_TEST(AnyStream, ReadsIntoSeveralBuffers) {
    for (const bool is_plain : {false, true}) {
        simulated_network net({.link = rough()});
        auto [near, far] = net.pair();
        const std::string sent = pattern(5000);
        auto writing = weir::spawn(send(near, sent));
        io::any_stream reader = is_plain ? io::any_stream(plain_stream(std::move(far)))
                                         : io::any_stream(std::move(far));
        dice random(weir::testing::current_seed() + 7);
        std::string got;
        for (bool at_end = false; !at_end;) {
            std::vector<std::string> buffers(1 + random.below(5));
            std::vector<io::bytes> parts;
            for (std::string& each : buffers) {
                each.resize(random.below(100));
                parts.emplace_back(each);
            }
            buffers.front().resize(random.below(3));
            parts.front() = io::bytes(buffers.front());
            const bool has_room = std::any_of(buffers.begin(), buffers.end(),
                                              [](const auto& each) { return !each.empty(); });
            std::size_t left = co_await reader.read(parts);
            at_end = left == 0 && has_room;
            for (const std::string& each : buffers) {
                const std::size_t count = std::min(left, each.size());
                got.append(each, 0, count);
                left -= count;
            }
        }
        EXPECT_TRUE(got == sent);
        co_await writing;
    }
}

// With a reset, with or without the form in the stream below.
WEIR_TEST(AnyStream, GivesErrorsAsValues) {
    for (const bool is_plain : {false, true}) {
        simulated_network net;
        auto [near, far] = net.pair();
        near.reset();
        io::any_stream reader = is_plain ? io::any_stream(plain_stream(std::move(far)))
                                         : io::any_stream(std::move(far));
        std::array<char, 4> buffer;
        auto count = co_await reader.read(buffer, io::as_result);
        EXPECT_EQ(count.error(), std::errc::connection_reset);
        auto written = co_await reader.write("x", io::as_result);
        EXPECT_TRUE(io::is_disconnect(written.error()));
        const std::array<io::const_bytes, 1> parts{io::const_bytes("x")};
        written = co_await reader.write(parts, io::as_result);
        EXPECT_FALSE(written);
    }
}

}  // namespace
