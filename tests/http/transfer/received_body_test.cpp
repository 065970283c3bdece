// SPDX-License-Identifier: MIT
// The buffer between libcurl and the reader of a body.

#include "http/transfer/received_body.hpp"

#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <gtest/gtest.h>

#include <zlib.h>

#include <array>
#include <string>
#include <string_view>

namespace {

using weir::http::transport_error;
using weir::http::detail::received_body;

std::string take(received_body& body, std::size_t size, bool is_last = false) {
    std::string text(size, '\0');
    text.resize(body.take(weir::io::bytes(text), is_last));
    return text;
}

std::string zlib(std::string_view text) {
    std::string packed(compressBound(text.size()), '\0');
    uLongf size = packed.size();
    compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
    packed.resize(size);
    return packed;
}

TEST(ReceivedBody, GivesWhatWasAppendedInOrder) {
    received_body body;
    EXPECT_EQ(take(body, 10), "");
    body.append("hello ");
    EXPECT_EQ(take(body, 2), "he");
    EXPECT_EQ(body.unread(), 4U);
    body.append("world");
    EXPECT_EQ(take(body, 100), "llo world");
    EXPECT_EQ(body.unread(), 0U);
}

TEST(ReceivedBody, MovesOutTheRestUnlessItIsTooLarge) {
    received_body body;
    body.append("0123456789");
    take(body, 4);
    std::string rest;
    EXPECT_FALSE(body.take_all(rest, 5));
    EXPECT_TRUE(body.take_all(rest, 6));
    EXPECT_EQ(rest, "456789");
    EXPECT_EQ(body.unread(), 0U);
}

TEST(ReceivedBody, DecompressesAsItIsRead) {
    received_body body;
    EXPECT_FALSE(body.begin_decoding("unknown", 1000));
    ASSERT_TRUE(body.begin_decoding("deflate", 1000));
    const std::string packed = zlib("compressed text");
    body.append(std::string_view(packed).substr(0, 5));
    std::string text = take(body, 1000);
    body.append(std::string_view(packed).substr(5));
    std::string rest;
    EXPECT_FALSE(body.take_all(rest, 1000));  // it is compressed
    text += take(body, 1000);
    EXPECT_EQ(text, "compressed text");
    EXPECT_EQ(take(body, 1000, true), "");
}

TEST(ReceivedBody, ReportsInvalidAndExcessiveCompressedData) {
    received_body body;
    ASSERT_TRUE(body.begin_decoding("gzip", 1000));
    body.append("this is not gzip");
    EXPECT_THROW(take(body, 1000), transport_error);
    EXPECT_EQ(body.unread(), 0U);
    body.reset();
    ASSERT_TRUE(body.begin_decoding("deflate", 10));
    body.append(zlib("more than ten bytes"));
    EXPECT_THROW(take(body, 1000), weir::limit_exceeded);
    body.reset();
    ASSERT_TRUE(body.begin_decoding("deflate", 1000));
    body.append(zlib("cut short").substr(0, 6));
    take(body, 1000);
    EXPECT_THROW(take(body, 1000, true), transport_error);
}

TEST(ReceivedBody, DropsUpToALimit) {
    received_body body;
    body.append("unwanted");
    body.begin_dropping(10);
    EXPECT_TRUE(body.is_dropping());
    EXPECT_EQ(body.unread(), 0U);
    EXPECT_TRUE(body.drop(7));
    EXPECT_FALSE(body.drop(4));
    EXPECT_TRUE(body.drop(3));
    body.reset();
    EXPECT_FALSE(body.is_dropping());
}

}  // namespace
