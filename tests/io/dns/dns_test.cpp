// SPDX-License-Identifier: MIT
// The resolver against a name server that the test controls.

#include "fake_server.hpp"
#include "io/net/address_order.hpp"
#include "support.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir_test;
using weir::dns::resolver;
using weir::dns::resolver_options;

WEIR_IO_TEST(Dns, BothFamiliesWithThePort) {
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver names(alone(where));
        const auto found = co_await names.resolve("Host.Example", 8080);
        std::vector<std::string> sorted = texts(found);
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(sorted, (words{"10.0.0.1:8080", "[fd00::1]:8080"}));
        const auto again = co_await names.resolve("host.EXAMPLE", "https");
        EXPECT_EQ(again.at(0).port(), 443);
        EXPECT_EQ(server.queries(), 2);  // the second came from the cache
        EXPECT_EQ(names.stats().queries, 2u);
        EXPECT_EQ(names.stats().cache_hits, 1u);
        EXPECT_EQ(names.stats().cached, 1u);
        EXPECT_EQ(names.stats().running, 0u);
        names.clear_cache();
        co_await names.resolve("host.example", 1);
        EXPECT_EQ(server.queries(), 4);
    };
    co_await with_server(answer_all, body);
}

WEIR_IO_TEST(Dns, FamiliesAreChosen) {
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        const auto ask = [&](weir::dns::families wanted) -> weir::task<words> {
            resolver_options options = alone(where);
            options.families = wanted;
            resolver names(options);
            const auto found = co_await names.resolve("a.b", 1);
            co_return texts(found);
        };
        words found = co_await ask(weir::dns::families::ipv4_first);
        EXPECT_EQ(found, (words{"10.0.0.1:1", "[fd00::1]:1"}));
        found = co_await ask(weir::dns::families::ipv6_first);
        EXPECT_EQ(found, (words{"[fd00::1]:1", "10.0.0.1:1"}));
        EXPECT_EQ(server.queries(), 4);
        found = co_await ask(weir::dns::families::ipv4_only);
        EXPECT_EQ(found, (words{"10.0.0.1:1"}));
        found = co_await ask(weir::dns::families::ipv6_only);
        EXPECT_EQ(found, (words{"[fd00::1]:1"}));
        EXPECT_EQ(server.queries(), 6);

        resolver_options options = alone(where);
        options.families = weir::dns::families::ipv6_only;
        resolver names(options);
        WEIR_EXPECT_THROW_WITH(names.resolve("127.0.0.1", 1), weir::resolve_error, "127.0.0.1");
        const auto self = co_await names.resolve("localhost", 1);
        EXPECT_EQ(texts(self), (words{"[::1]:1"}));
    };
    co_await with_server(answer_all, body);
}

// The answers of servers, and the resolver's results.
WEIR_IO_TEST(Dns, FailuresAreNamed) {
    auto handler = [](const dns_question& question) -> std::vector<packet> {
        const bool v4 = question.type == type_a;
        if (question.name == "gone.example") {
            return {{dns_reply(question, 3).text()}};
        }
        if (question.name == "bare.example") {
            return {{dns_reply(question).text()}};
        }
        if (question.name == "sick.example") {
            return {{dns_reply(question, 2).text()}};
        }
        if (question.name == "shut.example") {
            return {{dns_reply(question, 5).text()}};
        }
        if (question.name == "odd.example") {  // a code that c-ares treats as success
            return {{dns_reply(question, 11).address("odd.example", "10.0.0.1").text()}};
        }
        if (question.name == "half-sick.example") {  // one family fails, the other has no addresses
            return {{dns_reply(question, v4 ? 2 : 0).text()}};
        }
        if (question.name == "half-broken.example") {  // one answers, the other talks nonsense
            dns_reply reply(question);
            reply.address(question.name, "10.0.0.7");
            std::string text = reply.text();
            return {{v4 ? text : text.substr(0, text.size() - 7)}};
        }
        return {};
    };
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver names(alone(where));
        using weir::resolve_error;
        WEIR_EXPECT_THROW_WITH(names.resolve("gone.example"), resolve_error,
                               "cannot resolve gone.example: no such host (NXDOMAIN)");
        WEIR_EXPECT_THROW_WITH(
            names.resolve("bare.example"), resolve_error,
            "cannot resolve bare.example: the name exists, but has no addresses");
        WEIR_EXPECT_THROW_WITH(names.resolve("sick.example"), resolve_error, "SERVFAIL");
        WEIR_EXPECT_THROW_WITH(names.resolve("shut.example"), resolve_error, "REFUSED");
        WEIR_EXPECT_THROW_WITH(names.resolve("odd.example"), resolve_error, "SERVFAIL");
        WEIR_EXPECT_THROW_WITH(names.resolve("half-sick.example"), resolve_error, "SERVFAIL");
        resolver_options options = alone(where);
        options.timeout = 20ms;
        resolver hasty(options);
        WEIR_EXPECT_THROW_WITH(hasty.resolve("mute.example"), resolve_error,
                               "no answer from " + where.text());
        const auto found = co_await names.resolve("half-broken.example", 5);
        EXPECT_EQ(texts(found), (words{"10.0.0.7:5"}));

        // The resolver caches names that do not exist, not failures to reach a server.
        for (const char* each :
             {"gone.example", "bare.example", "sick.example", "half-sick.example"}) {
            const int before = server.queries(each, type_a);
            WEIR_EXPECT_THROW_WITH(names.resolve(each), resolve_error, each);
            const bool remembered =
                std::string(each) == "gone.example" || std::string(each) == "bare.example";
            EXPECT_EQ(server.queries(each, type_a), before + (remembered ? 0 : 1)) << each;
        }
        // Never queried.
        const int before = server.queries();
        WEIR_EXPECT_THROW_WITH(names.resolve("no-such.invalid"), resolve_error,
                               "cannot resolve no-such.invalid: no such host (NXDOMAIN)");
        WEIR_EXPECT_THROW_WITH(names.resolve("secret.onion"), resolve_error, "NXDOMAIN");
        EXPECT_EQ(server.queries(), before);
    };
    co_await with_server(handler, body);
}

