// SPDX-License-Identifier: MIT
// The address filter and the policies for hosts where they are used: a real client, real servers on
// loopback, and a name server that changes its mind.

#include <io_dns/fake_server.hpp>
#include <io_dns/support.hpp>
#include <support/io.hpp>

#include <weir/flow/circuit_state.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/http/client.hpp>
#include <weir/http/polite_client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/refusal.hpp>
#include <weir/spawn.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
namespace io = weir::io;
using http::address_filter;
using http::host_policies_options;

namespace {

// An HTTP server that knows who came.
class site {
public:
    using handler = std::function<http::response(http::request&)>;

    explicit site(io::address at, handler answer = {}) : site(io::listen(at), std::move(answer)) {}
    explicit site(io::listener door, handler answer = {}) : answer_(std::move(answer)) {
        address_ = door.local_address();
        running_ = weir::spawn(http::serve(std::move(door), [this](http::request& asked) {
            ++requests_;
            return answer_ ? answer_(asked) : http::response::text("here");
        }));
    }
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }
    std::string url(std::string_view host, std::string_view target = "/") const {
        return "http://" + std::string(host) + ':' + std::to_string(address_.port()) +
               std::string(target);
    }
    io::address address() const { return address_; }
    int requests() const { return requests_; }

private:
    handler answer_;
    io::address address_;
    weir::handle<> running_;
    int requests_ = 0;
};

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

WEIR_IO_TEST(AddressFilterEndToEnd, NoSpellingReachesLoopback) {
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
    // Nothing is sent to these either; whether anybody would answer does not matter.
    for (const std::string_view each :
         {"10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
          "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
          "198.18.0.1", "255.255.255.255", "[ff02::1]"}) {
        WEIR_EXPECT_THROW(careful.get(four.url(each)), http::address_refused);
    }
    co_await four.stop();
    co_await six.stop();
}

