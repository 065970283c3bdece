// SPDX-License-Identifier: MIT
// Sockets on loopback.

#include "support/io.hpp"

#include <weir/cancel.hpp>
#include <weir/fd.hpp>
#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::io::address;
using weir::io::bytes;
using weir::io::const_bytes;

struct both_ends {
    weir::io::socket client;
    weir::io::socket server;
};

weir::task<both_ends> make_pair(address at = address::loopback(0)) {
    weir::io::listener listener = weir::io::listen(at);
    auto arriving = weir::spawn(weir::io::connect(listener.local_address()));
    both_ends made;
    made.server = co_await listener.accept();
    made.client = co_await std::move(arriving);
    co_return made;
}

weir::task<std::string> read_everything(weir::io::socket& from) {
    std::string all;
    std::array<char, 1000> part;
    for (;;) {
        const std::size_t count = co_await from.read(part);
        if (count == 0) {
            co_return all;
        }
        all.append(part.data(), count);
    }
}

weir::task<> write_and_end(weir::io::socket& to, std::string_view text) {
    co_await to.write(text);
    co_await to.close_write();
}

WEIR_IO_TEST(Socket, BytesGoBothWays) {
    for (const address& at : {address::loopback(0), address::loopback_v6(0),
                              address::parse("unix:@weir-test-" + std::to_string(::getpid()))}) {
        both_ends ends = co_await make_pair(at);
        co_await ends.client.write("hello");
        std::array<char, 100> got;
        const std::size_t count = co_await ends.server.read(got);
        EXPECT_EQ(std::string_view(got.data(), count), "hello");
        co_await ends.server.write("world");
        co_await ends.server.close_write();
        const std::string answer = co_await read_everything(ends.client);
        EXPECT_EQ(answer, "world");
        // The other direction is still open.
        co_await ends.client.write("again");
        const std::size_t more = co_await ends.server.read(got);
        EXPECT_EQ(more, 5u);
    }
}

WEIR_IO_TEST(Socket, LargeWritesAreWholeAndWaitForTheReader) {
    both_ends ends = co_await make_pair();
    std::string sent(8'000'000, '\0');
    for (std::size_t at = 0; at < sent.size(); ++at) {
        sent[at] = static_cast<char>(at * 7 + at / 251);
    }
    auto writing = weir::spawn(write_and_end(ends.client, sent));
    co_await weir::sleep(5ms);
    EXPECT_FALSE(writing.done());
    const std::string got = co_await read_everything(ends.server);
    EXPECT_TRUE(got == sent);
    co_await writing;
}

WEIR_IO_TEST(Socket, PartsAreWrittenAsOne) {
    both_ends ends = co_await make_pair();
    std::vector<std::string> texts;
    std::string whole;
    for (int number = 0; number < 100; ++number) {
        texts.push_back(std::string(static_cast<std::size_t>(number * 997 % 5000),
                                    static_cast<char>('a' + number % 26)));
        whole += texts.back();
    }
    std::vector<const_bytes> parts(texts.begin(), texts.end());
    auto reading = weir::spawn(read_everything(ends.server));
    co_await ends.client.write(parts);
    co_await ends.client.close_write();
    const std::string got = co_await std::move(reading);
    EXPECT_TRUE(got == whole);
    co_await ends.server.write(std::span<const const_bytes>{});
}

WEIR_IO_TEST(Socket, OneReaderAtATime) {
    both_ends ends = co_await make_pair();
    std::array<char, 10> first;
    auto reading = weir::spawn(
        [&]() -> weir::task<std::size_t> { co_return co_await ends.server.read(first); });
    co_await weir::sleep(1ms);
    std::array<char, 10> second;
    EXPECT_THROW(co_await ends.server.read(second), weir::invalid_state);
    co_await ends.client.write("x");
    const std::size_t count = co_await reading;
    EXPECT_EQ(count, 1u);
}

WEIR_IO_TEST(Socket, ClosingEndsWhatOthersDo) {
    both_ends ends = co_await make_pair();
    std::array<char, 10> buffer;
    auto reading = weir::spawn(
        [&]() -> weir::task<std::size_t> { co_return co_await ends.server.read(buffer); });
    co_await weir::sleep(1ms);
    ends.server.close();
    try {
        co_await reading;
        ADD_FAILURE() << "it should have failed";
    } catch (const weir::io_error& error) {
        EXPECT_STREQ(error.what(), "read, which was closed meanwhile: Operation canceled");
    }
    EXPECT_THROW(co_await ends.server.read(buffer), weir::io_error);
    const std::size_t end = co_await ends.client.read(buffer);
    EXPECT_EQ(end, 0u);
}

