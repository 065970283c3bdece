// SPDX-License-Identifier: MIT
// Addresses: parsing, formatting, and invalid texts.

#include <weir/error.hpp>
#include <weir/io/address.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <unordered_set>

namespace {

using weir::io::address;

TEST(Address, ReadsAndWrites) {
    struct {
        std::string_view text;
        std::string_view written;
        address::family kind;
    } const cases[] = {
        {"127.0.0.1:80", "127.0.0.1:80", address::family::ipv4},
        {":0", "[::]:0", address::family::ipv6},
        {"0.0.0.0:0", "0.0.0.0:0", address::family::ipv4},
        {"255.255.255.255:65535", "255.255.255.255:65535", address::family::ipv4},
        {"[::1]:80", "[::1]:80", address::family::ipv6},
        {"[::]:1", "[::]:1", address::family::ipv6},
        {"[2001:DB8:0:0::1]:443", "[2001:db8::1]:443", address::family::ipv6},
        {"[::ffff:10.1.2.3]:9", "[::ffff:10.1.2.3]:9", address::family::ipv6},
        {"[fe80::1%1]:5", "[fe80::1%lo]:5", address::family::ipv6},
        {"unix:/run/some.sock", "unix:/run/some.sock", address::family::local},
        {"unix:@abstract:name", "unix:@abstract:name", address::family::local},
        {"unix:relative", "unix:relative", address::family::local},
    };
    for (const auto& each : cases) {
        const address read = address::parse(each.text);
        EXPECT_EQ(read.text(), each.written);
        EXPECT_EQ(read.kind(), each.kind) << each.text;
        EXPECT_EQ(address::parse(read.text()), read);
        EXPECT_EQ(address::from(read.data(), read.size()), read);
    }
    EXPECT_EQ(address::parse("10.0.0.1", 7).text(), "10.0.0.1:7");
    EXPECT_EQ(address::parse("::1", 7).text(), "[::1]:7");
    EXPECT_EQ(address::parse("[::1]", 7).text(), "[::1]:7");
    EXPECT_EQ(address::loopback(1).with_port(65535).port(), 65535);
    EXPECT_EQ(address().text(), "unnamed");
}

TEST(Address, MappedAddressesStandForIpv4) {
    EXPECT_EQ(address::parse("[::ffff:10.1.2.3]:9").unmapped(), address::parse("10.1.2.3:9"));
    for (const char* const same : {"10.1.2.3:9", "[::1]:9", "[::10.1.2.3]:9", "unix:/a"}) {
        EXPECT_EQ(address::parse(same).unmapped(), address::parse(same));
    }
    EXPECT_EQ(address().unmapped(), address());
}

TEST(Address, KnowsWhichAreAllOfAMachine) {
    for (const char* const all : {":80", "[::]:80", "0.0.0.0:80"}) {
        EXPECT_TRUE(address::parse(all).is_any()) << all;
    }
    for (const char* const one : {"127.0.0.1:80", "[::1]:80", "unix:/a"}) {
        EXPECT_FALSE(address::parse(one).is_any()) << one;
    }
    EXPECT_FALSE(address().is_any());
}

TEST(Address, RefusesWithAReason) {
    struct {
        std::string text;
        std::string_view reason;
    } const cases[] = {
        {"", "a port is missing"},
        {"127.0.0.1", "a port is missing"},
        {"127.0.0.1:", "the port must be a number from 0 to 65535"},
        {"127.0.0.1:65536", "the port must be a number from 0 to 65535"},
        {"127.0.0.1:-1", "the port must be a number from 0 to 65535"},
        {"127.0.0.1:+1", "the port must be a number from 0 to 65535"},
        {"127.0.0.1: 80", "the port must be a number from 0 to 65535"},
        {"127.0.0.1:0x50", "the port must be a number from 0 to 65535"},
        {"::1:80", "an IPv6 address with a port is written [address]:port"},
        {"256.0.0.1:80", "neither an IPv4 address"},
        {"127.1:80", "neither an IPv4 address"},  // old short forms mean other things to others
        {"0127.0.0.1:80", "neither an IPv4 address"},  // octal or decimal?
        {"2130706433:80", "neither an IPv4 address"},
        {"localhost:80", "neither an IPv4 address"},
        {"[127.0.0.1]:80", "neither an IPv4 address"},
        {"[::1:80", "neither an IPv4 address"},
        {"[]:80", "neither an IPv4 address"},
        {std::string("127.0.0.1\0:80", 13), "neither an IPv4 address"},
        {"[fe80::1%no-such-interface]:80", "neither an IPv4 address"},
        {"unix:", "1 to 107 bytes"},
        {"unix:" + std::string(108, 'x'), "1 to 107 bytes"},
        {std::string("unix:a\0b", 8), "a zero byte"},
    };
    for (const auto& each : cases) {
        try {
            address::parse(each.text);
            ADD_FAILURE() << each.text << " was taken";
        } catch (const weir::invalid_argument& error) {
            const std::string_view what = error.what();
            EXPECT_NE(what.find(each.reason), std::string_view::npos) << what;
            const std::size_t plain = each.text.find_first_of(std::string_view("\0", 1));
            EXPECT_TRUE(what.starts_with("'" + each.text.substr(0, plain))) << what;
        }
    }
}

TEST(Address, OfWhateverSizeTheSystemsFormIsGiven) {
    sockaddr_storage raw;
    std::memset(&raw, 0x55, sizeof raw);
    const address v4 = address::parse("127.0.0.1:80");
    std::memcpy(&raw, v4.data(), 8);  // the part that is used
    EXPECT_EQ(address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw), v4);
    EXPECT_EQ(address::from(reinterpret_cast<const sockaddr*>(&raw), v4.size()), v4);
    EXPECT_EQ(address::from(reinterpret_cast<const sockaddr*>(&raw), 8), address());
    const address v6 = address::parse("[::1]:80");
    std::memcpy(&raw, v6.data(), v6.size());
    EXPECT_EQ(address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw), v6);
    EXPECT_EQ(address::from(nullptr, 0), address());
}

