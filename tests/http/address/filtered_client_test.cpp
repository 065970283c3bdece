// SPDX-License-Identifier: MIT
// The address filter in a client: real servers on loopback, and a name server that changes its
// answers.

#include "http/client/recording_site.hpp"
#include "io/dns/fake_server.hpp"
#include "io/dns/support.hpp"
#include "support/io.hpp"

#include <weir/http/address_filter.hpp>
#include <weir/http/client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/spawn.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
namespace io = weir::io;
using http::address_filter;
using site = weir_test::recording_site;

namespace {

// Two addresses with one port, which others may have at one of them.
std::pair<io::listener, io::listener> twins(io::address one, io::address two) {
    for (int attempt = 0;; ++attempt) {
        io::listener first = io::listen(one.with_port(0));
        try {
            io::listener second = io::listen(two.with_port(first.local_address().port()));
            return {std::move(first), std::move(second)};
        } catch (const weir::io_error&) {
            if (attempt == 20) {
                throw;
            }
        }
    }
}

}  // namespace

WEIR_IO_TEST(FilteredClient, NoSpellingReachesLoopback) {
    auto doors = twins(io::address::loopback(0), io::address::loopback_v6(0));
    site four(std::move(doors.first));
    site six(std::move(doors.second));
    http::client open;
    http::client careful({}, address_filter::public_only());
    const std::vector<std::string> spellings = {"127.0.0.1",
                                                "2130706433",
                                                "0x7f.1",
                                                "0x7f000001",
                                                "017700000001",
                                                "127.1",
                                                "127.0.0.1.",
                                                "0",
                                                "0.0.0.0",
                                                "[::]",
                                                "[::1]",
                                                "[::ffff:7f00:1]",
                                                "[::ffff:0:0]",
                                                "%31%32%37.0.0.1",
                                                "１２７.０.０.１",
                                                "localhost",
                                                "LOCALHOST",
                                                "localhost.",
                                                "[0:0:0:0:0:0:0:1]"};
    for (const std::string& each : spellings) {
        WEIR_EXPECT_THROW(careful.get(four.url(each)), http::address_refused);
    }
    EXPECT_EQ(four.requests() + six.requests(), 0);
    // Each of them does lead there, or nothing was shown.
    for (const std::string& each : spellings) {
        auto answer = co_await open.get(four.url(each));
        EXPECT_EQ(answer.status(), http::status::ok) << each;
        co_await answer.discard();
    }
    EXPECT_EQ(four.requests() + six.requests(), static_cast<int>(spellings.size()));
    // Nothing is sent to these either, even if no server listens there.
    for (const std::string_view each :
         {"10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
          "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
          "198.18.0.1", "255.255.255.255", "[ff02::1]"}) {
        WEIR_EXPECT_THROW(careful.get(four.url(each)), http::address_refused);
    }
    co_await four.stop();
    co_await six.stop();
}

WEIR_IO_TEST(FilteredClient, ExceptionsAndRedirects) {
    site inside(io::address::loopback(0));
    site gate(io::address::parse("127.0.0.2:0"), [&](http::request& incoming) {
        return http::response::redirect(inside.url(incoming.path().substr(1)));
    });
    auto filter = address_filter::public_only();
    filter.allow("127.0.0.2");
    http::client careful({}, filter);
    for (const std::string_view target : {"/127.0.0.1", "/localhost", "/0x7f.1", "/2130706433"}) {
        try {
            co_await careful.get(gate.url("127.0.0.2", target));
            ADD_FAILURE() << target << " was followed";
        } catch (const http::address_refused& refused) {
            EXPECT_TRUE(refused.address().is_loopback());
            EXPECT_EQ(refused.kind(), http::address_class::loopback);
        }
    }
    EXPECT_EQ(gate.requests(), 4);
    EXPECT_EQ(inside.requests(), 0);
    filter.allow_host("localhost");
    http::client trusting({}, filter);
    auto answer = co_await trusting.get(gate.url("127.0.0.2", "/localhost"));
    EXPECT_EQ(answer.status(), http::status::ok);
    co_await answer.discard();
    WEIR_EXPECT_THROW(trusting.get(inside.url("127.0.0.1")), http::address_refused);
    EXPECT_EQ(inside.requests(), 1);
    co_await inside.stop();
    co_await gate.stop();
}

// 127.0.0.2 stands for a public address, which tests do not connect to.
WEIR_IO_TEST(FilteredClient, RebindingNeverConnects) {
    auto doors = twins(io::address::parse("127.0.0.2:0"), io::address::loopback(0));
    site outside(std::move(doors.first));
    site inside(std::move(doors.second));
    int queries = 0;
    std::mt19937 random(1);
    const auto handler = [&](const weir_test::dns_question& question) {
        weir_test::dns_reply reply(question);
        if (question.type == weir_test::type_a) {
            if (question.name == "flips.example") {
                reply.address(question.name, queries++ == 0 ? "127.0.0.2" : "127.0.0.1", 0);
            } else if (question.name == "random.example") {
                reply.address(question.name, random() % 2 == 0 ? "127.0.0.2" : "127.0.0.1", 0);
            } else if (question.name == "both.example") {
                reply.address(question.name, "127.0.0.2", 0);
                reply.address(question.name, "127.0.0.1", 0);
            } else if (question.name == "alias.example") {
                reply.alias(question.name, "flips.example", 0);
                reply.address("flips.example", "127.0.0.1", 0);
            }
        }
        return std::vector<weir_test::packet>{{reply.text()}};
    };
    const auto body = [&](weir_test::fake_server& names) -> weir::task<> {
        auto options = weir_test::alone(names.address());
        const io::address server = names.address();
        options.servers = {&server, 1};
        options.cache_size = 0;
        weir::dns::resolver resolver(options);
        auto filter = address_filter::public_only();
        filter.allow("127.0.0.2");
        // Without connections that are kept, so that each request asks anew.
        for (int i = 0; i < 3; ++i) {
            http::client fresh({.resolver = &resolver}, filter);
            if (i == 0) {
                auto answer = co_await fresh.get(outside.url("flips.example"));
                EXPECT_EQ(answer.status(), http::status::ok);
                co_await answer.discard();
            } else {
                WEIR_EXPECT_THROW(fresh.get(outside.url("flips.example")), http::address_refused);
            }
        }
        http::client careful({.resolver = &resolver}, filter);
        WEIR_EXPECT_THROW(careful.get(outside.url("both.example")), http::address_refused);
        WEIR_EXPECT_THROW(careful.get(outside.url("alias.example")), http::address_refused);
        int served = 0;
        for (int i = 0; i < 40; ++i) {
            http::client fresh({.resolver = &resolver}, filter);
            try {
                auto answer = co_await fresh.get(outside.url("random.example"));
                co_await answer.discard();
                ++served;
            } catch (const http::address_refused&) {
            }
        }
        EXPECT_GT(served, 0);
        EXPECT_LT(served, 40);
        EXPECT_EQ(outside.requests(), 1 + served);
    };
    co_await weir_test::with_server(handler, body);
    EXPECT_EQ(inside.requests(), 0);
    co_await outside.stop();
    co_await inside.stop();
}
