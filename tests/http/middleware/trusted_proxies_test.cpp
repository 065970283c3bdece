// SPDX-License-Identifier: MIT
// The client behind proxies, as far as these are trusted.

#include <weir/error.hpp>
#include <weir/http/trusted_proxies.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;

TEST(TrustedProxies, BelievesOnlyWhatProxiesWrote) {
    const struct {
        std::string_view peer;
        std::vector<std::string_view> lines;
        std::string_view client;
    } cases[] = {
        {"203.0.113.9", {"192.0.2.1"}, "203.0.113.9:7"},  // not a proxy
        {"10.0.0.1", {}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1"}, "192.0.2.1:0"},
        {"10.0.0.1", {"192.0.2.1:80"}, "192.0.2.1:80"},
        {"10.0.0.1", {"6.6.6.6, 192.0.2.1"}, "192.0.2.1:0"},  // made up, then the truth
        {"10.0.0.1", {"6.6.6.6,192.0.2.1 ,\t10.0.0.2"}, "192.0.2.1:0"},
        {"10.0.0.1", {"6.6.6.6", "192.0.2.1", "10.0.0.2"}, "192.0.2.1:0"},
        {"10.0.0.1", {"10.0.0.3, 10.0.0.2"}, "10.0.0.3:0"},  // proxies all the way
        {"10.0.0.1", {"2001:db8::1"}, "[2001:db8::1]:0"},
        {"10.0.0.1", {"[2001:db8::1]"}, "[2001:db8::1]:0"},
        {"10.0.0.1", {"[2001:db8::1]:80"}, "[2001:db8::1]:80"},
        {"::ffff:10.0.0.1", {"192.0.2.1"}, "192.0.2.1:0"},
        {"2001:db8:7::1", {"192.0.2.1"}, "192.0.2.1:0"},
        // Garbage: the valid part counts.
        {"10.0.0.1", {"unknown"}, "10.0.0.1:7"},
        {"10.0.0.1", {""}, "10.0.0.1:7"},
        {"10.0.0.1", {",,"}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1, nonsense, 10.0.0.2"}, "10.0.0.2:0"},
        {"10.0.0.1", {"192.0.2.1,"}, "10.0.0.1:7"},
        {"10.0.0.1", {"1.2.3.4.5"}, "10.0.0.1:7"},
        {"10.0.0.1", {"fe80::1%lo"}, "10.0.0.1:7"},
        {"10.0.0.1", {"unix:/x"}, "10.0.0.1:7"},
        {"10.0.0.1", {"0x7f.1"}, "10.0.0.1:7"},
        {"10.0.0.1", {"192.0.2.1:99999"}, "10.0.0.1:7"},
    };
    http::trusted_proxies proxies;
    proxies.trust("10.0.0.0/8").trust("2001:db8:7::/48");
    for (const auto& each : cases) {
        http::headers fields;
        fields.add("Forwarded", "for=6.6.6.6");  // not the header that is read
        for (const std::string_view line : each.lines) {
            fields.add("X-Forwarded-For", line);
        }
        const io::address client = proxies.client_of(io::address::parse(each.peer, 7), fields);
        EXPECT_EQ(client.text(), each.client)
            << each.peer << ' ' << (each.lines.empty() ? "" : each.lines.back());
    }
    EXPECT_EQ(proxies.client_of(io::address::local("/s"), {{"X-Forwarded-For", "192.0.2.1"}}),
              io::address::local("/s"));
    proxies.trust("unix");
    EXPECT_EQ(proxies.client_of(io::address(), {{"X-Forwarded-For", "192.0.2.1"}}).text(),
              "192.0.2.1:0");
    EXPECT_THROW(proxies.trust("10.0.0.0/33"), invalid_argument);
    EXPECT_THROW(proxies.trust("proxy.example.com"), invalid_argument);
}

TEST(TrustedProxies, ReadsTheStandardHeader) {
    const struct {
        std::vector<std::string_view> lines;
        std::string_view client;
    } cases[] = {
        {{"for=192.0.2.1"}, "192.0.2.1:0"},
        {{"For=192.0.2.1;proto=https;by=10.0.0.1"}, "192.0.2.1:0"},
        {{"proto=https; for=\"192.0.2.1:80\""}, "192.0.2.1:80"},
        {{"for=\"[2001:db8::1]:80\""}, "[2001:db8::1]:80"},
        {{"for=6.6.6.6, for=192.0.2.1 , for=10.0.0.2"}, "192.0.2.1:0"},
        {{"for=6.6.6.6", "for=192.0.2.1", "for=10.0.0.2"}, "192.0.2.1:0"},
        {{"for=\"6.6.6.6, for=1.1.1.1\", for=192.0.2.1"}, "192.0.2.1:0"},
        {{"for=\"192.\\0.2.1\""}, "192.0.2.1:0"},
        {{"for=192.0.2.1;"}, "192.0.2.1:0"},
        {{"for=6.6.6.6, for=_hidden"}, "10.0.0.1:7"},
        {{"for=6.6.6.6, for=unknown"}, "10.0.0.1:7"},
        {{"for=6.6.6.6, proto=https"}, "10.0.0.1:7"},
        {{"for=6.6.6.6;for=192.0.2.1"}, "10.0.0.1:7"},
        {{"for=\", for=192.0.2.1"}, "10.0.0.1:7"},
        {{"for=6.6.6.6\"", "for=10.0.0.2"}, "10.0.0.2:0"},
        {{"for=\"6.6.6.6\\"}, "10.0.0.1:7"},
        {{"for"}, "10.0.0.1:7"},
        {{"for="}, "10.0.0.1:7"},
        {{"=192.0.2.1"}, "10.0.0.1:7"},
        {{";,;,"}, "10.0.0.1:7"},
        {{"for=a b"}, "10.0.0.1:7"},
    };
    http::trusted_proxies proxies(http::forwarded_header::forwarded);
    proxies.trust("10.0.0.0/8");
    for (const auto& each : cases) {
        http::headers fields;
        fields.add("X-Forwarded-For", "6.6.6.6");
        for (const std::string_view line : each.lines) {
            fields.add("Forwarded", line);
        }
        const io::address client = proxies.client_of(io::address::parse("10.0.0.1:7"), fields);
        EXPECT_EQ(client.text(), each.client) << each.lines.back();
    }
    // With any text before the proxy's own entry, the client is the address in that entry, or the
    // proxy.
    std::mt19937 random(5);
    const std::string_view letters = "for=,;\" \\[]:.0169x";
    for (int round = 0; round < 10'000; ++round) {
        std::string line;
        for (unsigned size = random() % 24; size > 0; --size) {
            line += letters[random() % letters.size()];
        }
        line = std::string(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
        const std::string whole = line + ", for=192.0.2.1";
        const std::string client =
            proxies.client_of(io::address::parse("10.0.0.1:7"), {{"Forwarded", whole}}).text();
        EXPECT_TRUE(client == "192.0.2.1:0" || client == "10.0.0.1:7") << whole << ": " << client;
    }
}

WEIR_TEST(TrustedProxies, SetsTheClientOfTheRequest) {
    http::handler app =
        http::with(http::trusted_proxies().trust("10.0.0.1"), [](request& incoming) {
            return response::text(incoming.client_address().host() + " " +
                                  incoming.remote_address().host());
        });
    request incoming(method::get, "/");
    incoming.set_remote_address(io::address::parse("10.0.0.1:5"));
    incoming.headers().set("X-Forwarded-For", "192.0.2.9");
    const response answer = co_await app(incoming);
    EXPECT_EQ(answer.body().text(), "192.0.2.9 10.0.0.1");
}

}  // namespace
