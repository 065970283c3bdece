// SPDX-License-Identifier: MIT
// buffered_reader: what each call promises, its cost in memory, and its response to misuse and
// hostile input. buffered_property_test.cpp attacks the promise that no byte is lost.

#include "testing/io/stream_support.hpp"

#include <weir/io/any_stream.hpp>
#include <weir/io/buffered_reader.hpp>

namespace {

using namespace stream_tests;
using io::buffered_reader;

static_assert(io::byte_source<buffered_reader<simulated_stream&>>);

// Returns scripted chunks, one per read, and counts the reads.
struct scripted_source {
    std::vector<std::string> chunks;
    std::size_t next = 0;
    std::size_t largest_read = 0;

    task<std::size_t> read(io::bytes into) {
        largest_read = std::max(largest_read, into.size());
        co_await weir::yield();
        if (next == chunks.size()) {
            co_return 0;
        }
        std::string& chunk = chunks[next];
        const std::size_t count = std::min(into.size(), chunk.size());
        std::copy_n(chunk.data(), count, reinterpret_cast<char*>(into.data()));
        chunk.erase(0, count);
        next += chunk.empty() ? 1 : 0;
        co_return count;
    }
};

task<std::string> line_of(auto& reader, std::size_t limit = 100) {
    const std::optional<std::string_view> line = co_await reader.read_line(limit);
    co_return line.has_value() ? std::string(*line) : "(end)";
}

WEIR_TEST(BufferedReader, LinesInAnyChunks) {
    for (const std::vector<std::string>& chunks :
         {std::vector<std::string>{"one\ntwo\r\n\n\r\nthree\rx\n"},
          {"o", "ne\n", "two\r", "\n\n\r", "\nthree\rx", "\n"},
          {"one", "\n", "two", "\r\n", "\n", "\r\n", "three", "\r", "x", "\n"}}) {
        buffered_reader reader(scripted_source{chunks});
        for (const char* expected : {"one", "two", "", "", "three\rx", "(end)", "(end)"}) {
            const std::string line = co_await line_of(reader);
            EXPECT_EQ(line, expected);
        }
    }
}

WEIR_TEST(BufferedReader, TheLastLineWithoutEnding) {
    buffered_reader strict(scripted_source{{"one\ntw", "o"}});
    std::string line = co_await line_of(strict);
    EXPECT_EQ(line, "one");
    WEIR_EXPECT_THROW_WITH(strict.read_line(100), weir::end_of_stream,
                           "read_line: the stream ended after 3 bytes of a line");
    EXPECT_EQ(strict.buffered(), "two");  // nothing is lost
    const std::optional<std::string_view> last =
        co_await strict.read_line(100, io::unterminated_line::accept);
    EXPECT_EQ(last, "two");
    line = co_await line_of(strict);
    EXPECT_EQ(line, "(end)");
}

WEIR_TEST(BufferedReader, DelimitersAndLengths) {
    buffered_reader reader(scripted_source{
        {"GET / HTTP/1.1\r", "\nhost: x\r\n\r", "\nbodybo", "dybody", "12345;tail"}});
    std::optional<std::string_view> text = co_await reader.read_until("\r\n\r\n", 100);
    EXPECT_EQ(text, "GET / HTTP/1.1\r\nhost: x");
    std::string_view piece = co_await reader.read_exact(8);
    EXPECT_EQ(piece, "bodybody");
    piece = co_await reader.peek(6);
    EXPECT_EQ(piece, "body12");
    piece = co_await reader.peek(2);
    EXPECT_EQ(piece, "bo");
    co_await reader.skip(6);
    text = co_await reader.read_through(";", 10);
    EXPECT_EQ(text, "345;");
    piece = co_await reader.peek(100);
    EXPECT_EQ(piece, "tail");
    WEIR_EXPECT_THROW_WITH(reader.read_exact(5), weir::end_of_stream,
                           "read_exact: the stream ended after 4 of 5 bytes");
    WEIR_EXPECT_THROW_WITH(reader.read_until("\x01\r\n", 50), weir::end_of_stream,
                           "read_until: the stream ended after 4 bytes, before '\\x01\\r\\n'");
    WEIR_EXPECT_THROW_WITH(reader.skip(7), weir::end_of_stream,
                           "skip: the stream ended after 4 of 7 bytes");
    text = co_await reader.read_until("x", 10);
    EXPECT_EQ(text, std::nullopt);
    piece = co_await reader.peek(1);
    EXPECT_EQ(piece, "");
    WEIR_EXPECT_THROW(reader.read_until("", 10), weir::invalid_argument);
}

WEIR_TEST(BufferedReader, LimitsAreNamedAndExact) {
    for (const std::string& text : {std::string("12345\n"), std::string("12345\r\n")}) {
        buffered_reader fits(scripted_source{{text}});
        const std::string line = co_await line_of(fits, 5);
        EXPECT_EQ(line, "12345");
        buffered_reader over(scripted_source{{text.substr(0, 3), text.substr(3)}});
        WEIR_EXPECT_THROW_WITH(over.read_line(4), weir::limit_exceeded,
                               "read_line: no end of the line within the limit of 4 bytes");
        EXPECT_EQ(over.buffered().substr(0, 5), "12345");
    }
    buffered_reader fits(scripted_source{{"1234", "5--", "x"}});
    const std::optional<std::string_view> text = co_await fits.read_until("--", 5);
    EXPECT_EQ(text, "12345");
    buffered_reader over(scripted_source{{"12345", "6", "--"}});
    WEIR_EXPECT_THROW_WITH(over.read_until("--", 5), weir::limit_exceeded,
                           "read_until: no '--' within the limit of 5 bytes");
    buffered_reader nothing(scripted_source{{"\n\nx"}});
    const std::string empty = co_await line_of(nothing, 0);
    EXPECT_EQ(empty, "");
}

// A peer that never ends its line gets no more memory than the limit, and one that announces a huge
// message gets none before it sends the message.
WEIR_TEST(BufferedReader, MemoryFollowsWhatArrives) {
    simulated_network net;
    auto [near, far] = net.pair();
    buffered_reader reader(far);
    EXPECT_EQ(reader.memory(), 0u);
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, reader.read_exact(std::size_t{1} << 40)));
    EXPECT_EQ(reader.memory(), 1024u);
    const auto flood =
        weir::spawn([&near = near]() -> task<> { co_await near.write(std::string(1 << 20, 'x')); });
    WEIR_EXPECT_THROW(reader.read_line(100'000), weir::limit_exceeded);
    EXPECT_LE(reader.memory(), 400'000u);
    far.close();
    WEIR_EXPECT_THROW(flood, weir::io_error);
}

WEIR_TEST(BufferedReader, IsSmallWhenIdle) {
    simulated_network net;
    auto [near, far] = net.pair();
    buffered_reader reader(far, {.capacity = 8192, .idle_capacity = 512});
    for (int round = 0; round < 3; ++round) {
        co_await near.write(pattern(20'000));
        co_await reader.skip(5000);
        EXPECT_EQ(reader.memory(), 8192u);  // there is traffic
        co_await reader.read_exact(15'000);
        const auto waiting = weir::spawn(reader.read_line(100));
        co_await weir::sleep(1s);
        EXPECT_EQ(reader.memory(), 512u);
        co_await near.write("hello\n");
        const std::optional<std::string_view> line = co_await waiting;
        EXPECT_EQ(line, "hello");
    }
    buffered_reader frugal(far, {.capacity = 8192, .idle_capacity = 0});
    const auto waiting = weir::spawn(frugal.read_exact(3));
    co_await weir::sleep(1s);
    EXPECT_EQ(frugal.memory(), 0u);
    co_await near.write("abc");
    const std::string_view three = co_await waiting;
    EXPECT_EQ(three, "abc");
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, frugal.read_line(10)));
    EXPECT_EQ(frugal.memory(), 0u);
    buffered_reader erased(io::any_stream(std::move(far)), {.capacity = 8192, .idle_capacity = 0});
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, erased.read_line(10)));
    EXPECT_EQ(erased.memory(), 256u);
    buffered_reader keeping(near, {.capacity = 4096, .idle_capacity = 4096});
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, keeping.read_line(10)));
    EXPECT_EQ(keeping.memory(), 4096u);
}