WEIR_IO_TEST(Socket, ErrorsNameWhatWasAsked) {
    address nobody;
    {
        const weir::io::listener gone = weir::io::listen(address::loopback(0));
        nobody = gone.local_address();
    }
    try {
        co_await weir::io::connect(nobody);
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "connect to " + nobody.text() + ": Connection refused");
        EXPECT_EQ(error.code(), std::errc::connection_refused);
    }
    // The only peer is the socket itself: a retry could connect to itself by chance.
    try {
        co_await weir::io::connect(nobody, nobody);
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "connect to " + nobody.text() + ": Connection refused");
    }
    const weir::io::listener taken = weir::io::listen(address::loopback(0));
    try {
        weir::io::listen(taken.local_address());
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(),
                  "listen on " + taken.local_address().text() + ": Address already in use");
    }
    both_ends ends = co_await make_pair();
    const std::string own = ends.server.local_address().text();
    ends.client.reset();
    std::array<char, 10> buffer;
    try {
        co_await ends.server.read(buffer);
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.code(), std::errc::connection_reset);
        // The system does not know the peer any more.
        EXPECT_EQ(error.what(), "read at " + own + ": Connection reset by peer");
    }
    EXPECT_THROW(co_await ends.server.write("x"), weir::io_error);
    weir::io::listener no_listener(ends.server.release());
    try {
        co_await no_listener.accept();
        ADD_FAILURE();
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.what(), "accept at " + own + ": Invalid argument");
    }
    try {
        co_await weir::wait_readable(-1);
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_STREQ(error.what(), "wait_readable(-1): Bad file descriptor");
    }
}

WEIR_IO_TEST(Socket, TheEndOfThePeerIsReportedBesideReadsAndWrites) {
    using weir::io::closure;
    for (const bool is_reset : {false, true}) {
        both_ends made = co_await make_pair();
        auto& [near, far] = made;
        EXPECT_EQ(near.peer_closure(), closure::none);
        co_await far.write("unread");
        int reported = 0;
        auto watch = [](weir::io::socket& on, int& count) -> weir::task<> {
            co_await on.until_peer_closes();
            ++count;
        };
        auto waiting = weir::spawn(watch(near, reported));
        co_await weir::sleep(20ms);
        EXPECT_EQ(reported, 0);
        waiting.cancel();
        (void)co_await weir::settle(waiting.wait());
        waiting = weir::spawn(watch(near, reported));
        co_await weir::yield();
        if (is_reset) {
            far.reset();
        } else {
            co_await far.close_write();
        }
        co_await waiting;
        EXPECT_EQ(reported, 1);
        EXPECT_EQ(near.peer_closure(), is_reset ? closure::both : closure::sending);
        co_await near.until_peer_closes();  // what was before the call counts
        if (!is_reset) {
            std::array<char, 16> buffer{};
            const std::size_t count = co_await near.read(buffer);
            EXPECT_EQ(count, 6U);
            co_await near.write("taken");
            const std::size_t taken = co_await far.read(buffer);
            EXPECT_EQ(taken, 5U);
            far.close();
            // A closed peer answers what it is sent with a reset.
            co_await near.write("lost");
            while (near.peer_closure() != closure::both) {
                co_await weir::sleep(1ms);
            }
        }
        EXPECT_EQ(far.peer_closure(), closure::both);  // closed here
        try {
            co_await far.until_peer_closes();
            ADD_FAILURE() << "of a closed socket";
        } catch (const weir::io_error&) {
        }
    }
}

WEIR_IO_TEST(Socket, ClosingEndsTheWaitForThePeer) {
    both_ends made = co_await make_pair();
    auto& [near, far] = made;
    auto watch = [](weir::io::socket& on) -> weir::task<std::string> {
        try {
            co_await on.until_peer_closes();
        } catch (const weir::io_error& error) {
            co_return error.what();
        }
        co_return "no error";
    };
    auto waiting = weir::spawn(watch(near));
    co_await weir::sleep(5ms);
    near.close();
    const std::string said = co_await waiting;
    EXPECT_NE(said.find("closed meanwhile"), std::string::npos) << said;
}

