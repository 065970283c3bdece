// SPDX-License-Identifier: MIT
// The errors of the layer: their messages and base classes.

#include <weir/io/error.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <system_error>
#include <type_traits>

namespace {

static_assert(std::is_base_of_v<std::system_error, weir::io_error>);
static_assert(std::is_base_of_v<std::runtime_error, weir::end_of_stream>);
static_assert(std::is_base_of_v<std::runtime_error, weir::limit_exceeded>);
static_assert(std::is_base_of_v<std::runtime_error, weir::resolve_error>);

TEST(Error, NamesTheAttemptAndTheReason) {
    const weir::io_error refused(ECONNREFUSED, "connect to 127.0.0.1:81");
    EXPECT_STREQ(refused.what(), "connect to 127.0.0.1:81: Connection refused");
    EXPECT_EQ(refused.code(), std::errc::connection_refused);
    EXPECT_EQ(refused.code().category(), std::system_category());
}

TEST(Error, KeepsACodeOfAnyCategory) {
    const std::error_code code = std::make_error_code(std::errc::broken_pipe);
    const weir::io_error broken(code, "write");
    EXPECT_EQ(broken.code(), code);
    EXPECT_TRUE(std::string(broken.what()).starts_with("write: "));
}

TEST(Error, OthersSayWhatTheyAreGiven) {
    EXPECT_STREQ(weir::end_of_stream("read_exact: 3 of 5 bytes").what(),
                 "read_exact: 3 of 5 bytes");
    EXPECT_STREQ(weir::limit_exceeded("too long").what(), "too long");
    EXPECT_STREQ(weir::resolve_error("cannot resolve x").what(), "cannot resolve x");
}

}  // namespace