WEIR_IO_TEST(Dns, NobodyListens) {
    // A port that was free a moment ago: the kernel reports the refusal, and c-ares tries the
    // others.
    weir::io::address nowhere;
    {
        fake_server closed(answer_all);
        nowhere = closed.address();
    }
    resolver names(alone(nowhere));
    WEIR_EXPECT_THROW_WITH(names.resolve("a.example"), weir::resolve_error, nowhere.text());

    auto body = [&](fake_server& server) -> weir::task<> {
        const std::array servers{nowhere, server.address()};
        resolver both({.servers = servers, .resolv_conf = "/dev/null", .hosts_file = ""});
        const auto found = co_await both.resolve("a.example");
        EXPECT_EQ(found.size(), 2u);
    };
    co_await with_server(answer_all, body);
}

WEIR_IO_TEST(Dns, AnotherServerWhereOneFails) {
    auto refusing = [](const dns_question& question) -> std::vector<packet> {
        return {{dns_reply(question, question.type == type_a ? 2 : 5).text()}};
    };
    auto body = [&](fake_server& sick) -> weir::task<> {
        auto inner = [&](fake_server& healthy) -> weir::task<> {
            const std::array servers{sick.address(), healthy.address()};
            resolver names({.servers = servers, .resolv_conf = "/dev/null", .hosts_file = ""});
            const auto found = co_await names.resolve("a.example");
            EXPECT_EQ(found.size(), 2u);
            EXPECT_EQ(sick.queries(), 2);
            EXPECT_EQ(healthy.queries(), 2);
        };
        co_await with_server(answer_all, inner);
    };
    co_await with_server(refusing, body);
}

WEIR_IO_TEST(Dns, TruncationAliasesStrangersAndEmptyPackets) {
    auto handler = [](const dns_question& question) -> std::vector<packet> {
        dns_reply good(question);
        if (question.name == "long.example") {
            if (!question.over_tcp) {
                return {{dns_reply(question, 0, 0x8380).text()}};
            }
            for (int index = 0; index < 200 && question.type == type_a; ++index) {
                good.address(question.name, "10.1.0." + std::to_string(index));
            }
        } else if (question.name == "alias.example") {
            good.alias(question.name, "middle.example", 50);
            good.alias("middle.example", "end.example", 0);
            if (question.type == type_a) {
                good.address("end.example", "10.0.0.9").address("other.example", "6.6.6.6");
            }
        } else if (question.name == "loop.example") {
            good.alias(question.name, "loop2.example").alias("loop2.example", question.name);
        } else if (question.name == "noise.example") {
            dns_question wrong = question;
            wrong.id[0] = static_cast<char>(wrong.id[0] ^ 1);
            std::vector<packet> made{{dns_reply(wrong).address(question.name, "6.6.6.6").text()}};
            wrong = question;
            wrong.section =
                wire_name("evil.example") + question.section.substr(question.section.size() - 4);
            made.push_back({dns_reply(wrong).address("evil.example", "6.6.6.6").text()});
            made.push_back({"x"});
            made.push_back({""});
            made.push_back({std::string(700, 'y')});
            good.address(question.name, question.type == type_a ? "10.0.0.4" : "fd00::4");
            made.push_back({good.text()});
            return made;
        }
        return {{good.text()}};
    };
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver names(alone(where));
        auto found = co_await names.resolve("long.example");
        EXPECT_EQ(found.size(), 64u);  // as many as are taken of one family
        EXPECT_EQ(server.over_tcp(), 2);
        found = co_await names.resolve("alias.example", 7);
        EXPECT_EQ(texts(found), (words{"10.0.0.9:7"}));
        co_await names.resolve("alias.example", 7);  // good for no time: one of the aliases is
        EXPECT_EQ(server.queries("alias.example", type_a), 2);
        WEIR_EXPECT_THROW_WITH(names.resolve("loop.example"), weir::resolve_error, "no addresses");
        resolver_options options = alone(where);
        options.families = weir::dns::families::ipv4_first;
        options.tries = 3;
        resolver noisy(options);
        found = co_await noisy.resolve("noise.example");
        EXPECT_EQ(texts(found), (words{"10.0.0.4:0", "[fd00::4]:0"}));
    };
    co_await with_server(handler, body);
}