WEIR_IO_TEST(AddressFilterEndToEnd, ExceptionsAndRedirects) {
    site inside(io::address::loopback(0));
    site gate(io::address::parse("127.0.0.2:0"), [&](http::request& asked) {
        return http::response::redirect(inside.url(asked.path().substr(1)));
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
WEIR_IO_TEST(AddressFilterEndToEnd, RebindingNeverConnects) {
    auto doors = twins(io::address::parse("127.0.0.2:0"), io::address::loopback(0));
    site outside(std::move(doors.first));
    site inside(std::move(doors.second));
    int asked = 0;
    std::mt19937 random(1);
    const auto handler = [&](const weir_test::dns_question& question) {
        weir_test::dns_reply reply(question);
        if (question.type == weir_test::type_a) {
            if (question.name == "flips.example") {
                reply.address(question.name, asked++ == 0 ? "127.0.0.2" : "127.0.0.1", 0);
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

WEIR_IO_TEST(PoliteClient, RetriesFetchesAndBreaks) {
    int tries = 0;
    site moody(io::address::loopback(0), [&](http::request& asked) {
        ++tries;
        if (asked.path() == "/down") {
            return http::response(http::status::service_unavailable);
        }
        if (tries < 3) {
            return http::response::text("later", http::status::service_unavailable)
                .with("Retry-After", "0");
        }
        return http::response::text("now");
    });
    http::client client;
    http::polite_client polite(client, {.rate = host_policies_options::unlimited,
                                        .backoff = {.initial = 1ms, .maximum = 5ms},
                                        .consecutive_failures = 5});
    auto page = co_await polite.fetch(moody.url("127.0.0.1"));
    EXPECT_EQ(page.status(), http::status::ok);
    EXPECT_EQ(page.body(), "now");
    EXPECT_EQ(page.url().path(), "/");
    EXPECT_EQ(tries, 3);
    // One connection has served all of them.
    EXPECT_EQ(client.stats().connections, 1u);

    // A post is sent once, a put with its body as often as it takes.
    tries = 0;
    auto posted = co_await polite.post(moody.url("127.0.0.1"), std::string("x"), "text/plain");
    EXPECT_EQ(posted.status(), http::status::service_unavailable);
    const std::string unread = co_await posted.text();
    EXPECT_EQ(unread, "later");
    EXPECT_EQ(tries, 1);

    for (int i = 0; i < 2; ++i) {
        const auto down = co_await polite.fetch(moody.url("127.0.0.1", "/down"));
        EXPECT_EQ(down.status(), http::status::service_unavailable);
    }
    WEIR_EXPECT_THROW_WITH(polite.get(moody.url("127.0.0.1")), weir::refused, "127.0.0.1: ");
    EXPECT_EQ(polite.policies().status_of(http::url::parse(moody.url("127.0.0.1"))).circuit,
              weir::circuit_state::open);
    co_await moody.stop();
}

WEIR_IO_TEST(PoliteClient, SendsBodiesAgain) {
    std::vector<std::string> bodies;
    io::listener door = io::listen(io::address::loopback(0));
    const io::address at = door.local_address();
    const auto answer = [&](http::request& asked) -> weir::task<http::response> {
        std::string text = co_await asked.text();
        bodies.push_back(std::string(asked.header("X-Mark")) + text);
        co_return bodies.size() < 3 ? http::response(http::status::bad_gateway)
                                    : http::response::text("stored");
    };
    auto server = weir::spawn(http::serve(std::move(door), answer));
    http::client client;
    http::polite_client polite(client, {.backoff = {.initial = 1ms, .maximum = 5ms}});
    http::client_request wanted(http::method::put, "http://" + at.text() + "/x");
    wanted.set_header("X-Mark", "m").set_body(std::string(100'000, 'b'));
    const auto stored = co_await polite.fetch(std::move(wanted));
    EXPECT_EQ(stored.body(), "stored");
    EXPECT_EQ(bodies, std::vector<std::string>(3, "m" + std::string(100'000, 'b')));

    // A stream can be read once: one attempt.
    bodies.clear();
    http::client_request streamed(http::method::put, "http://" + at.text() + "/x");
    streamed.set_body(http::body::stream([](http::body_writer& to) -> weir::task<> {
        co_await to.write(std::string_view("piece"));
    }));
    const auto refused = co_await polite.fetch(std::move(streamed));
    EXPECT_EQ(refused.status(), http::status::bad_gateway);
    EXPECT_EQ(bodies, std::vector<std::string>(1, "piece"));

    // Nobody there: a post may go again, since nothing was sent.
    server.cancel();
    co_await server.wait();
    const auto before = polite.policies().stats().attempts;
    WEIR_EXPECT_THROW(polite.post("http://" + at.text() + "/x", std::string("x")),
                      http::transport_error);
    EXPECT_EQ(polite.policies().stats().attempts - before, 3u);
    WEIR_EXPECT_THROW(polite.fetch("http://127.0.0.1:1/", 10), http::transport_error);
}

// A body that breaks off is fetched again; a stop at any moment leaves nothing behind.
WEIR_IO_TEST(PoliteClient, CoversBodiesAndStops) {
    int asked = 0;
    weir::loop::current().on_report([](const weir::report&) {});  // of answers that break off
    site unsteady(io::address::loopback(0), [&](http::request&) {
        const bool breaks_off = ++asked % 3 != 0;
        return http::response::stream(
            "text/plain",
            [breaks_off](http::body_writer& to) -> weir::task<> {
                co_await to.write(std::string_view("half "));
                co_await to.flush();
                co_await weir::sleep(1ms);
                if (breaks_off) {
                    throw std::runtime_error("breaks off");
                }
                co_await to.write(std::string_view("whole"));
            },
            10);
    });
    http::client client;
    http::polite_client polite(client, {.rate = host_policies_options::unlimited,
                                        .max_concurrent = 2,
                                        .backoff = {.initial = 1ms, .maximum = 2ms},
                                        .consecutive_failures = 0});
    const auto page = co_await polite.fetch(unsteady.url("127.0.0.1"));
    EXPECT_EQ(page.body(), "half whole");
    EXPECT_EQ(asked, 3);

    for (int i = 0; i < 40; ++i) {
        std::vector<weir::handle<http::fetched>> running;
        for (int k = 0; k < 3; ++k) {
            running.push_back(weir::spawn(polite.fetch(unsteady.url("127.0.0.1"))));
        }
        co_await weir::sleep(i * 150us);
        for (auto& each : running) {
            each.cancel();
        }
        for (auto& each : running) {
            co_await each.wait();
        }
        WEIR_ASSERT_EQ(polite.policies().stats().in_flight, 0u);
        WEIR_ASSERT_EQ(client.stats().active, 0u);
    }
    const auto stats = polite.policies().stats();
    EXPECT_EQ(stats.requests, stats.answered + stats.failed + stats.stopped);
    EXPECT_GT(stats.stopped, 0u);
    co_await unsteady.stop();
}
