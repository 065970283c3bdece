// SPDX-License-Identifier: MIT
// A client with policies for each host, with real servers on loopback.

#include "http/client/recording_site.hpp"
#include "support/io.hpp"

#include <weir/flow/circuit_state.hpp>
#include <weir/http/client.hpp>
#include <weir/http/polite_client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/refusal.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace http = weir::http;
namespace io = weir::io;
using http::host_policies_options;
using site = weir_test::recording_site;

WEIR_IO_TEST(PoliteClient, RetriesFetchesAndBreaks) {
    int tries = 0;
    site moody(io::address::loopback(0), [&](http::request& request) {
        ++tries;
        if (request.path() == "/down") {
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
    io::listener listener = io::listen(io::address::loopback(0));
    const io::address at = listener.local_address();
    const auto answer = [&](http::request& request) -> weir::task<http::response> {
        std::string text = co_await request.text();
        bodies.push_back(std::string(request.header("X-Mark")) + text);
        co_return bodies.size() < 3 ? http::response(http::status::bad_gateway)
                                    : http::response::text("stored");
    };
    auto server = weir::spawn(http::serve(std::move(listener), answer));
    http::client client;
    http::polite_client polite(client, {.backoff = {.initial = 1ms, .maximum = 5ms}});
    http::client_request request(http::method::put, "http://" + at.text() + "/x");
    request.set_header("X-Mark", "m").set_body(std::string(100'000, 'b'));
    const auto stored = co_await polite.fetch(std::move(request));
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

    // The connection is refused: a POST may be retried, since nothing was sent.
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
    int requests = 0;
    weir::loop::current().on_report([](const weir::report&) {});  // of answers that break off
    site unsteady(io::address::loopback(0), [&](http::request&) {
        const bool breaks_off = ++requests % 3 != 0;
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
    EXPECT_EQ(requests, 3);

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