WEIR_IO_TEST(Dns, SearchDomainsAreTriedInTurn) {
    auto handler = [](const dns_question& question) -> std::vector<packet> {
        if (question.name == "db.two.example" || question.name == "deep.db") {
            return answer_all(question);
        }
        // There is an IPv6 name of the kind in the first domain, but not so for IPv4.
        return {{dns_reply(question, 3).text()}};
    };
    const temporary_file conf("search one.example two.example\noptions ndots:1\n");
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.resolv_conf = conf.path();
        resolver names(options);
        const auto found = co_await names.resolve("db");
        EXPECT_EQ(found.size(), 2u);
        EXPECT_EQ(server.queries("db.one.example", type_a), 1);
        EXPECT_EQ(server.queries("db", type_a), 0);
        const auto deep = co_await names.resolve("deep.db");
        EXPECT_EQ(deep.size(), 2u);
        EXPECT_EQ(server.queries("deep.db.one.example", type_a), 0);
        WEIR_EXPECT_THROW_WITH(names.resolve("db."), weir::resolve_error, "NXDOMAIN");
        EXPECT_EQ(server.queries("db", type_a), 1);
        WEIR_EXPECT_THROW(names.resolve("none"), weir::resolve_error);
        EXPECT_EQ(server.queries("none.two.example", type_aaaa), 1);
        EXPECT_EQ(server.queries("none", type_aaaa), 1);

        // The file changes: another network.
        conf.write("search three.example\n");
        while (server.queries("none.three.example", type_a) == 0) {
            co_await weir::sleep(20ms);
            WEIR_EXPECT_THROW(names.resolve("none"), weir::resolve_error);
            names.clear_cache();
        }
    };
    co_await with_server(handler, body);
}

WEIR_IO_TEST(Dns, HostsFileComesFirst) {
    const temporary_file hosts(
        "# a comment\n10.9.9.9\tBox.local box  # mine\nnonsense here\nfd00::9 box\n10.9.9.8 box\n");
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.hosts_file = hosts.path();
        options.families = weir::dns::families::ipv4_first;
        resolver names(options);
        auto found = co_await names.resolve("BOX", 3);
        EXPECT_EQ(texts(found), (words{"10.9.9.9:3", "10.9.9.8:3", "[fd00::9]:3"}));
        found = co_await names.resolve("box.local.", 3);
        EXPECT_EQ(texts(found), (words{"10.9.9.9:3"}));
        EXPECT_EQ(server.queries(), 0);
    };
    co_await with_server(answer_all, body);
}

// Without a wish for a family, addresses that can be reached come first.
WEIR_IO_TEST(Dns, AddressesOfBothFamiliesAreOrderedByReachability) {
    const temporary_file hosts("2001:db8::9 box\n127.0.0.1 box\n");
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.hosts_file = hosts.path();
        resolver names(options);
        const auto found = co_await names.resolve("box", 3);
        std::vector<weir::io::address> expected{weir::io::address::parse("2001:db8::9", 3),
                                                weir::io::address::parse("127.0.0.1", 3)};
        weir::io::detail::sort_by_preference(expected);
        EXPECT_EQ(texts(found), texts(expected));
    };
    co_await with_server(answer_all, body);
}

