// SPDX-License-Identifier: MIT
// The address filter as a classifier: a table of addresses, a naive model, and spellings in URLs.

#include <weir/error.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/url.hpp>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <bitset>
#include <random>
#include <string>
#include <vector>

using weir::http::address_class;
using weir::http::address_filter;
using weir::http::address_range;
using weir::http::classify;
using weir::http::url;
using weir::io::address;

namespace {

address at(std::string_view host) {
    return address::parse(host, 80);
}

struct expectation {
    std::string_view host;
    address_class kind;
};

// First and last of each range, and what lies around it.
constexpr expectation table[] = {
    {"0.0.0.0", address_class::unspecified},
    {"0.255.255.255", address_class::unspecified},
    {"1.0.0.0", address_class::public_},
    {"8.8.8.8", address_class::public_},
    {"9.255.255.255", address_class::public_},
    {"10.0.0.0", address_class::private_},
    {"10.255.255.255", address_class::private_},
    {"11.0.0.0", address_class::public_},
    {"100.63.255.255", address_class::public_},
    {"100.64.0.0", address_class::shared},
    {"100.100.100.200", address_class::shared},  // a cloud's metadata
    {"100.127.255.255", address_class::shared},
    {"100.128.0.0", address_class::public_},
    {"126.255.255.255", address_class::public_},
    {"127.0.0.0", address_class::loopback},
    {"127.0.0.1", address_class::loopback},
    {"127.255.255.255", address_class::loopback},
    {"128.0.0.0", address_class::public_},
    {"168.63.129.15", address_class::public_},
    {"168.63.129.16", address_class::platform},
    {"168.63.129.17", address_class::public_},
    {"169.253.255.255", address_class::public_},
    {"169.254.0.0", address_class::link_local},
    {"169.254.169.254", address_class::link_local},  // most clouds' metadata
    {"169.254.255.255", address_class::link_local},
    {"169.255.0.0", address_class::public_},
    {"172.15.255.255", address_class::public_},
    {"172.16.0.0", address_class::private_},
    {"172.31.255.255", address_class::private_},
    {"172.32.0.0", address_class::public_},
    {"191.255.255.255", address_class::public_},
    {"192.0.0.0", address_class::protocol},
    {"192.0.0.192", address_class::protocol},  // a cloud's metadata
    {"192.0.0.255", address_class::protocol},
    {"192.0.1.0", address_class::public_},
    {"192.0.2.0", address_class::documentation},
    {"192.0.2.255", address_class::documentation},
    {"192.0.3.0", address_class::public_},
    {"192.88.98.255", address_class::public_},
    {"192.88.99.1", address_class::six_to_four},
    {"192.88.100.0", address_class::public_},
    {"192.167.255.255", address_class::public_},
    {"192.168.0.0", address_class::private_},
    {"192.168.255.255", address_class::private_},
    {"192.169.0.0", address_class::public_},
    {"198.17.255.255", address_class::public_},
    {"198.18.0.0", address_class::benchmarking},
    {"198.19.255.255", address_class::benchmarking},
    {"198.20.0.0", address_class::public_},
    {"198.51.99.255", address_class::public_},
    {"198.51.100.0", address_class::documentation},
    {"198.51.101.0", address_class::public_},
    {"203.0.112.255", address_class::public_},
    {"203.0.113.7", address_class::documentation},
    {"203.0.114.0", address_class::public_},
    {"223.255.255.255", address_class::public_},
    {"224.0.0.1", address_class::multicast},
    {"239.255.255.255", address_class::multicast},
    {"240.0.0.0", address_class::reserved},
    {"255.255.255.254", address_class::reserved},
    {"255.255.255.255", address_class::broadcast},
    {"::", address_class::unspecified},
    {"::1", address_class::loopback},
    {"::2", address_class::v4_compatible},
    {"::127.0.0.1", address_class::v4_compatible},
    {"::8.8.8.8", address_class::v4_compatible},
    {"::ffff:127.0.0.1", address_class::loopback},
    {"::ffff:10.1.2.3", address_class::private_},
    {"::ffff:169.254.169.254", address_class::link_local},
    {"::ffff:0.0.0.0", address_class::unspecified},
    {"::ffff:100.64.1.1", address_class::shared},
    {"::ffff:8.8.8.8", address_class::v4_mapped},
    {"::ffff:0:127.0.0.1", address_class::reserved},  // IPv4-translated, abolished
    {"::fffe:127.0.0.1", address_class::reserved},
    {"64:ff9a:ffff::1", address_class::reserved},
    {"64:ff9b::", address_class::nat64},
    {"64:ff9b::127.0.0.1", address_class::nat64},
    {"64:ff9b::8.8.8.8", address_class::nat64},
    {"64:ff9b::1:0:0", address_class::reserved},
    {"64:ff9b:1::", address_class::nat64},
    {"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", address_class::nat64},
    {"64:ff9b:2::", address_class::reserved},
    {"100::", address_class::discard},
    {"100::ffff:ffff:ffff:ffff", address_class::discard},
    {"100:0:0:1::", address_class::reserved},
    {"1fff:ffff::", address_class::reserved},
    {"2000::", address_class::public_},
    {"2001::", address_class::teredo},
    {"2001:0:ffff::", address_class::teredo},
    {"2001:1::1", address_class::protocol},
    {"2001:2::1", address_class::benchmarking},
    {"2001:2:1::1", address_class::protocol},
    {"2001:10::1", address_class::protocol},
    {"2001:20::1", address_class::protocol},
    {"2001:1ff:ffff::", address_class::protocol},
    {"2001:200::", address_class::public_},
    {"2001:4860:4860::8888", address_class::public_},
    {"2001:db7:ffff::", address_class::public_},
    {"2001:db8::", address_class::documentation},
    {"2001:db8:ffff:ffff::1", address_class::documentation},
    {"2001:db9::", address_class::public_},
    {"2002::", address_class::six_to_four},
    {"2002:7f00:1::", address_class::six_to_four},
    {"2002:808:808::", address_class::six_to_four},
    {"2003::", address_class::public_},
    {"2606:4700:4700::1111", address_class::public_},
    {"3ffe:ffff::", address_class::public_},
    {"3fff::", address_class::documentation},
    {"3fff:fff:ffff::", address_class::documentation},
    {"3fff:1000::", address_class::public_},
    {"4000::", address_class::reserved},
    {"5f00::1", address_class::reserved},
    {"fbff:ffff::", address_class::reserved},
    {"fc00::", address_class::unique_local},
    {"fd00:ec2::254", address_class::unique_local},  // a cloud's metadata
    {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", address_class::unique_local},
    {"fe00::", address_class::reserved},
    {"fe7f:ffff::", address_class::reserved},
    {"fe80::1", address_class::link_local},
    {"febf:ffff::", address_class::link_local},
    {"fec0::1", address_class::site_local},
    {"feff:ffff::", address_class::site_local},
    {"ff00::", address_class::multicast},
    {"ff02::1", address_class::multicast},
    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", address_class::multicast},
};

// The same knowledge as strings of bits, compared one by one.
std::string bits_of(const unsigned char* bytes, int count) {
    std::string bits;
    for (int i = 0; i < count; ++i) {
        bits += std::bitset<8>(bytes[i]).to_string();
    }
    return bits;
}

std::string bits_of(const std::string& range) {
    const std::size_t slash = range.find('/');
    const std::string host = range.substr(0, slash);
    const std::size_t prefix = std::stoul(range.substr(slash + 1));
    unsigned char bytes[16] = {};
    const bool is_v6 = host.find(':') != std::string::npos;
    EXPECT_EQ(::inet_pton(is_v6 ? AF_INET6 : AF_INET, host.c_str(), bytes), 1) << range;
    return bits_of(bytes, is_v6 ? 16 : 4).substr(0, prefix);
}

bool is_public_in_model(const address& one) {
    static const std::vector<std::string> v4_special = [] {
        std::vector<std::string> all;
        for (const char* each :
             {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32",
              "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
              "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
              "240.0.0.0/4"}) {
            all.push_back(bits_of(each));
        }
        return all;
    }();
    static const std::vector<std::string> v6_special = [] {
        std::vector<std::string> all;
        for (const char* each : {"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"}) {
            all.push_back(bits_of(each));
        }
        return all;
    }();
    if (one.kind() == address::family::ipv4) {
        const auto* raw = reinterpret_cast<const sockaddr_in*>(one.data());
        const std::string bits = bits_of(reinterpret_cast<const unsigned char*>(&raw->sin_addr), 4);
        return std::none_of(v4_special.begin(), v4_special.end(),
                            [&](const std::string& each) { return bits.starts_with(each); });
    }
    const auto* raw = reinterpret_cast<const sockaddr_in6*>(one.data());
    const std::string bits = bits_of(raw->sin6_addr.s6_addr, 16);
    return bits.starts_with("001") &&
           std::none_of(v6_special.begin(), v6_special.end(),
                        [&](const std::string& each) { return bits.starts_with(each); });
}

template <class Raw>
address made_of(const Raw& raw) {
    return address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

address v4_of(std::uint32_t number) {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_addr.s_addr = htonl(number);
    return made_of(raw);
}

std::string range_error(std::string_view text) {
    try {
        address_range::parse(text);
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
    return "it was taken";
}

}  // namespace

TEST(AddressClass, TableOfAddresses) {
    const address_filter filter = address_filter::public_only();
    for (const expectation& each : table) {
        EXPECT_EQ(name_of(classify(at(each.host))), name_of(each.kind)) << each.host;
        EXPECT_EQ(filter.allows(at(each.host)), each.kind == address_class::public_) << each.host;
        EXPECT_TRUE(address_filter::any().allows(at(each.host))) << each.host;
        // The same in a URL, and around it.
        const bool is_v6 = each.host.find(':') != std::string_view::npos;
        const std::string host =
            is_v6 ? '[' + std::string(each.host) + ']' : std::string(each.host);
        EXPECT_EQ(classify(*url::parse("http://" + host).address()), each.kind) << each.host;
    }
    EXPECT_EQ(classify(address::local("/run/x")), address_class::local);
    EXPECT_FALSE(filter.allows(address::local("/run/x")));
    EXPECT_EQ(classify(address()), address_class::none);
    EXPECT_FALSE(filter.allows(address()));
    EXPECT_FALSE(address_filter::any().allows(address()));
    EXPECT_EQ(classify(at("fe80::1%1")), address_class::link_local);
}

TEST(AddressClass, SpellingsOfHosts) {
    const address_filter filter = address_filter::public_only();
    for (const std::string_view host : {"127.0.0.1",
                                        "2130706433",
                                        "0x7f.1",
                                        "0x7f000001",
                                        "017700000001",
                                        "0177.0.0.1",
                                        "127.1",
                                        "127.0.0.1.",
                                        "127.1.",
                                        "0",
                                        "0.0.0.0",
                                        "0x0",
                                        "00",
                                        "[::]",
                                        "[::1]",
                                        "[0:0::0:1]",
                                        "[::ffff:7f00:1]",
                                        "[::FFFF:127.0.0.1]",
                                        "[::127.0.0.1]",
                                        "[64:ff9b::7f00:1]",
                                        "[64:FF9B::127.0.0.1]",
                                        "[64:ff9b:1::10.0.0.1]",
                                        "[2002:7f00:0001::]",
                                        "[2002:a9fe:a9fe::1]",
                                        "[2001:0:0:0:0:0:0:1]",
                                        "%31%32%37.0.0.1",
                                        "１２７.０.０.１",
                                        "①②⑦.1",
                                        "169.254.169.254",
                                        "0xa9fea9fe",
                                        "2852039166",
                                        "0xA9.0376.0xa9.254",
                                        "10.1",
                                        "0xa.1.2.3",
                                        "012.1.2.3",
                                        "192.168.1",
                                        "3232235777",
                                        "172.0x1f.1",
                                        "100.64.1",
                                        "[fe80::1]",
                                        "[fec0::1]",
                                        "[fd00::1]",
                                        "[ff02::1]",
                                        "[::ffff:0:7f00:1]",
                                        "0xe0.1",
                                        "4294967295",
                                        "0xffffffff",
                                        "[::ffff:a00:1]",
                                        "192.0.0.192",
                                        "198.18.1",
                                        "[100::1]"}) {
        const auto read = url::try_parse("http://" + std::string(host) + "/");
        ASSERT_TRUE(read && read->is_ip_literal()) << host;
        EXPECT_FALSE(filter.allows(*read->address())) << host;
    }
    for (const std::string_view host : {"8.8.8.8", "134744072", "0x08080808", "010.8.8.8",
                                        "8.8.2056", "[2001:4860:4860::8888]"}) {
        EXPECT_TRUE(filter.allows(*url::parse("http://" + std::string(host)).address())) << host;
    }
}

TEST(AddressClass, AgreesWithANaiveModel) {
    std::mt19937 random(5);
    const address_filter filter = address_filter::public_only();
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        // All of the first 13 bits, then anything.
        const address v4 = v4_of(i < 1 << 13 ? i << 19 | (random() & 0x7ffff) : random());
        ASSERT_EQ(filter.allows(v4), is_public_in_model(v4)) << v4;
    }
    // Around the edges of each range, a bit changed here and there.
    for (const expectation& each : table) {
        const address base = at(each.host);
        for (int bit = 0; bit < 128; ++bit) {
            if (base.kind() == address::family::ipv4) {
                const auto* raw = reinterpret_cast<const sockaddr_in*>(base.data());
                const address v4 = v4_of(ntohl(raw->sin_addr.s_addr) ^ 1u << bit % 32);
                ASSERT_EQ(filter.allows(v4), is_public_in_model(v4)) << v4;
            } else {
                auto raw = *reinterpret_cast<const sockaddr_in6*>(base.data());
                raw.sin6_addr.s6_addr[bit / 8] ^= static_cast<unsigned char>(0x80 >> bit % 8);
                const address v6 = made_of(raw);
                ASSERT_EQ(filter.allows(v6), is_public_in_model(v6)) << v6;
            }
        }
    }
    for (int i = 0; i < 10'000; ++i) {
        sockaddr_in6 raw{};
        raw.sin6_family = AF_INET6;
        for (auto& byte : raw.sin6_addr.s6_addr) {
            byte = static_cast<unsigned char>(random());
        }
        if (i % 2 == 0) {
            raw.sin6_addr.s6_addr[0] = static_cast<unsigned char>(0x20 | (random() & 0x1f));
        }
        const address v6 = made_of(raw);
        ASSERT_EQ(filter.allows(v6), is_public_in_model(v6)) << v6;
    }
}

TEST(AddressRange, ReadsAndContains) {
    for (const std::string_view text : {"10.0.0.0/8", "0.0.0.0/0", "192.168.1.4/30", "8.8.8.8/32",
                                        "::/0", "fc00::/7", "2001:db8::/33", "::1/128"}) {
        EXPECT_EQ(address_range::parse(text).text(), text);
    }
    EXPECT_EQ(address_range::parse("8.8.8.8").text(), "8.8.8.8/32");
    EXPECT_EQ(address_range::parse("::1").text(), "::1/128");
    EXPECT_EQ(address_range::parse("FC00::/7").prefix(), 7);
    struct {
        std::string_view text;
        std::string_view reason;
    } const cases[] = {
        {"", "does not begin with an IPv4 or IPv6 address"},
        {"10.0.0.0/", "a number from 0 to 32"},
        {"10.0.0.0/33", "a number from 0 to 32"},
        {"10.0.0.0/-1", "a number from 0 to 32"},
        {"10.0.0.0/-0", "a number from 0 to 32"},
        {"10.0.0.0/8x", "a number from 0 to 32"},
        {"10.0.0.0/8/8", "a number from 0 to 32"},
        {"10.0.0.0/ 8", "a number from 0 to 32"},
        {"10.0.0.0/4294967304", "a number from 0 to 32"},
        {"::/129", "a number from 0 to 128"},
        {"10/8", "does not begin with"},
        {"0x0a.0.0.0/8", "does not begin with"},
        {"internal.example", "does not begin with"},
        {"10.1.0.0/8", "bits after the prefix are set; write 10.0.0.0/8"},
        {"fc00::1/7", "bits after the prefix are set; write fc00::/7"},
        {"[fc00::]/7", "brackets"},
        {"fe80::%1/10", "zone"},
        {"::ffff:10.0.0.0/104", "write it as an IPv4 range"},
    };
    for (const auto& each : cases) {
        EXPECT_NE(range_error(each.text).find(each.reason), std::string::npos)
            << each.text << ": " << range_error(each.text);
    }
    const auto ten = address_range::parse("10.0.0.0/8");
    EXPECT_TRUE(ten.contains(at("10.255.0.1")));
    EXPECT_TRUE(ten.contains(at("::ffff:10.0.0.1")));
    EXPECT_FALSE(ten.contains(at("11.0.0.0")));
    EXPECT_FALSE(ten.contains(at("::10.0.0.1")));
    EXPECT_FALSE(ten.contains(at("64:ff9b::10.0.0.1")));
    EXPECT_FALSE(ten.contains(address::local("/x")));
    EXPECT_FALSE(address_range::parse("::/0").contains(at("10.0.0.1")));
    EXPECT_FALSE(address_range::parse("::/0").contains(at("::ffff:10.0.0.1")));
    EXPECT_FALSE(address_range::parse("::/0").contains(address()));
    EXPECT_TRUE(address_range::parse("0.0.0.0/0").contains(at("255.255.255.255")));

    std::mt19937 random(3);
    for (int i = 0; i < 5'000; ++i) {
        const int prefix = static_cast<int>(random() % 33);
        const std::uint32_t mask = prefix == 0 ? 0 : ~0u << (32 - prefix);
        const std::uint32_t base = static_cast<std::uint32_t>(random()) & mask;
        const auto range = address_range::parse(v4_of(base).host() + "/" + std::to_string(prefix));
        const auto probe = base ^ (random() % 2 == 0 ? 1u << random() % 32 : 0u);
        ASSERT_EQ(range.contains(v4_of(probe)), (probe & mask) == base) << range.text();
    }
}

TEST(AddressFilter, Exceptions) {
    auto filter = address_filter::public_only();
    const address_filter before = filter;
    filter.allow("10.1.0.0/16")
        .allow("::1")
        .allow_host("Internal.Example.")
        .allow_host("*.lan.example");
    const address_filter copy = filter;
    filter.block("8.8.8.0/24").block("10.1.9.0/24");

    EXPECT_FALSE(before.allows(at("10.1.2.3")));
    EXPECT_TRUE(copy.allows(at("10.1.2.3")));
    EXPECT_TRUE(copy.allows(at("::ffff:10.1.2.3")));
    EXPECT_FALSE(copy.allows(at("10.2.2.3")));
    EXPECT_FALSE(copy.allows(at("64:ff9b::10.1.2.3")));
    EXPECT_FALSE(copy.allows(at("2002:a01:203::")));
    EXPECT_TRUE(copy.allows(at("::1")));
    EXPECT_FALSE(copy.allows(at("127.0.0.1")));
    EXPECT_TRUE(copy.allows(at("8.8.8.8")));
    EXPECT_FALSE(filter.allows(at("8.8.8.8")));
    EXPECT_FALSE(filter.allows(at("10.1.9.1")));
    EXPECT_FALSE(filter.allows(at("10.1.9.1"), "internal.example"));
    EXPECT_TRUE(filter.allows(at("10.1.8.1")));

    for (const std::string_view host : {"internal.example", "INTERNAL.example", "internal.example.",
                                        "a.lan.example", "b.a.LAN.example."}) {
        EXPECT_TRUE(filter.allows(at("127.0.0.1"), host)) << host;
        EXPECT_FALSE(before.allows(at("127.0.0.1"), host)) << host;
    }
    for (const std::string_view host :
         {"", "example", "x.internal.example", "xinternal.example", "internal.example.com",
          "lan.example", ".lan.example", "xlan.example", "internal.example.."}) {
        EXPECT_FALSE(filter.allows(at("127.0.0.1"), host)) << host;
    }
    for (const std::string_view bad : {"", "*", "*.", "10.0.0.1", "0x7f.1", "[::1]", "a b", "a/b",
                                       "a:80", "u@a", "a..b", "a.*.b", "%61", "http://a"}) {
        EXPECT_THROW(filter.allow_host(bad), weir::invalid_argument) << bad;
    }
    EXPECT_THROW(filter.allow("internal.example"), weir::invalid_argument);
    EXPECT_THROW(filter.block("1.2.3.4/5"), weir::invalid_argument);
}

// Lists of thousands of seeds name as many addresses: each is found, and none beside them.
TEST(AddressFilter, ManySingleAddresses) {
    address_filter filter = address_filter::public_only();
    for (int i = 0; i < 2000; i += 2) {
        filter.allow("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250));
    }
    filter.allow("10.0.0.2");
    filter.allow("fd00::7");
    const address_filter before = filter;
    filter.allow("10.0.0.1");
    for (int i = 0; i < 2000; ++i) {
        const std::string address =
            "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
        EXPECT_EQ(before.allows(at(address)), i % 2 == 0) << address;
        EXPECT_EQ(before.allows(at("::ffff:" + address)), i % 2 == 0) << address;
    }
    EXPECT_TRUE(filter.allows(at("10.0.0.1")));
    EXPECT_TRUE(filter.allows(at("fd00::7")));
    EXPECT_FALSE(filter.allows(at("fd00::8")));
    EXPECT_FALSE(filter.allows(at("::10.0.0.2")));
}

// A translator behind an exception does not open what is behind the translator.
TEST(AddressFilter, LooksIntoTranslatedAddresses) {
    auto filter = address_filter::public_only();
    filter.allow("64:ff9b::/96").allow("2002::/16");
    EXPECT_TRUE(filter.allows(at("64:ff9b::8.8.8.8")));
    EXPECT_TRUE(filter.allows(at("2002:808:808::1")));
    EXPECT_FALSE(filter.allows(at("64:ff9b::127.0.0.1")));
    EXPECT_FALSE(filter.allows(at("64:ff9b::169.254.169.254")));
    EXPECT_FALSE(filter.allows(at("2002:7f00:1::1")));
    EXPECT_FALSE(filter.allows(at("2002:a00:1::1")));
    EXPECT_FALSE(filter.allows(at("64:ff9b:1::8.8.8.8")));
    filter.allow("10.0.0.0/8");
    EXPECT_TRUE(filter.allows(at("64:ff9b::10.0.0.1")));
    filter.block("10.9.0.0/16").allow_host("trusted.example");
    EXPECT_FALSE(filter.allows(at("64:ff9b::10.9.0.1")));
    EXPECT_FALSE(filter.allows(at("64:ff9b::10.9.0.1"), "trusted.example"));
    EXPECT_FALSE(filter.allows(at("::ffff:10.9.0.1"), "trusted.example"));
    EXPECT_TRUE(filter.allows(at("64:ff9b::127.0.0.1"), "trusted.example"));
    auto open = address_filter::any();
    open.block("10.0.0.0/8").block("::1");
    EXPECT_FALSE(open.allows(at("64:ff9b::10.0.0.1")));
    EXPECT_FALSE(open.allows(at("2002:a00:1::")));
    EXPECT_FALSE(open.allows(at("::ffff:10.0.0.1")));
    EXPECT_FALSE(open.allows(at("::1")));
    EXPECT_TRUE(open.allows(at("127.0.0.1")));
}

TEST(AddressFilter, SaysWhatItRefuses) {
    const auto filter = address_filter::public_only();
    filter.check(at("8.8.8.8"), "dns.example");
    try {
        filter.check(at("169.254.169.254"), "evil.example");
        FAIL() << "nothing was refused";
    } catch (const weir::http::address_refused& refused) {
        EXPECT_STREQ(refused.what(),
                     "the address filter refuses 169.254.169.254:80 (link-local), to which "
                     "'evil.example' resolves");
        EXPECT_EQ(refused.address(), at("169.254.169.254"));
        EXPECT_EQ(refused.kind(), address_class::link_local);
        EXPECT_EQ(refused.host(), "evil.example");
    }
    EXPECT_THROW(filter.check(at("::1")), weir::http::error);
}
