// SPDX-License-Identifier: MIT
// The memory under buffered readers and writers: its content and its size.

#include <weir/error.hpp>
#include <weir/io/stream_buffer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

using weir::io::bytes;
using weir::io::const_bytes;
using weir::io::read_buffer;
using weir::io::write_buffer;

// As a read of the stream that brings `text`, or as much of it as there is room for.
std::size_t fill(read_buffer& buffer, std::string_view text) {
    const bytes room = buffer.prepare();
    const std::size_t count = std::min(room.size(), text.size());
    std::copy_n(text.data(), count, reinterpret_cast<char*>(room.data()));
    return buffer.commit(room, count);
}

TEST(StreamBuffer, RefusesACapacityOfZero) {
    EXPECT_THROW(read_buffer({.capacity = 0}), weir::invalid_argument);
    EXPECT_THROW(write_buffer({.capacity = 0}), weir::invalid_argument);
}

TEST(StreamBuffer, KeepsWhatIsNotTaken) {
    read_buffer buffer({.capacity = 64});
    EXPECT_EQ(buffer.memory(), 0u);
    EXPECT_EQ(fill(buffer, "hello "), 6u);
    EXPECT_EQ(fill(buffer, "world"), 5u);
    EXPECT_EQ(buffer.text(), "hello world");
    EXPECT_EQ(buffer.take(6), "hello ");
    EXPECT_EQ(buffer.text(), "world");
    EXPECT_EQ(buffer.size(), 5u);
}

TEST(StreamBuffer, GrowsWithTrafficAndShrinksWhenDrained) {
    read_buffer buffer({.capacity = 64, .idle_capacity = 8});
    fill(buffer, std::string(8, 'x'));  // fills the room: there may be more
    EXPECT_EQ(buffer.memory(), 8u);
    fill(buffer, std::string(20, 'y'));
    EXPECT_EQ(buffer.memory(), 64u);
    EXPECT_EQ(buffer.size(), 28u);
    buffer.take(28);
    buffer.prepare();
    EXPECT_EQ(buffer.memory(), 8u);
}

TEST(StreamBuffer, DoublesForContentLongerThanItsCapacity) {
    read_buffer buffer({.capacity = 8, .idle_capacity = 8});
    for (int round = 0; round < 5; ++round) {
        fill(buffer, std::string(8, static_cast<char>('a' + round)));
    }
    EXPECT_EQ(buffer.text().substr(0, 16), "aaaaaaaabbbbbbbb");
    EXPECT_GE(buffer.memory(), buffer.size());
}

TEST(StreamBuffer, SkipsBytesThatHaveNotArrivedYet) {
    read_buffer buffer({.capacity = 64});
    fill(buffer, "abc");
    EXPECT_EQ(buffer.skip(5), 5u);
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.to_skip(), 2u);
    EXPECT_EQ(fill(buffer, "defg"), 2u);
    EXPECT_EQ(buffer.text(), "fg");
    buffer.skip(10);
    EXPECT_EQ(buffer.forget_skip(10), 2u);
    EXPECT_EQ(buffer.to_skip(), 0u);
}

TEST(StreamBuffer, CollectsWritesUpToItsCapacity) {
    write_buffer buffer({.capacity = 10, .idle_capacity = 4});
    EXPECT_TRUE(buffer.has_room_for(10));
    buffer.append(const_bytes("123"));
    EXPECT_EQ(buffer.memory(), 4u);
    buffer.append(const_bytes("4567"));
    EXPECT_EQ(buffer.text(), "1234567");
    EXPECT_TRUE(buffer.has_room_for(3));
    EXPECT_FALSE(buffer.has_room_for(4));
    buffer.clear();
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.memory(), 0u);
}

}  // namespace
