// SPDX-License-Identifier: MIT
// bytes and const_bytes: made from every container of bytes, without copying.

#include <weir/io/buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace {

using weir::io::bytes;
using weir::io::const_bytes;

static_assert(!std::is_constructible_v<bytes, const std::string&>);
static_assert(!std::is_constructible_v<bytes, std::vector<int>&>);
static_assert(!std::is_constructible_v<const_bytes, const std::vector<int>&>);
static_assert(std::is_convertible_v<bytes, const_bytes>);

template <class Container>
void expect_view(Container& held, std::size_t size) {
    const bytes view = held;
    EXPECT_EQ(view.size(), size);
    EXPECT_EQ(static_cast<void*>(view.data()), static_cast<void*>(std::data(held)));
    const const_bytes readable = held;
    EXPECT_EQ(static_cast<const void*>(readable.data()), static_cast<void*>(std::data(held)));
}

TEST(Buffer, RefersToContainersOfBytes) {
    std::string text = "text";
    std::vector<char> chars(5);
    std::vector<unsigned char> octets(6);
    std::array<std::byte, 7> raw{};
    char plain[8] = {};
    expect_view(text, 4);
    expect_view(chars, 5);
    expect_view(octets, 6);
    expect_view(raw, 7);
    EXPECT_EQ(bytes(plain).size(), 8u);
    EXPECT_EQ(bytes(std::span<char>(plain, 3)).size(), 3u);
    EXPECT_TRUE(bytes().empty());
    EXPECT_TRUE(const_bytes().empty());
}

TEST(Buffer, TakesALiteralAsTextWithoutItsFinalZero) {
    const const_bytes view = "four";
    EXPECT_EQ(view.size(), 4u);
    EXPECT_EQ(view.text(), "four");
    EXPECT_EQ(const_bytes(std::string_view("a\0b", 3)).size(), 3u);
}

TEST(Buffer, IsCutIntoBeginningAndRest) {
    std::string text = "beginning and rest";
    const const_bytes all = text;
    EXPECT_EQ(all.first(9).text(), "beginning");
    EXPECT_EQ(all.after(14).text(), "rest");
    EXPECT_TRUE(all.after(text.size()).empty());
    bytes writable = text;
    *writable.after(10).begin() = std::byte{'A'};
    EXPECT_EQ(text, "beginning And rest");
    EXPECT_EQ(all.end() - all.begin(), 18);
}

}  // namespace
