// SPDX-License-Identifier: MIT
// buffered_writer: what each call promises, its cost in memory, and its response to misuse.

#include "support/loops.hpp"
#include "testing/io/stream_support.hpp"

#include <weir/io/buffered.hpp>

namespace {

using namespace stream_tests;
using io::buffered_writer;

static_assert(io::byte_sink<buffered_writer<simulated_stream>>);

// Remembers each write with its pieces.
struct recording_sink {
    std::vector<std::vector<std::string>> writes{};
    std::chrono::milliseconds delay{};
    bool fails = false;
    bool ended = false;

    task<void> write(io::const_bytes data) {
        const std::array<io::const_bytes, 1> one{data};
        co_await write(one);
    }
    task<void> write(std::span<const io::const_bytes> parts) {
        if (delay > 0ms) {
            co_await weir::sleep(delay);
        }
        if (fails) {
            throw weir::io_error(EPIPE, "write to nobody");
        }
        std::vector<std::string>& pieces = writes.emplace_back();
        for (const io::const_bytes& each : parts) {
            if (!each.empty()) {
                pieces.emplace_back(each.text());
            }
        }
    }
    task<void> close_write() {
        ended = true;
        co_return;
    }
    std::string all() const {
        std::string text;
        for (const auto& pieces : writes) {
            for (const std::string& each : pieces) {
                text += each;
            }
        }
        return text;
    }
};

WEIR_TEST(BufferedWriter, GathersAndPassesOn) {
    recording_sink sink;
    buffered_writer writer(sink, {.capacity = 10});
    EXPECT_EQ(writer.memory(), 0u);
    co_await writer.write("abc");
    co_await writer.write("defg");
    co_await writer.write("hij");  // exactly full
    EXPECT_EQ(writer.unflushed(), 10u);
    EXPECT_TRUE(sink.writes.empty());
    co_await writer.write("k");  // goes out with the rest, as one
    EXPECT_EQ(sink.writes, (std::vector<std::vector<std::string>>{{"abcdefghij", "k"}}));
    EXPECT_EQ(writer.unflushed(), 0u);
    co_await writer.write(std::string(11, 'x'));
    EXPECT_EQ(sink.writes.back(), std::vector<std::string>{std::string(11, 'x')});
    co_await writer.flush();  // nothing to do
    EXPECT_EQ(sink.writes.size(), 2u);
    co_await writer.write("12");
    const std::array<io::const_bytes, 2> fits{io::const_bytes("34"), io::const_bytes("567")};
    co_await writer.write(fits);
    EXPECT_EQ(writer.unflushed(), 7u);
    const std::array<io::const_bytes, 2> large{io::const_bytes("89"), io::const_bytes("abc")};
    co_await writer.write(large);
    EXPECT_EQ(sink.writes.back(), (std::vector<std::string>{"1234567", "89", "abc"}));
    co_await writer.write("end");
    co_await writer.close_write();
    EXPECT_EQ(sink.writes.back(), std::vector<std::string>{"end"});
    EXPECT_TRUE(sink.ended);
    EXPECT_THROW(buffered_writer(sink, {.capacity = 0}), weir::invalid_argument);
}

WEIR_TEST(BufferedWriter, GivesItsMemoryBack) {
    recording_sink sink;
    buffered_writer writer(sink, {.capacity = 4096, .idle_capacity = 256});
    co_await writer.write("small");
    EXPECT_EQ(writer.memory(), 256u);
    co_await writer.write(pattern(1000));
    EXPECT_EQ(writer.memory(), 4096u);
    co_await writer.flush();
    EXPECT_EQ(writer.memory(), 0u);
    EXPECT_EQ(sink.all(), "small" + pattern(1000));
}

// After an interrupted write the sent part is unknown: a retry could send it twice.
WEIR_TEST(BufferedWriter, AfterACutWriteItRefusesToGoOn) {
    recording_sink slow{.delay = 10ms};
    buffered_writer writer(slow);
    co_await writer.write("abc");
    WEIR_EXPECT_TIMEOUT(weir::timeout(1ms, writer.flush()));
    EXPECT_EQ(writer.unflushed(), 0u);
    WEIR_EXPECT_THROW_WITH(writer.write("x"), weir::invalid_state, "how much of it was sent");
    WEIR_EXPECT_THROW(writer.flush(), weir::invalid_state);
    recording_sink broken{.fails = true};
    buffered_writer other(broken);
    co_await other.write("abc");
    WEIR_EXPECT_THROW(other.flush(), weir::io_error);
    WEIR_EXPECT_THROW(other.flush(), weir::invalid_state);
    EXPECT_TRUE(slow.writes.empty());
}

WEIR_TEST(BufferedWriter, OneTaskAtATime) {
    recording_sink slow{.delay = 10ms};
    buffered_writer writer(slow);
    co_await writer.write("abc");
    const auto flushing = weir::spawn(writer.flush());
    co_await weir::testing::settle_all();
    WEIR_EXPECT_THROW_WITH(writer.write("x"), weir::invalid_state, "another task is using it");
    writer.discard();
    EXPECT_EQ(writer.unflushed(), 3u) << "the stream has the memory";
    co_await flushing;
    co_await writer.write("d");
    co_await writer.flush();
    EXPECT_EQ(slow.all(), "abcd");
}

TEST(BufferedWriter, UnflushedBytesAreReportedInDebugMode) {
    weir_test::report_log log;
    weir::loop_options options = weir_test::simulated();
    options.debug = true;
    options.on_report = log.handler();
    recording_sink sink;
    auto main = [&sink]() -> task<> {
        {
            buffered_writer forgotten(sink);
            co_await forgotten.write("17 bytes are here");
            buffered_writer moved(std::move(forgotten));  // one report, not two
            static_assert(std::is_same_v<decltype(moved), decltype(forgotten)>);
        }
        {
            buffered_writer meant(sink);
            co_await meant.write("x");
            meant.discard();
        }
        try {
            buffered_writer thrown(sink);
            co_await thrown.write("x");
            throw std::runtime_error("so it does not matter");
        } catch (const std::runtime_error&) {
        }
        const auto stopped = weir::spawn([&sink]() -> task<> {
            buffered_writer unfinished(sink);
            co_await unfinished.write("x");
            co_await weir::sleep_forever();
        });
        co_await weir::sleep(1s);
        stopped.cancel();
        co_await stopped.wait();
    };
    weir::run(main(), std::move(options));
    ASSERT_EQ(log.reports.size(), 1u) << log.text();
    EXPECT_TRUE(weir_test::contains(log.reports[0].message, "17 bytes that were never flushed"));
    EXPECT_TRUE(sink.writes.empty());
}

WEIR_TEST(BufferedWriter, OverANetwork) {
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    buffered_writer writer(near, {.capacity = 50});
    dice random(weir::testing::current_seed());
    const std::string sent = pattern(1500);
    const auto sending = weir::spawn([&]() -> task<> {
        for (std::size_t at = 0; at < sent.size();) {
            const std::size_t count = std::min(sent.size() - at, 1 + random.below(90));
            co_await writer.write(io::const_bytes(sent).after(at).first(count));
            at += count;
        }
        co_await writer.close_write();
    });
    const std::string came = co_await io::read_all(far, 2000);
    EXPECT_EQ(came, sent);
    co_await sending;
}

}  // namespace
