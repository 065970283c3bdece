// SPDX-License-Identifier: MIT
// tls_error: its kind, and the names of the kinds.

#include "io/tls/tls_state.hpp"

#include <weir/io/tls_error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

namespace {

using weir::tls_error;
using weir::tls_failure;

static_assert(std::is_base_of_v<std::runtime_error, tls_error>);

TEST(TlsError, KeepsKindAndMessage) {
    const tls_error refused(tls_failure::verification, "TLS handshake with example.org: expired");
    EXPECT_EQ(refused.kind(), tls_failure::verification);
    EXPECT_STREQ(refused.what(), "TLS handshake with example.org: expired");
}

TEST(TlsError, EveryKindHasItsOwnName) {
    std::set<std::string> names;
    for (const tls_failure each :
         {tls_failure::verification, tls_failure::version, tls_failure::alpn, tls_failure::not_tls,
          tls_failure::handshake, tls_failure::truncated, tls_failure::protocol}) {
        names.insert(to_string(each));
    }
    EXPECT_EQ(names, (std::set<std::string>{"verification", "version", "alpn", "not_tls",
                                            "handshake", "truncated", "protocol"}));
}

TEST(TlsError, TellsForeignInputFromRecords) {
    using weir::tls::detail::describe_foreign_input;
    for (char type = 20; type <= 23; ++type) {
        EXPECT_EQ(describe_foreign_input(std::string{type, 3, 1}), "");
        EXPECT_EQ(describe_foreign_input(std::string{type}), "") << "the version may come later";
        EXPECT_NE(describe_foreign_input(std::string{type, 4}), "");
    }
    EXPECT_EQ(describe_foreign_input(""), "");
    EXPECT_NE(describe_foreign_input(std::string{19, 3}), "");
    EXPECT_NE(describe_foreign_input(std::string{24, 3}), "");
    EXPECT_NE(describe_foreign_input("HTTP/1.1 400 Bad Request").find("plain HTTP"),
              std::string::npos);
}

}  // namespace
