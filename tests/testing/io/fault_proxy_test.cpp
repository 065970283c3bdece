// SPDX-License-Identifier: MIT
// The fault proxy, and the stream algorithms, over real sockets on both drivers.

#include "support/io.hpp"
#include "testing/io/stream_support.hpp"

#include <weir/io/any_stream.hpp>
#include <weir/io/buffered.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/testing/io/fault_proxy.hpp>

namespace {

using namespace stream_tests;
using weir::testing::fault_proxy;

task<> echo(io::socket peer, int& resets) {
    try {
        co_await io::copy(peer, peer, {.close_write = true});
    } catch (const weir::io_error&) {
        ++resets;
    }
}

// An echo server and a proxy in front of it.
class scene {
public:
    explicit scene(const weir::testing::proxy_faults& faults = {})
        : listener_(io::listen(io::address::loopback(0))),
          proxy(listener_.local_address(), faults),
          serving_(weir::spawn(serve())) {}

    task<> end() {
        co_await proxy.close();
        listener_.close();
        serving_.cancel();
        co_await serving_.wait();
    }
    task<io::socket> connect() { return io::connect(proxy.address()); }

private:
    task<> serve() {
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (;;) {
                io::socket peer = co_await listener_.accept();
                group.spawn(echo(std::move(peer), resets_seen));
            }
        });
    }
    io::listener listener_;

public:
    fault_proxy proxy;
    int resets_seen = 0;

private:
    weir::handle<> serving_;
};

task<int> read_error(io::socket& from) {
    std::array<char, 4096> buffer{};
    for (;;) {
        try {
            const std::size_t count = co_await from.read(buffer);
            if (count == 0) {
                co_return 0;
            }
        } catch (const weir::io_error& error) {
            co_return error.code().value();
        }
    }
}

task<std::string> round_trip(io::socket& over, std::string data) {
    const auto sending = weir::spawn([&]() -> task<> {
        co_await over.write(data);
        co_await over.close_write();
    });
    std::string came = co_await io::read_all(over, data.size());
    co_await sending;
    co_return came;
}

