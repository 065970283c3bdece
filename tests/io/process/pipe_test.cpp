// SPDX-License-Identifier: MIT
// Pipes: the contract of streams, and stops at any moment.

#include "support/io.hpp"

#include <weir/cancel.hpp>
#include <weir/gather.hpp>
#include <weir/io/buffered_reader.hpp>
#include <weir/io/error.hpp>
#include <weir/io/pipe.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;
using weir::io::const_bytes;

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t index = 0; index < size; ++index) {
        text[index] = static_cast<char>('a' + (index * 7 + index / 251) % 26);
    }
    return text;
}

WEIR_IO_TEST(Pipe, WaitsAlsoIfItsDescriptorWasMadeNonBlockingElsewhere) {
    auto [reader, writer] = weir::io::make_pipe();
    EXPECT_EQ(::fcntl(reader.fd(), F_SETFL, ::fcntl(reader.fd(), F_GETFL) | O_NONBLOCK), 0);
    std::array<char, 4> buffer;
    auto read = [&]() -> weir::task<std::size_t> { co_return co_await reader.read(buffer); };
    auto reading = weir::spawn(read);
    co_await weir::sleep(5ms);
    EXPECT_FALSE(reading.done());
    co_await writer.write("ab");
    const std::size_t count = co_await reading;
    EXPECT_EQ(std::string_view(buffer.data(), count), "ab");
}

WEIR_IO_TEST(Pipe, CarriesBytesAndItsEnd) {
    auto [reader, writer] = weir::io::make_pipe();
    EXPECT_EQ(::fcntl(reader.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(::fcntl(writer.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    const std::string sent = pattern(1 << 20);  // many times what a pipe holds
    auto write = [&]() -> weir::task<> {
        const std::string_view text = sent;
        co_await writer.write("");
        co_await writer.write(text.substr(0, 1000));
        std::vector<const_bytes> parts;
        for (std::size_t at = 1000; at < text.size(); at += 50'000) {
            parts.push_back(text.substr(at, 50'000));
            parts.push_back(const_bytes());
        }
        co_await writer.write(parts);
        co_await writer.close_write();
        EXPECT_FALSE(writer.is_open());
    };
    auto read = [&]() -> weir::task<std::string> {
        return weir::io::read_all(reader, sent.size());
    };
    auto [nothing, received] = co_await weir::gather(write(), read());
    EXPECT_TRUE(received == sent);
    std::array<char, 4> buffer;
    const std::size_t after_end = co_await reader.read(buffer);
    EXPECT_EQ(after_end, 0u);
}

// Their operations can be passed to every function that takes an awaitable.
WEIR_IO_TEST(Pipe, ReadsAndWritesHaveLimits) {
    auto [reader, writer] = weir::io::make_pipe();
    std::array<char, 4> buffer;
    EXPECT_THROW(co_await weir::timeout(2ms, reader.read(buffer)), weir::timed_out);
    const std::string large(1 << 20, 'x');
    EXPECT_THROW(co_await weir::timeout(2ms, writer.write(large)), weir::timed_out);
    auto [count, nothing] = co_await weir::gather(reader.read(buffer), writer.close_write());
    EXPECT_EQ(count, 4u);
}

WEIR_IO_TEST(Pipe, WithoutReadersIsAnErrorAndNoSignal) {
    auto [reader, writer] = weir::io::make_pipe();
    reader.close();
    for (int round = 0; round < 2; ++round) {
        try {
            co_await writer.write("nobody reads this");
            ADD_FAILURE() << "written";
        } catch (const weir::io_error& error) {
            EXPECT_EQ(error.code(), std::errc::broken_pipe);
            EXPECT_STREQ(error.what(), "write to pipe: Broken pipe");
        }
    }
    // While it waits for room.
    auto second = weir::io::make_pipe();
    const std::string much = pattern(1 << 20);
    auto write = [&]() -> weir::task<> { co_await second.writer.write(much); };
    auto writing = weir::spawn(write());
    co_await weir::sleep(2ms);
    second.reader.close();
    const weir::outcome<void> ended = co_await weir::settle(std::move(writing));
    EXPECT_TRUE(ended.has_error());
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

WEIR_IO_TEST(Pipe, MisuseIsExplained) {
    auto [reader, writer] = weir::io::make_pipe();
    std::array<char, 16> buffer;
    auto read = [&]() -> weir::task<std::size_t> { co_return co_await reader.read(buffer); };
    auto first = weir::spawn(read());
    co_await weir::yield();
    const weir::outcome<std::size_t> second = co_await weir::settle(read());
    EXPECT_TRUE(second.has_error());
    EXPECT_THROW(second.value(), weir::invalid_state);
    EXPECT_THROW(reader.release(), weir::invalid_state);
    reader.close();  // under the one that reads
    const weir::outcome<std::size_t> closed = co_await weir::settle(std::move(first));
    EXPECT_THROW(closed.value(), weir::io_error);
    const weir::outcome<std::size_t> late = co_await weir::settle(read());
    EXPECT_THROW(late.value(), weir::io_error);
    EXPECT_THROW(weir::io::pipe_reader(-1), weir::io_error);
    const int number = writer.release();
    EXPECT_FALSE(writer.is_open());
    ::close(number);
}

// Readers and writers are stopped all the time; no byte is lost, doubled, or written after a stop.
WEIR_IO_TEST(Pipe, RandomStopsLoseNothing) {
    std::mt19937 random(42);
    for (int round = 0; round < 60; ++round) {
        auto [reader, writer] = weir::io::make_pipe();
        const std::string sent = pattern(20'000);
        std::string received;
        auto write = [&]() -> weir::task<> {
            for (std::size_t at = 0; at < sent.size();) {
                const std::size_t size = 1 + random() % 3000;
                co_await writer.write(std::string_view(sent).substr(at, size));
                at += size;
                if (random() % 4 == 0) {
                    co_await weir::yield();
                }
            }
            writer.close();
        };
        auto writing = weir::spawn(write());
        bool at_end = false;
        auto read_once = [&]() -> weir::task<> {
            std::array<char, 700> buffer;
            const std::size_t count = co_await reader.read(buffer);
            at_end = count == 0;
            received.append(buffer.data(), count);  // before the next suspension
        };
        while (!at_end) {
            auto reading = weir::spawn(read_once());
            for (unsigned turns = random() % 4; turns > 0; --turns) {
                co_await weir::yield();
            }
            if (random() % 2 == 0) {
                reading.cancel();
            }
            co_await reading.wait();
        }
        co_await writing;
        EXPECT_TRUE(received == sent);
    }
}

WEIR_IO_TEST(Pipe, ReadsIntoSeveralBuffers) {
    auto [reader, writer] = weir::io::make_pipe();
    co_await writer.write("headbody");
    std::array<char, 4> head;
    std::array<char, 10> body;
    const std::array<weir::io::bytes, 2> parts{weir::io::bytes(head), weir::io::bytes(body)};
    const std::size_t count = co_await reader.read(parts);
    EXPECT_EQ(count, 8u);
    EXPECT_EQ(std::string_view(head.data(), 4), "head");
    EXPECT_EQ(std::string_view(body.data(), 4), "body");
    const std::size_t none = co_await reader.read(std::span<const weir::io::bytes>());
    EXPECT_EQ(none, 0u);
}

}  // namespace