WEIR_TEST(BufferedReader, LargeReadsGoStraightThrough) {
    scripted_source source{{std::string(5000, 'a'), "bcd"}};
    buffered_reader reader(source, {.capacity = 1000, .idle_capacity = 1000});
    std::array<char, 4096> into{};
    std::size_t count = co_await reader.read(into);
    EXPECT_EQ(count, 4096u);
    EXPECT_EQ(reader.memory(), 0u);
    std::array<char, 10> small{};
    count = co_await reader.read(small);
    EXPECT_EQ(count, 10u);
    EXPECT_EQ(reader.buffered().size(), 894u);
    count = co_await reader.read(io::bytes());
    EXPECT_EQ(count, 0u);
    count = co_await reader.read(into);
    EXPECT_EQ(count, 894u);
    count = co_await reader.read(small);
    EXPECT_EQ(std::string(small.data(), count), "bcd");
    count = co_await reader.read(small);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(BufferedReader, OneTaskAtATime) {
    simulated_network net;
    auto [near, far] = net.pair();
    buffered_reader reader(far);
    const auto first = weir::spawn(reader.read_line(100));
    co_await weir::testing::settle_all();
    WEIR_EXPECT_THROW_WITH(reader.peek(1), weir::invalid_state, "another task is using it");
    EXPECT_THROW(reader.consume(0), weir::invalid_state);
    co_await near.write("a\nb");
    const std::optional<std::string_view> line = co_await first;
    EXPECT_EQ(line, "a");
    EXPECT_THROW(reader.consume(2), weir::invalid_argument);
    reader.consume(1);
    EXPECT_EQ(reader.buffered(), "");
    EXPECT_THROW(buffered_reader(far, {.capacity = 0}), weir::invalid_argument);
}

// Bytes that arrived before an error can be read after it, and a parser sees each byte once.
WEIR_TEST(BufferedReader, FillAndConsumeServeParsers) {
    simulated_network net({.link = rough()});
    auto [near, far] = net.pair();
    buffered_reader reader(std::move(far), {.capacity = 64, .idle_capacity = 16});
    const std::string sent = pattern(2000);
    const auto sender = weir::spawn(send(near, sent));
    std::string seen;
    for (;;) {
        const std::size_t came = co_await reader.fill();
        if (came == 0) {
            break;
        }
        const std::size_t used = (reader.buffered().size() + 1) / 2;
        seen += reader.buffered().substr(0, used);
        reader.consume(used);
    }
    seen += reader.buffered();
    EXPECT_EQ(seen, sent);
    co_await sender;
}

WEIR_TEST(BufferedReader, CanBeMovedBetweenCalls) {
    buffered_reader first(scripted_source{{"one\ntwo\n", "three\n"}});
    std::string line = co_await line_of(first);
    EXPECT_EQ(line, "one");
    auto second = std::move(first);
    for (const char* expected : {"two", "three", "(end)"}) {
        line = co_await line_of(second);
        EXPECT_EQ(line, expected);
    }
}

}  // namespace