WEIR_IO_TEST(Socket, ATimeoutLeavesTheStreamUsable) {
    both_ends ends = co_await make_pair();
    std::array<char, 10> buffer;
    for (int round = 0; round < 20; ++round) {
        EXPECT_THROW(co_await weir::timeout(1ms, ends.server.read(buffer)), weir::timed_out);
    }
    co_await ends.client.write("x");
    const std::size_t count = co_await ends.server.read(buffer);
    EXPECT_EQ(count, 1u);
}

// A read that gives less than it had room for has not always emptied the socket: the system ends
// one where descriptors were attached to a message, and at urgent data.
WEIR_IO_TEST(Socket, AShortReadIsNotTakenForTheLastOne) {
    std::array<char, 100> got;
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    weir::io::socket reader(ends[0]);
    weir::io::socket writer(ends[1]);
    struct alignas(cmsghdr) {
        char raw[CMSG_SPACE(sizeof(int))] = {};
    } control;
    iovec part{const_cast<char*>("with"), 4};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.raw;
    message.msg_controllen = sizeof control.raw;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int passed = 0;
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
    auto write = [&]() -> weir::task<> {
        EXPECT_EQ(::sendmsg(writer.fd(), &message, 0), 4);
        co_await writer.write("without");
    };
    auto writing = weir::spawn(write);  // while the reader waits
    std::string all;
    while (all.size() < 11) {
        const std::size_t count = co_await weir::timeout(2s, reader.read(got));
        all.append(got.data(), count);
    }
    EXPECT_EQ(all, "withwithout");

    both_ends tcp = co_await make_pair();
    auto write_urgently = [&]() -> weir::task<> {
        co_await tcp.client.write("before");
        EXPECT_EQ(::send(tcp.client.fd(), "!", 1, MSG_OOB), 1);
        co_await tcp.client.write("after");
    };
    auto urgent = weir::spawn(write_urgently);
    all.clear();
    while (all.size() < 11) {
        const std::size_t count = co_await weir::timeout(2s, tcp.server.read(got));
        all.append(got.data(), count);
    }
    EXPECT_EQ(all, "beforeafter");
}

// Into buffers of random sizes, some empty, more than one call takes: every byte once, in order.
WEIR_IO_TEST(Socket, ReadsIntoSeveralBuffers) {
    both_ends ends = co_await make_pair();
    std::mt19937 random(20);
    std::string sent(300'000, '\0');
    for (char& each : sent) {
        each = static_cast<char>('a' + random() % 26);
    }
    auto writing = weir::spawn(write_and_end(ends.client, sent));
    std::string got;
    for (bool at_end = false; !at_end;) {
        std::vector<std::string> buffers(1 + random() % 20);
        std::vector<bytes> parts;
        for (std::string& each : buffers) {
            each.resize(random() % 4 == 0 ? 0 : random() % 3000);
            parts.emplace_back(each);
        }
        const bool has_room = std::any_of(buffers.begin(), buffers.end(),
                                          [](const auto& each) { return !each.empty(); });
        std::size_t left = co_await ends.server.read(parts);
        at_end = left == 0 && has_room;
        for (const std::string& each : buffers) {
            const std::size_t count = std::min(left, each.size());
            got.append(each, 0, count);
            left -= count;
        }
        EXPECT_EQ(left, 0u);
    }
    EXPECT_EQ(got.size(), sent.size());
    EXPECT_TRUE(got == sent);
    co_await writing;
}

WEIR_IO_TEST(Socket, AStoppedVectoredReadTakesNothing) {
    both_ends ends = co_await make_pair();
    std::array<char, 4> head;
    std::array<char, 100> rest;
    const std::array<bytes, 2> parts{bytes(head), bytes(rest)};
    auto read = [&]() -> weir::task<std::size_t> { co_return co_await ends.server.read(parts); };
    auto reading = weir::spawn(read);
    co_await weir::sleep(1ms);
    reading.cancel();
    co_await reading.wait();
    EXPECT_TRUE(reading.cancelled());
    co_await ends.client.write("headtail");
    const std::size_t count = co_await ends.server.read(parts);
    EXPECT_EQ(count, 8u);
    EXPECT_EQ(std::string_view(head.data(), 4), "head");
    EXPECT_EQ(std::string_view(rest.data(), 4), "tail");
}

TEST(Socket, SimulatedTimeKnowsNone) {
    auto body = []() -> weir::task<> {
        weir::io::listener listener = weir::io::listen(address::loopback(0));
        EXPECT_THROW(co_await listener.accept(), weir::loop_error);
    };
    weir::run(body(), {.driver = weir::driver_kind::simulated});
}

}  // namespace
