// SPDX-License-Identifier: MIT
// The order in which the addresses of a host are tried: RFC 6724 and RFC 8305.

#include "io/net/address_order.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using weir::io::address;
using words = std::vector<std::string>;

std::vector<address> parsed(const words& from) {
    std::vector<address> made;
    for (const std::string& each : from) {
        made.push_back(address::parse(each, 0));
    }
    return made;
}

TEST(AddressOrder, SourcesAreThoseOfTheRoute) {
    const std::optional<address> own = weir::io::detail::source_for(address::loopback(80));
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(own->host(), "127.0.0.1");
    EXPECT_FALSE(weir::io::detail::source_for(address::local("/tmp/none")).has_value());
}

// The examples of RFC 6724, section 10.2.
TEST(AddressOrder, FollowsTheExamplesOfTheStandard) {
    const auto ordered = [](const words& destinations, const std::vector<std::string>& sources) {
        std::vector<address> list = parsed(destinations);
        weir::io::detail::sort_by_preference(
            list, [&](const address& to) -> std::optional<address> {
                std::optional<address> best;
                for (const std::string& each : sources) {
                    const address from = address::parse(each, 0);
                    const bool same_scope =
                        (each.starts_with("fe80") || each.starts_with("169.254")) ==
                        (to.host().starts_with("fe80") || to.host().starts_with("169.254"));
                    if (from.kind() == to.kind() && (!best || same_scope)) {
                        best = from;
                    }
                }
                return best;
            });
        words made;
        for (const address& each : list) {
            made.push_back(each.host());
        }
        return made;
    };
    // Scope decides, for both families.
    EXPECT_EQ(
        ordered({"2001:db8:1::1", "198.51.100.121"}, {"2001:db8:1::2", "fe80::1", "169.254.13.78"}),
        (words{"2001:db8:1::1", "198.51.100.121"}));
    EXPECT_EQ(ordered({"2001:db8:1::1", "198.51.100.121"}, {"fe80::1", "198.51.100.117"}),
              (words{"198.51.100.121", "2001:db8:1::1"}));
    // IPv6 before IPv4, where all is equal.
    EXPECT_EQ(ordered({"10.1.2.3", "2001:db8:1::1"}, {"2001:db8:1::2", "10.1.2.4"}),
              (words{"2001:db8:1::1", "10.1.2.3"}));
    // The loopback address is of the link's scope.
    EXPECT_EQ(ordered({"2001:db8:1::1", "::1"}, {"fe80::1"}), (words{"::1", "2001:db8:1::1"}));
    // The smaller scope; that of a site is larger than that of a link.
    EXPECT_EQ(ordered({"fec0::1", "fe80::1"}, {"fec0::2", "fe80::2"}),
              (words{"fe80::1", "fec0::1"}));
    EXPECT_EQ(ordered({"2001:db8:1::1", "fe80::1"}, {"2001:db8:1::2", "fe80::2"}),
              (words{"fe80::1", "2001:db8:1::1"}));
    // The matching label: native before 6to4.
    EXPECT_EQ(ordered({"2001:db8:1::1", "2002:c633:6401::1"}, {"2002:c633:6401::2"}),
              (words{"2002:c633:6401::1", "2001:db8:1::1"}));
    // Unique local addresses after IPv4; addresses without a source address: last.
    EXPECT_EQ(ordered({"fd00::1", "10.1.2.3"}, {"fd00::2", "10.1.2.4"}),
              (words{"10.1.2.3", "fd00::1"}));
    EXPECT_EQ(ordered({"2001:db8::1", "10.1.2.3"}, {"10.1.2.4"}),
              (words{"10.1.2.3", "2001:db8::1"}));
    // The longer common prefix; IPv4 keeps its order.
    EXPECT_EQ(ordered({"2001:db8:ffff::1", "2001:db8:1::1"}, {"2001:db8:1::9"}),
              (words{"2001:db8:1::1", "2001:db8:ffff::1"}));
    EXPECT_EQ(ordered({"10.0.0.9", "10.0.0.1", "10.0.0.5"}, {"10.0.0.1"}),
              (words{"10.0.0.9", "10.0.0.1", "10.0.0.5"}));

    const auto interleaved = [](const words& given) {
        std::vector<address> list = parsed(given);
        weir::io::detail::interleave_families(list);
        words made;
        for (const address& each : list) {
            made.push_back(each.host());
        }
        return made;
    };
    EXPECT_EQ(interleaved({"::1", "::2", "::3", "10.0.0.1", "10.0.0.2"}),
              (words{"::1", "10.0.0.1", "::2", "10.0.0.2", "::3"}));
    EXPECT_EQ(interleaved({"10.0.0.1", "10.0.0.2", "::1"}), (words{"10.0.0.1", "::1", "10.0.0.2"}));
    EXPECT_EQ(interleaved({}), words{});
}

}  // namespace