TEST(Address, IsAKeyAndIsPrinted) {
    std::unordered_set<address> known{address::parse("[::1]:1"), address::loopback(1)};
    EXPECT_TRUE(known.contains(address::parse("127.0.0.1:1")));
    EXPECT_FALSE(known.contains(address::parse("127.0.0.1:2")));
    std::ostringstream out;
    out << address::loopback_v6(7);
    EXPECT_EQ(out.str(), "[::1]:7");
}

TEST(Address, Loopback) {
    for (const char* text :
         {"127.0.0.1:1", "127.255.0.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:x"}) {
        EXPECT_TRUE(address::parse(text).is_loopback()) << text;
    }
    for (const char* text :
         {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1", "[::ffff:10.0.0.1]:1"}) {
        EXPECT_FALSE(address::parse(text).is_loopback()) << text;
    }
    EXPECT_FALSE(address().is_loopback());
}

TEST(Address, AnyTextIsReadOrRefused) {
    std::mt19937 random(1);
    const std::string_view letters = "0123456789abf.:[]%unix/@ \0x";
    int taken = 0;
    for (int round = 0; round < 50'000; ++round) {
        std::string text = round % 2 == 0 ? "127.0.0.1:80" : "[::1]:80";
        for (unsigned change = random() % 4; change > 0; --change) {
            const std::size_t at = random() % text.size();
            if (random() % 3 == 0) {
                text.erase(at, 1);
            } else {
                text.insert(at, 1, letters[random() % letters.size()]);
            }
        }
        try {
            const address read = address::parse(text);
            EXPECT_EQ(address::parse(read.text()), read) << text;
            ++taken;
        } catch (const weir::invalid_argument&) {
        }
    }
    EXPECT_GT(taken, 1000);
}

}  // namespace
