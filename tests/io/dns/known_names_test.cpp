// SPDX-License-Identifier: MIT
// What a resolver knows without asking a server: names, the hosts file, the cache; in simulated
// time.

#include "io/dns/dns_cache.hpp"
#include "io/dns/host_name.hpp"
#include "io/dns/hosts_file.hpp"
#include "support.hpp"

#include <random>

namespace {

using namespace std::chrono_literals;
using namespace weir_test;
using weir::io::address;

weir::dns::resolver_options no_files() {
    return {.resolv_conf = "/dev/null", .hosts_file = ""};
}

WEIR_TEST(KnownNames, AddressesAndLocalhostNeedNobody) {
    weir::dns::resolver names(no_files());
    const auto ask = [&](const char* host) -> weir::task<words> {
        const auto found = co_await names.resolve(host, 80);
        co_return texts(found);
    };
    words found = co_await ask("127.0.0.1");
    EXPECT_EQ(found, (words{"127.0.0.1:80"}));
    found = co_await ask("::1");
    EXPECT_EQ(found, (words{"[::1]:80"}));
    found = co_await ask("[2001:db8::7]");
    EXPECT_EQ(found, (words{"[2001:db8::7]:80"}));
    for (const char* each : {"localhost", "LocalHost.", "a.b.localhost"}) {
        found = co_await ask(each);
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, (words{"127.0.0.1:80", "[::1]:80"})) << each;
    }
    // Simulated time has no network.
    WEIR_EXPECT_THROW_WITH(names.resolve("example.com"), weir::loop_error, "simulated");
    WEIR_EXPECT_THROW_WITH(names.resolve("x.invalid"), weir::resolve_error, "x.invalid");
}

WEIR_TEST(KnownNames, WhatIsNoNameIsRefusedAndNamed) {
    weir::dns::resolver names(no_files());
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "the name is empty"},
        {".", "empty"},
        {"a..b", "between two dots"},
        {".a", "between two dots"},
        {"a..", "between two dots"},
        {std::string("a\0b", 3), "a\\x00b"},
        {"a\nb", "a\\x0ab"},
        {"a b", "' ' cannot be part"},
        {"a\\.b", "'\\' cannot be part"},
        {"a/b", "'/' cannot"},
        {"user@host", "'@' cannot"},
        {"b\xc3\xbc"
         "cher.example",
         "xn--"},
        {std::string(64, 'a'), "64 characters, more than 63"},
        {std::string(60, 'a') + "." + std::string(60, 'b') + "." + std::string(60, 'c') + "." +
             std::string(60, 'd') + "." + std::string(60, 'e'),
         "304 characters, more than 253"},
        {"127.1", "neither a name nor an address"},
        {"2130706433", "neither a name nor an address"},
        {"1.2.3.4.5", "neither a name nor an address"},
        {"256.1.1.1", "neither a name nor an address"},
        {"1:2:3", "':' cannot"},
        {"[::1", "'[' cannot"},
    };
    for (const auto& [name, part] : cases) {
        WEIR_EXPECT_THROW_WITH(names.resolve(name), weir::resolve_error, part);
    }
    WEIR_EXPECT_NO_THROW(names.resolve("localhost", "https"));
    EXPECT_THROW((void)names.resolve("a.b", "no-such-service"), weir::invalid_argument);
    EXPECT_THROW((void)names.resolve("a.b", "65536"), weir::invalid_argument);
    EXPECT_THROW((void)names.resolve("a.b", ""), weir::invalid_argument);
    co_return;
}

TEST(KnownNames, OptionsAreChecked) {
    const auto refused = [](weir::dns::resolver_options options, const char* option) {
        options.resolv_conf = "/dev/null";
        try {
            const weir::dns::resolver made(options);
            ADD_FAILURE() << option;
        } catch (const weir::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(option), std::string::npos) << error.what();
        }
    };
    refused({.timeout = 0s}, "timeout is 0");
    refused({.timeout = 2h}, "timeout");
    refused({.tries = 0}, "tries is 0");
    refused({.tries = 11}, "tries is 11");
    refused({.resolution_delay = -1ns}, "resolution_delay");
    refused({.min_time_to_live = -1s}, "min_time_to_live");
    refused({.min_time_to_live = 2h}, "max_time_to_live");
    refused({.negative_time = -1s}, "negative_time");
    refused({.max_queries = 0}, "max_queries is 0");
    const std::array servers{address::local("/tmp/x")};
    refused({.servers = servers}, "servers");
}