WEIR_IO_TEST(Dns, CacheKeepsToTheTimeToLive) {
    unsigned ttl = 0;
    auto handler = [&](const dns_question& question) -> std::vector<packet> {
        if (question.name == "gone.example") {
            return {{dns_reply(question, 3).text()}};
        }
        dns_reply reply(question);
        reply.address(question.name, question.type == type_a ? "10.0.0.1" : "fd00::1",
                      question.type == type_a ? ttl : 3600);
        return {{reply.text()}};
    };
    auto body = [&](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.min_time_to_live = 30ms;
        options.max_time_to_live = 60ms;
        options.negative_time = 30ms;
        options.cache_size = 2;
        resolver names(options);
        const auto time_to_forget = [&](const char* name) -> weir::task<weir::clock::duration> {
            const int before = server.queries(name, type_a);
            const auto begin = weir::now();
            while (server.queries(name, type_a) < before + 2) {
                const auto outcome = co_await weir::settle(names.resolve(name));
                EXPECT_EQ(outcome.has_value(), std::string(name) != "gone.example");
                co_await weir::sleep(1ms);
            }
            co_return weir::now() - begin;
        };
        auto time = co_await time_to_forget("a.example");  // 0 s, raised
        EXPECT_GE(time, 30ms);
        ttl = 0x80000000u;  // negative for c-ares: counts as 0
        time = co_await time_to_forget("a.example");
        EXPECT_GE(time, 30ms);
        ttl = 3600;  // lowered
        time = co_await time_to_forget("b.example");
        EXPECT_GE(time, 60ms);
        EXPECT_LT(time, 2s);
        time = co_await time_to_forget("gone.example");
        EXPECT_GE(time, 30ms);
        EXPECT_LE(names.stats().cached, 2u);
    };
    co_await with_server(handler, body);
}

WEIR_IO_TEST(Dns, ThoseWhoAskForTheSameShareOneQuestion) {
    auto slow = [](const dns_question& question) -> std::vector<packet> {
        std::vector<packet> made = answer_all(question);
        made[0].delay = 10ms;
        return made;
    };
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.max_queries = 3;
        resolver names(options);
        std::vector<weir::handle<std::vector<weir::io::address>>> all;
        for (int index = 0; index < 100; ++index) {
            const std::string name = std::to_string(index % 10) + ".example";
            all.push_back(weir::spawn(
                [](resolver& from, std::string host) -> weir::task<std::vector<weir::io::address>> {
                    co_return co_await from.resolve(host, 9);
                },
                std::ref(names), name));
        }
        co_await weir::sleep(1ms);
        EXPECT_LE(names.stats().running, 3u);
        all[0].cancel();
        all[3].cancel();
        for (std::size_t index = 0; index < all.size(); ++index) {
            if (index != 0 && index != 3) {
                const auto found = co_await all[index];
                EXPECT_EQ(found.size(), 2u);
            }
        }
        EXPECT_EQ(server.queries(), 20);
    };
    co_await with_server(slow, body);
}

// A middlebox drops IPv6 queries: IPv4 is not delayed for long, and late answers are cached.
WEIR_IO_TEST(Dns, DoesNotWaitLongForTheOtherFamily) {
    auto handler = [](const dns_question& question) -> std::vector<packet> {
        std::vector<packet> made = answer_all(question);
        if (question.type == type_aaaa && question.name == "late.example") {
            made[0].is_held = true;
        } else if (question.type == type_aaaa) {
            return {};
        }
        return made;
    };
    auto body = [](fake_server& server) -> weir::task<> {
        const weir::io::address where = server.address();
        resolver_options options = alone(where);
        options.resolution_delay = 10ms;
        options.families = weir::dns::families::ipv4_first;
        resolver names(options);
        const auto begin = weir::now();
        auto found = co_await names.resolve("mute.example");
        EXPECT_EQ(texts(found), (words{"10.0.0.1:0"}));
        found = co_await names.resolve("late.example");
        EXPECT_EQ(texts(found), (words{"10.0.0.1:0"}));
        found = co_await names.resolve("late.example");  // at once: it is known
        EXPECT_EQ(found.size(), 1u);
        EXPECT_GE(weir::now() - begin, 20ms);
        EXPECT_LT(weir::now() - begin, 4s);
        EXPECT_EQ(names.stats().running, 2u);
        server.release();
        while (names.stats().running > 1) {
            co_await weir::sleep(1ms);
        }
        found = co_await names.resolve("late.example");
        EXPECT_EQ(texts(found), (words{"10.0.0.1:0", "[fd00::1]:0"}));
        EXPECT_EQ(server.queries("late.example", type_a), 1);
    };
    co_await with_server(handler, body);
}

}  // namespace