WEIR_IO_TEST(FaultProxy, PassesBytesAndHalfClosesOn) {
    scene with;
    std::vector<io::socket> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(co_await with.connect());
    }
    for (io::socket& each : clients) {
        const std::string came = co_await round_trip(each, pattern(300'000));
        EXPECT_TRUE(came == pattern(300'000));
    }
    EXPECT_EQ(with.proxy.stats().connections, 3u);
    EXPECT_EQ(with.proxy.stats().bytes, 6 * 300'000u);
    EXPECT_EQ(with.proxy.stats().resets, 0u);
    co_await with.end();
    EXPECT_EQ(with.proxy.stats().open, 0u);
    EXPECT_EQ(with.resets_seen, 0);
}

WEIR_IO_TEST(FaultProxy, DelaysAndDrips) {
    scene with({.latency = 20ms, .jitter = 1ms});
    io::socket client = co_await with.connect();
    auto begin = weir::now();
    co_await client.write("x");
    std::array<char, 1> one{};
    co_await io::read_exact(client, one);
    EXPECT_GE(weir::now() - begin, 40ms);
    with.proxy.set({.drip = 10, .drip_every = 2ms});
    begin = weir::now();
    const std::string came = co_await round_trip(client, pattern(100));
    EXPECT_EQ(came, pattern(100));
    EXPECT_GE(weir::now() - begin, 18ms);
    io::socket second = co_await with.connect();
    with.proxy.set({.bandwidth = 100'000});
    begin = weir::now();
    const std::string slow = co_await round_trip(second, pattern(5000));
    EXPECT_EQ(slow, pattern(5000));
    EXPECT_GE(weir::now() - begin, 40ms);
    co_await with.end();
}

WEIR_IO_TEST(FaultProxy, Resets) {
    scene with({.reset_after = 1000});
    io::socket client = co_await with.connect();
    co_await client.write(pattern(5000));
    int error = co_await read_error(client);
    EXPECT_EQ(error, ECONNRESET);

    with.proxy.set({.resets = 1});
    io::socket second = co_await with.connect();
    co_await second.write("x");
    error = co_await read_error(second);
    EXPECT_EQ(error, ECONNRESET);

    with.proxy.set({});
    io::socket third = co_await with.connect();
    co_await third.write("x");
    std::array<char, 1> one{};
    co_await io::read_exact(third, one);
    with.proxy.reset_all();
    error = co_await read_error(third);
    EXPECT_EQ(error, ECONNRESET);
    EXPECT_EQ(with.proxy.stats().resets, 3u);

    with.proxy.set({.refusals = 1});
    io::socket fourth = co_await with.connect();
    error = co_await read_error(fourth);
    EXPECT_EQ(error, ECONNRESET);

    // A reset by an end is passed on to the other.
    with.proxy.set({});
    io::socket fifth = co_await with.connect();
    co_await fifth.write("x");
    co_await io::read_exact(fifth, one);
    const int before = with.resets_seen;
    fifth.reset();
    for (int i = 0; i < 1000 && with.resets_seen == before; ++i) {
        co_await weir::sleep(1ms);
    }
    EXPECT_EQ(with.resets_seen, before + 1);
    co_await with.end();
}

WEIR_IO_TEST(FaultProxy, HalfOpenUntilHealed) {
    scene with;
    io::socket client = co_await with.connect();
    with.proxy.set({.half_open = true});
    co_await client.write("hello");
    std::array<char, 5> into{};
    const auto reading = weir::spawn(io::read_exact(client, into));
    co_await weir::sleep(30ms);
    EXPECT_FALSE(reading.done());
    with.proxy.set({});
    co_await reading;
    EXPECT_EQ(std::string(into.begin(), into.end()), "hello");
    with.proxy.set({.half_open = true});  // and stopped in that state
    co_await client.write("again");
    co_await weir::sleep(1ms);
    co_await with.end();
}

WEIR_IO_TEST(FaultProxy, ATargetThatIsGoneResetsTheClient) {
    io::address nobody;
    {
        const io::listener closed = io::listen(io::address::loopback(0));
        nobody = closed.local_address();
    }
    fault_proxy proxy(nobody);
    io::socket client = co_await io::connect(proxy.address());
    const int error = co_await read_error(client);
    EXPECT_EQ(error, ECONNRESET);
    EXPECT_EQ(proxy.stats().unreachable, 1u);
    EXPECT_THROW(proxy.set({.resets = -1}), weir::invalid_argument);
    EXPECT_THROW(proxy.set({.latency = -1ms}), weir::invalid_argument);
    EXPECT_THROW(proxy.set({.jitter = weir::clock::duration::max()}), weir::invalid_argument);
    EXPECT_THROW(fault_proxy(nobody, {.bandwidth = 0.5}), weir::invalid_argument);
    // Destroyed without close(): its tasks end with the loop at the latest.
}

// Lines cut short by timeouts, through a proxy that drips: the reader loses no bytes on real
// sockets either, with and without memory while it waits.
WEIR_IO_TEST(BufferedReaderOnSockets, LosesNothingToTimeouts) {
    scene with({.drip = 7, .drip_every = 200us});
    std::string sent;
    for (int i = 0; i < 60; ++i) {
        sent += pattern(static_cast<std::size_t>(i % 23)) + "\r\n";
    }
    for (const std::size_t idle : {0u, 16u}) {
        io::socket client = co_await with.connect();
        const auto sending = weir::spawn([&]() -> task<> {
            co_await client.write(sent);
            co_await client.close_write();
        });
        io::buffered_reader reader(client, {.capacity = 64, .idle_capacity = idle});
        std::string came;
        int cuts = 0;
        for (;;) {
            std::optional<std::string_view> line;
            bool is_cut = false;
            try {
                line = co_await weir::timeout(std::chrono::microseconds(1 + 37 * (cuts % 20)),
                                              reader.read_line(100));
            } catch (const weir::timed_out&) {
                is_cut = true;
            }
            if (is_cut) {
                ++cuts;
                continue;
            }
            if (!line.has_value()) {
                break;
            }
            came += std::string(*line) + "\r\n";
        }
        EXPECT_EQ(came, sent);
        EXPECT_GT(cuts, 0);
        co_await sending;
    }
    co_await with.end();
}

WEIR_IO_TEST(AnyStreamOnSockets, IsAStream) {
    scene with;
    io::any_stream stream(co_await with.connect());
    io::buffered_writer writer(stream);
    co_await writer.write("over ");
    co_await writer.write("sockets");
    co_await writer.close_write();
    const std::string came = co_await io::read_all(stream, 100);
    EXPECT_EQ(came, "over sockets");
    co_await with.end();
}

}  // namespace