TEST(KnownNames, HostAndPort) {
    using weir::dns::detail::split_host_and_port;
    EXPECT_EQ(split_host_and_port("a.b:80").host, "a.b");
    EXPECT_EQ(split_host_and_port("[::1]:http").host, "[::1]");
    EXPECT_EQ(split_host_and_port("[::1]:http").service, "http");
    for (const char* each : {"", "a.b", ":80", "::1", "[::1]", "1:2:80"}) {
        EXPECT_THROW(split_host_and_port(each), weir::invalid_argument) << each;
    }
}

TEST(KnownNames, HostsFileIsReadAgainWhenItHasChanged) {
    const temporary_file file("10.0.0.1 box\n");
    weir::dns::detail::hosts_file hosts(file.path());
    const weir::clock::time_point begin{1h};
    EXPECT_NE(hosts.find("box", begin), nullptr);
    EXPECT_EQ(hosts.find("other", begin), nullptr);
    file.write("10.0.0.1 box\n10.0.0.2 other\n");
    EXPECT_EQ(hosts.find("other", begin + 199ms), nullptr);  // not looked at yet
    EXPECT_NE(hosts.find("other", begin + 200ms), nullptr);
    std::remove(file.path().c_str());
    EXPECT_EQ(hosts.find("other", begin + 2s), nullptr);
    file.write(std::string(2 << 20, 'x'));
    EXPECT_EQ(hosts.find("other", begin + 3s), nullptr);
}

TEST(KnownNames, HostsFilesOfAnyKindAreRead) {
    std::mt19937 random(7);
    const std::string letters = "10.:fax # \t\n\r\0-%";
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (unsigned size = random() % 120; size > 0; --size) {
            text += letters[random() % letters.size()];
        }
        const auto table = weir::dns::detail::parse_hosts(text + "\n10.1.2.3 last\r");
        EXPECT_NE(table.contains("last") ? &table : nullptr, nullptr);
    }
}

// Against a plain list of everything that was put.
TEST(KnownNames, CacheAgainstAModel) {
    struct known {
        std::string name;
        unsigned short port;
        weir::clock::time_point expires;
    };
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        const std::size_t capacity = random() % 6;
        weir::dns::detail::cache cache(capacity);
        std::vector<known> model;  // the most recently used last
        weir::clock::time_point now{1h};
        for (int step = 0; step < 400; ++step) {
            now += std::chrono::milliseconds(random() % 3);
            const std::string name(1, static_cast<char>('a' + random() % 8));
            const auto found = std::find_if(model.begin(), model.end(),
                                            [&](const known& each) { return each.name == name; });
            if (random() % 2 == 0) {
                const auto port = static_cast<unsigned short>(step);
                const auto time = std::chrono::milliseconds(random() % 12);
                cache.put(name, {.addresses = {address::loopback(port)}}, now, time);
                if (found != model.end()) {
                    model.erase(found);
                }
                if (time > 0ms && capacity > 0) {
                    if (model.size() == capacity) {
                        model.erase(model.begin());
                    }
                    model.push_back({name, port, now + time});
                }
            } else {
                const auto* const seen = cache.find(name, now);
                const bool is_known = found != model.end() && found->expires > now;
                ASSERT_EQ(seen != nullptr, is_known);
                if (is_known) {
                    ASSERT_EQ(seen->addresses.at(0).port(), found->port);
                    std::rotate(found, found + 1, model.end());
                } else if (found != model.end()) {
                    model.erase(found);
                }
            }
            ASSERT_EQ(cache.size(), model.size());
        }
    }
}

}  // namespace
