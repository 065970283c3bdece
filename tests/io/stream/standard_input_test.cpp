// SPDX-License-Identifier: MIT
// Input of every kind: pipes, files, terminals, /dev/null, sockets.

#include "support/io.hpp"

#include <weir/cancel.hpp>
#include <weir/io/error.hpp>
#include <weir/io/standard_input.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

namespace io = weir::io;
using namespace std::chrono_literals;
using weir::task;

void put_text(int fd, std::string_view text) {
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

task<std::vector<std::string>> all_lines(io::input_stream from) {
    auto source = io::lines(std::move(from));
    std::vector<std::string> all;
    while (auto line = co_await source.next()) {
        all.push_back(*line);
    }
    co_return all;
}

const std::vector<std::string> three_lines{"one", "", "three"};

WEIR_IO_TEST(StandardInput, ReadsLinesOfAPipeWhileOthersRun) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    auto reading = weir::spawn(all_lines(io::input_stream(ends[0])));
    int turns = 0;
    for (const std::string_view piece : {"on", "e\n\nth", "ree"}) {
        co_await weir::sleep(1ms);
        ++turns;
        EXPECT_FALSE(reading.done());
        put_text(ends[1], piece);
    }
    ::close(ends[1]);
    EXPECT_EQ(co_await reading, three_lines);
    EXPECT_EQ(turns, 3);
}

WEIR_IO_TEST(StandardInput, LeavesTheFlagsOfTheDescriptorAlone) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const int shared = ::dup(ends[0]);
    {
        io::input_stream input(ends[0]);
        put_text(ends[1], "x");
        std::array<char, 8> buffer;
        const std::size_t count = co_await input.read(buffer);
        EXPECT_EQ(count, 1u);
        EXPECT_EQ(::fcntl(shared, F_GETFL) & O_NONBLOCK, 0);
    }
    EXPECT_EQ(::fcntl(shared, F_GETFL) & O_NONBLOCK, 0);
    ::close(shared);
    ::close(ends[1]);
}

WEIR_IO_TEST(StandardInput, ReadsARegularFileFromItsPosition) {
    std::string name = "/tmp/weir_input_XXXXXX";
    const int fd = ::mkostemp(name.data(), O_CLOEXEC);
    put_text(fd, "skipped\none\n\nthree");
    ::lseek(fd, 8, SEEK_SET);
    ::unlink(name.c_str());
    const auto got = co_await all_lines(io::input_stream(fd));
    EXPECT_EQ(got, three_lines);
}

WEIR_IO_TEST(StandardInput, ReadsATerminal) {
    int keyboard = -1;
    int terminal = -1;
    EXPECT_EQ(::openpty(&keyboard, &terminal, nullptr, nullptr, nullptr), 0);
    io::input_stream input(terminal);
    EXPECT_TRUE(input.is_terminal());
    auto reading = weir::spawn(all_lines(std::move(input)));
    put_text(keyboard, "on");
    co_await weir::sleep(1ms);
    EXPECT_FALSE(reading.done()) << "the line has not been entered";
    put_text(keyboard, "e\n\n");
    co_await weir::sleep(1ms);
    put_text(keyboard, "three\n\x04");  // and the end
    EXPECT_EQ(co_await reading, three_lines);
    ::close(keyboard);
}

WEIR_IO_TEST(StandardInput, ReadsNothingAndSockets) {
    auto got = co_await all_lines(io::input_stream(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    EXPECT_TRUE(got.empty());
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    put_text(ends[1], "one\n\nthree");
    ::close(ends[1]);
    got = co_await all_lines(io::input_stream(ends[0]));
    EXPECT_EQ(got, three_lines);
}

WEIR_IO_TEST(StandardInput, AStoppedReadTakesNothing) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    io::input_stream input(ends[0]);
    std::array<char, 8> buffer;
    auto read = [&]() -> task<std::size_t> { co_return co_await input.read(buffer); };
    for (int i = 0; i < 5; ++i) {
        auto reading = weir::spawn(read);
        if (i % 2 == 1) {
            co_await weir::sleep(1ms);
        }
        reading.cancel();
        co_await reading.wait();
        EXPECT_TRUE(reading.cancelled());
    }
    put_text(ends[1], "kept");
    const std::size_t count = co_await read();
    EXPECT_EQ(std::string_view(buffer.data(), count), "kept");
    ::close(ends[1]);
    const std::size_t end = co_await read();
    EXPECT_EQ(end, 0u);
}

WEIR_IO_TEST(StandardInput, IsDescriptorZeroAndStaysOpen) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const int former = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    put_text(ends[1], "one\n\nthree\n");
    ::close(ends[1]);
    const auto got = co_await all_lines(io::standard_input());
    EXPECT_EQ(got, three_lines);
    EXPECT_GE(::fcntl(STDIN_FILENO, F_GETFD), 0) << "it was closed";
    ::dup2(former, STDIN_FILENO);
    ::close(former);
}

TEST(StandardInput, RefusesAnInvalidDescriptorAndALineWithoutEnd) {
    EXPECT_THROW(io::input_stream(-1), weir::io_error);
    auto body = []() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        put_text(ends[1], "123456789\n");
        ::close(ends[1]);
        auto source = io::lines(io::input_stream(ends[0]), 8);
        bool threw = false;
        try {
            (void)co_await source.next();
        } catch (const weir::limit_exceeded&) {
            threw = true;
        }
        EXPECT_TRUE(threw);
    };
    weir::run(body());
}

}  // namespace
