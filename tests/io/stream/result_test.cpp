// SPDX-License-Identifier: MIT
// Results as values: on sockets, pipes, any_stream and the simulated network.

#include "support/io.hpp"

#include <weir/io/any_stream.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/result.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <array>
#include <memory>
#include <string>

namespace {

namespace io = weir::io;
using namespace std::chrono_literals;
using weir::task;

struct result_pair {
    io::socket client;
    io::socket server;
};

task<result_pair> make_result_pair() {
    io::listener listener = io::listen(io::address::loopback(0));
    auto arriving = weir::spawn(io::connect(listener.local_address()));
    result_pair made;
    auto accepted = co_await listener.accept(io::as_result);
    EXPECT_TRUE(accepted);
    made.server = std::move(*accepted);
    made.client = co_await std::move(arriving);
    co_return made;
}

TEST(IoResult, HasAValueOrAnError) {
    const io::result<std::size_t> three(3);
    EXPECT_TRUE(three);
    EXPECT_EQ(*three, 3u);
    EXPECT_EQ(three.value(), 3u);
    EXPECT_FALSE(three.error());
    const auto failed = io::result<std::size_t>::from_error(ECONNRESET, "read");
    EXPECT_FALSE(failed);
    EXPECT_EQ(failed.error(), std::errc::connection_reset);
    EXPECT_TRUE(io::is_disconnect(failed.error()));
    try {
        (void)failed.value();
        FAIL();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(std::string(error.what()), "read: Connection reset by peer");
    }
    io::result<> nothing;
    nothing.value();
    EXPECT_TRUE(nothing.has_value());
    EXPECT_FALSE(io::is_disconnect(std::make_error_code(std::errc::too_many_files_open)));

    io::result<std::unique_ptr<int>> owner(std::make_unique<int>(5));
    std::unique_ptr<int> moved = std::move(owner).value();
    EXPECT_EQ(*moved, 5);
}

WEIR_IO_TEST(IoResult, SocketsGiveCountsAndTheEnd) {
    result_pair ends = co_await make_result_pair();
    std::array<char, 16> buffer;
    auto written = co_await ends.client.write("hello", io::as_result);
    EXPECT_TRUE(written);
    const std::array<io::const_bytes, 2> parts{io::const_bytes(" to"), io::const_bytes(" you")};
    written = co_await ends.client.write(parts, io::as_result);
    EXPECT_TRUE(written);
    co_await ends.client.close_write();
    std::string all;
    for (;;) {
        auto count = co_await ends.server.read(buffer, io::as_result);
        if (!count || *count == 0) {
            EXPECT_TRUE(count.has_value());
            break;
        }
        all.append(buffer.data(), *count);
    }
    EXPECT_EQ(all, "hello to you");
}

WEIR_IO_TEST(IoResult, AResetIsNoException) {
    result_pair ends = co_await make_result_pair();
    co_await ends.server.write("unread");
    ends.client.reset();
    std::array<char, 16> buffer;
    auto count = co_await ends.server.read(buffer, io::as_result);
    EXPECT_EQ(count.error(), std::errc::connection_reset);
    auto written = co_await ends.server.write("more", io::as_result);
    EXPECT_TRUE(io::is_disconnect(written.error())) << written.error().message();
    // Through any_stream, which awaits the same form inside.
    result_pair others = co_await make_result_pair();
    others.client.reset();
    io::any_stream erased(std::move(others.server));
    count = co_await erased.read(buffer, io::as_result);
    EXPECT_EQ(count.error(), std::errc::connection_reset);
    written = co_await erased.write("x", io::as_result);
    EXPECT_TRUE(io::is_disconnect(written.error()));
}

WEIR_IO_TEST(IoResult, ARefusedConnectIsNoException) {
    io::address nobody;
    {
        io::listener listener = io::listen(io::address::loopback(0));
        nobody = listener.local_address();
    }
    auto refused = co_await io::connect(nobody, io::as_result);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    io::listener listener = io::listen(io::address::loopback(0));
    auto made = co_await io::connect(listener.local_address(), io::as_result);
    EXPECT_TRUE(made.has_value() && made->is_open());
    listener.close();
    auto accepted = co_await listener.accept(io::as_result);
    EXPECT_EQ(accepted.error(), std::errc::bad_file_descriptor);
}

WEIR_IO_TEST(IoResult, MistakesOfTheProgramAreExceptions) {
    result_pair ends = co_await make_result_pair();
    std::array<char, 16> buffer;
    auto read = [&]() -> task<> { (void)co_await ends.server.read(buffer); };
    auto first = weir::spawn(read);
    co_await weir::yield();
    std::array<char, 16> other;
    bool threw = false;
    try {
        (void)co_await ends.server.read(other, io::as_result);
    } catch (const weir::invalid_state&) {
        threw = true;
    }
    EXPECT_TRUE(threw);
    first.cancel();
    co_await first.wait();
    ends.server.close();
    auto closed = co_await ends.server.read(other, io::as_result);
    EXPECT_EQ(closed.error(), std::errc::bad_file_descriptor);
}

WEIR_IO_TEST(IoResult, PipesReportAReaderThatIsGone) {
    auto [reader, writer] = io::make_pipe();
    std::array<char, 8> buffer;
    auto written = co_await writer.write("abc", io::as_result);
    EXPECT_TRUE(written);
    auto count = co_await reader.read(buffer, io::as_result);
    EXPECT_EQ(*count, 3u);
    reader.close();
    written = co_await writer.write("abc", io::as_result);
    EXPECT_EQ(written.error(), std::errc::broken_pipe);
}

// A stop is a stop, not a result.
WEIR_IO_TEST(IoResult, AStoppedReadHasNoResult) {
    result_pair ends = co_await make_result_pair();
    bool went_on = false;
    auto read = [&]() -> task<> {
        std::array<char, 8> buffer;
        (void)co_await ends.server.read(buffer, io::as_result);
        went_on = true;
    };
    auto reading = weir::spawn(read);
    co_await weir::sleep(1ms);
    reading.cancel();
    co_await reading.wait();
    EXPECT_TRUE(reading.cancelled());
    EXPECT_FALSE(went_on);
}

}  // namespace
