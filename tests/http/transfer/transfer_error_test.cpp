// SPDX-License-Identifier: MIT
// Errors of transfers: libcurl's results, and the request in front of every message.

#include "http/transfer/transfer_error.hpp"

#include <weir/http/address_filter.hpp>
#include <weir/http/client_error.hpp>
#include <weir/io/error.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace {

using weir::http::transport_error;
using weir::http::detail::curl_failure;
using weir::http::detail::error_of;
using weir::http::detail::with_request;
using kind = transport_error::kind;

kind kind_of(const curl_failure& failure) {
    try {
        std::rethrow_exception(error_of(failure, "GET http://x/"));
    } catch (const transport_error& error) {
        return error.why();
    }
}

template <class Error>
std::string named(const Error& error) {
    try {
        try {
            throw error;
        } catch (...) {
            std::rethrow_exception(with_request("GET http://x/"));
        }
    } catch (const Error& caught) {
        return caught.what();
    }
}

TEST(TransferError, PutsTheRequestInFrontOfTheMessage) {
    EXPECT_EQ(named(transport_error(kind::tls, "bad")), "GET http://x/: bad");
    EXPECT_EQ(named(weir::limit_exceeded("large")), "GET http://x/: large");
    EXPECT_EQ(
        named(weir::http::request_timed_out(weir::http::request_timed_out::limit::stall, "t")),
        "GET http://x/: t");
    EXPECT_EQ(named(weir::resolve_error("unknown")), "GET http://x/: unknown");
    EXPECT_EQ(named(weir::http::address_refused("no", "x", weir::io::address::loopback(80))),
              "GET http://x/: no");
    EXPECT_EQ(named(std::runtime_error("somebody else's")), "somebody else's");
}

TEST(TransferError, MapsResultsOfLibcurl) {
    EXPECT_EQ(kind_of({CURLE_COULDNT_CONNECT, "", false, false}), kind::connect);
    EXPECT_EQ(kind_of({CURLE_COULDNT_CONNECT, "", false, true}), kind::proxy);
    EXPECT_EQ(kind_of({CURLE_PEER_FAILED_VERIFICATION, "", false, false}), kind::tls);
    EXPECT_EQ(kind_of({CURLE_RECV_ERROR, "", true, true}), kind::closed);
    EXPECT_EQ(kind_of({CURLE_RECV_ERROR, "", false, true}), kind::proxy);
    EXPECT_EQ(kind_of({CURLE_WEIRD_SERVER_REPLY, "", true, false}), kind::protocol);
    EXPECT_EQ(kind_of({CURLE_WRITE_ERROR, "", true, false}), kind::other);
    const auto rethrow = [](const curl_failure& failure) {
        std::rethrow_exception(error_of(failure, "GET /"));
    };
    EXPECT_THROW(rethrow({CURLE_OUT_OF_MEMORY, "", true, false, true}), std::bad_alloc);
    EXPECT_THROW(rethrow({CURLE_OUT_OF_MEMORY, "", false, false}), std::bad_alloc);
    // So libcurl reports a line of a head that is longer than its own limit.
    EXPECT_THROW(rethrow({CURLE_OUT_OF_MEMORY, "", true, false}), weir::limit_exceeded);
    EXPECT_THROW(rethrow({CURLE_RECV_ERROR, "Too large response headers: 9 > 8", true, false}),
                 weir::limit_exceeded);
    EXPECT_THROW(
        std::rethrow_exception(error_of({CURLE_OPERATION_TIMEDOUT, "", false, false}, "GET /")),
        weir::http::request_timed_out);
}

TEST(TransferError, PrefersTheMessageOfLibcurl) {
    const auto text_of = [](const char* text) -> std::string {
        try {
            std::rethrow_exception(
                error_of({CURLE_COULDNT_CONNECT, text, false, false}, "GET http://x/"));
        } catch (const transport_error& error) {
            return error.what();
        }
    };
    EXPECT_EQ(text_of("port 81 refused"), "GET http://x/: port 81 refused");
    EXPECT_EQ(text_of(""),
              std::string("GET http://x/: ") + curl_easy_strerror(CURLE_COULDNT_CONNECT));
}

}  // namespace
