// SPDX-License-Identifier: MIT
// Limits on connections, names and addresses, proxies, TLS and HTTP/2; nginx is the origin where
// it can be.

#include "io/dns/fake_server.hpp"
#include "io/dns/support.hpp"
#include "tiny_server.hpp"
#include <support/certificates.hpp>
#include <support/io.hpp>
#include <support/peers/nginx.hpp>

#include <weir/gather.hpp>
#include <weir/http/client.hpp>
#include <weir/http/server.hpp>
#include <weir/io/error.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::http::address_filter;
using weir::http::client;
using weir::http::client_request;
using weir::http::client_response;
using weir::http::method;
using weir::http::status;
using weir_test::ok_answer;
using weir_test::pattern;
using weir_test::say;
using weir_test::seen_request;
using weir_test::tiny_server;
using kind = weir::http::transport_error::kind;
using socket = weir::io::socket;

// Kept connections that have ended, were reset, or have an unsolicited response on them.
WEIR_IO_TEST(ClientNetwork, SpoiltConnectionsAreNotUsed) {
    bool resets = false;
    int spoilt = 0;
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        co_await peer.write(ok_answer(seen.target()));
        co_await weir::sleep(3ms);
        if (resets) {
            const linger at_once{.l_onoff = 1, .l_linger = 0};
            ::setsockopt(peer.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            peer.close();
            ++spoilt;
            co_return false;
        }
        co_await peer.write(ok_answer("stale"));
        ++spoilt;
        co_return true;
    });
    const auto all_spoilt = [&]() -> weir::task<> {
        while (spoilt < server.requests()) {
            co_await weir::sleep(1ms);
        }
    };
    client fetcher({.max_per_host = 20});
    const auto one = [&](std::string target) -> weir::task<std::string> {
        client_response answer = co_await fetcher.post(server.url(target), std::string("x"));
        std::string text = co_await answer.text();
        co_return text;
    };
    for (int round = 0; round < 2; ++round) {
        std::vector<weir::task<std::string>> many;
        for (int i = 0; i < 12; ++i) {
            many.push_back(one("/many"));
        }
        co_await weir::gather(std::move(many));
        co_await all_spoilt();
        const std::string text = co_await one("/own" + std::to_string(round));
        EXPECT_EQ(text, "/own" + std::to_string(round));
        co_await all_spoilt();
        resets = true;
    }
    co_await server.stop();
}

WEIR_IO_TEST(ClientNetwork, ConnectionsAreLimitedAndShared) {
    int now = 0;
    int most = 0;
    tiny_server server([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        most = std::max(most, ++now);
        co_await weir::sleep(seen.target() == "/slow" ? 300ms : 2ms);
        --now;
        co_await peer.write(ok_answer(seen.target()));
        co_return true;
    });
    client fetcher({.max_connections = 5, .max_per_host = 3});
    std::vector<weir::task<std::string>> work;
    const auto one = [&](int number, const char* host) -> weir::task<std::string> {
        client_response answer =
            co_await fetcher.get(server.url("/" + std::to_string(number), host));
        std::string text = co_await answer.text();
        co_return text;
    };
    for (int i = 0; i < 60; ++i) {
        const char* const host = i % 3 == 0 ? "127.0.0.1" : i % 3 == 1 ? "127.0.0.2" : "localhost";
        work.push_back(one(i, i % 3 == 1 ? "127.0.0.1" : host));
    }
    const std::vector<std::string> texts = co_await weir::gather(std::move(work));
    for (int i = 0; i < 60; ++i) {
        EXPECT_EQ(texts[static_cast<std::size_t>(i)], "/" + std::to_string(i));
    }
    EXPECT_LE(most, 5);
    EXPECT_GE(most, 4);                   // both hosts at a time
    EXPECT_LE(server.connections(), 40);  // an idle one goes when another host needs its place
    EXPECT_LE(fetcher.stats().open, 5U);

    // A request that waits in line is not connecting, and leaves when its deadline passes.
    client narrow({.max_connections = 1, .connect_timeout = 200ms});
    weir::handle<std::string> slow = weir::spawn([&]() -> weir::task<std::string> {
        client_response answer = co_await narrow.get(server.url("/slow"));
        std::string text = co_await answer.text();
        co_return text;
    });
    co_await weir::yield();
    client_request hasty(method::get, server.url("/hasty"));
    hasty.set_timeout(10ms);
    try {
        client_response answer = co_await narrow.send(std::move(hasty));
        ADD_FAILURE();
    } catch (const weir::http::request_timed_out& error) {
        EXPECT_EQ(error.which(), weir::http::request_timed_out::limit::total) << error.what();
    }
    client_response patient = co_await narrow.get(server.url("/patient"));
    const std::string text = co_await patient.text();
    EXPECT_EQ(text, "/patient");
    co_await slow.wait();
    co_await server.stop();
}

WEIR_IO_TEST(ClientNetwork, FiltersAddresses) {
    tiny_server server([](seen_request& seen, socket& peer) {
        if (seen.target() == "/away") {
            return say(peer,
                       "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\n"
                       "Content-Length: 0\r\n\r\n");
        }
        return say(peer, ok_answer("reached"));
    });
    // A name that is public at first and then is not; one that is both; and one that is public.
    int lookups = 0;
    const auto answers = [&](const weir_test::dns_question& question) {
        weir_test::dns_reply reply(question);
        if (question.type == weir_test::type_a) {
            if (question.name == "rebinds.test") {
                reply.address(question.name, ++lookups == 1 ? "127.0.0.9" : "127.0.0.1", 0);
            } else if (question.name == "mixed.test") {
                reply.address(question.name, "93.184.216.34");
                reply.address(question.name, "127.0.0.1");
            } else if (question.name == "inside.test") {
                reply.address(question.name, "127.0.0.1");
            }
        } else if (question.name == "mapped.test") {
            reply.address(question.name, "::ffff:127.0.0.1");
        }
        return std::vector<weir_test::packet>{{reply.text()}};
    };
    auto body = [&](weir_test::fake_server& names) -> weir::task<> {
        const weir::io::address at = names.address();
        weir::dns::resolver resolver(weir_test::alone(at));
        client guarded({.connect_timeout = 10s, .resolver = &resolver},
                       address_filter::public_only());
        const std::string port = ":" + std::to_string(server.address().port());
        for (const std::string& host :
             {std::string("127.0.0.1"), std::string("localhost"), std::string("[::1]"),
              std::string("0x7f.1"), std::string("2130706433"), std::string("[::ffff:127.0.0.1]"),
              std::string("mixed.test"), std::string("inside.test"), std::string("mapped.test"),
              std::string("0.0.0.0")}) {
            try {
                client_response answer = co_await guarded.get("http://" + host + port + "/x");
                ADD_FAILURE() << host << " was reached";
            } catch (const weir::http::address_refused& error) {
                EXPECT_TRUE(std::string(error.what()).starts_with("GET http://")) << error.what();
                EXPECT_NE(std::string(error.what()).find(error.address().text()),
                          std::string::npos);
            }
        }
        // The first answer passes and leads nowhere; the second is refused. 127.0.0.9 stands for a
        // public address, which tests do not connect to.
        address_filter stands_in = address_filter::public_only();
        stands_in.allow("127.0.0.9");
        client rebound({.connect_timeout = 1s, .resolver = &resolver}, stands_in);
        for (int i = 0; i < 2; ++i) {
            try {
                client_response answer = co_await rebound.get("http://rebinds.test" + port + "/");
                ADD_FAILURE() << "was reached";
            } catch (const weir::http::address_refused& error) {
                EXPECT_EQ(i, 1);
                EXPECT_EQ(error.host(), "rebinds.test");
            } catch (const weir::http::request_timed_out&) {
                EXPECT_EQ(i, 0);
            } catch (const weir::http::transport_error&) {
                EXPECT_EQ(i, 0);
            }
        }
        EXPECT_EQ(lookups, 2);
        EXPECT_EQ(server.connections(), 0);

        address_filter one = address_filter::public_only();
        one.allow("127.0.0.1");
        client allowed({.resolver = &resolver}, one);
        client_response answer = co_await allowed.get("http://inside.test" + port + "/");
        const std::string text = co_await answer.text();
        EXPECT_EQ(text, "reached");
        try {
            client_response away = co_await allowed.get("http://inside.test" + port + "/away");
            ADD_FAILURE();
        } catch (const weir::http::address_refused& error) {
            EXPECT_EQ(error.address().host(), "169.254.169.254");
        }
        client proxied({.proxy = server.url(), .resolver = &resolver},
                       address_filter::public_only());
        try {
            client_response away = co_await proxied.get("http://93.184.216.34/");
            ADD_FAILURE();
        } catch (const weir::http::address_refused& error) {
            EXPECT_EQ(error.address().host(), "127.0.0.1");
        }
        client behind({.proxy = server.url(), .resolver = &resolver}, one);
        try {
            client_response away = co_await behind.get("http://10.0.0.1/");
            ADD_FAILURE();
        } catch (const weir::http::address_refused& error) {
            EXPECT_EQ(error.address().host(), "10.0.0.1");
        }
        // What was looked up is what is connected to, also when it changes.
        client plain({.resolver = &resolver});
        client_response moved = co_await plain.get("http://rebinds.test" + port + "/");
        const std::string reached = co_await moved.text();
        EXPECT_EQ(reached, "reached");
    };
    co_await weir_test::with_server(answers, body);
    co_await server.stop();
}

WEIR_IO_TEST(ClientNetwork, GoesThroughProxies) {
    std::vector<std::string> seen_by_proxy;
    tiny_server target([](seen_request& seen, socket& peer) {
        return say(peer, ok_answer("target " + seen.target()));
    });
    tiny_server proxy([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        seen_by_proxy.push_back(seen.head);
        if (seen.target() == "http://forbidden.test/") {
            co_await peer.write("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n");
            co_return true;
        }
        co_await peer.write(ok_answer("proxied " + seen.target()));
        co_return true;
    });
    const std::string proxy_url =
        "http://ann:pw@localhost:" + std::to_string(proxy.address().port());
    client fetcher({.proxy = proxy_url});
    client_response answer = co_await fetcher.get("http://not-resolved.test/x");
    const std::string text = co_await answer.text();
    EXPECT_EQ(text, "proxied http://not-resolved.test/x");
    EXPECT_NE(seen_by_proxy.back().find("Proxy-Authorization: Basic YW5uOnB3\r\n"),
              std::string::npos)
        << seen_by_proxy.back();
    client_response refused = co_await fetcher.get("http://forbidden.test/");
    EXPECT_EQ(refused.status(), static_cast<status>(407));
    // The environment is ignored.
    ::setenv("http_proxy", proxy.url().c_str(), 1);
    client direct;
    client_response straight = co_await direct.get(target.url("/direct"));
    const std::string got = co_await straight.text();
    EXPECT_EQ(got, "target /direct");
    ::unsetenv("http_proxy");
    try {
        client broken({.proxy = "http://127.0.0.1:1"});
        client_response none = co_await broken.get("http://any.test/");
        ADD_FAILURE();
    } catch (const weir::http::transport_error& error) {
        EXPECT_EQ(error.why(), kind::proxy) << error.what();
    }
    co_await target.stop();
    co_await proxy.stop();
}

WEIR_IO_TEST(ClientNetwork, CookiesByChoice) {
    std::string cookies;
    tiny_server server([&](seen_request& seen, socket& peer) {
        cookies = seen.header("Cookie");
        return say(peer, ok_answer("", "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; Path=/x\r\n"));
    });
    for (const bool keeps : {true, false}) {
        client fetcher({.cookies = keeps});
        for (const char* const target : {"/", "/y", "/x/z"}) {
            client_response answer = co_await fetcher.get(server.url(target));
            co_await answer.discard();
            const std::string expected = !keeps || target == std::string("/") ? ""
                                         : target == std::string("/y")        ? "a=1"
                                                                              : "b=2; a=1";
            EXPECT_EQ(cookies, expected) << target;
        }
    }
    co_await server.stop();
}

// As browsers do: a common name alone names no host.
WEIR_IO_TEST(ClientNetwork, RefusesCertificatesWithoutNames) {
    for (const bool has_names : {false, true}) {
        const weir::tls::certificate site =
            weir_test::certificate_with({.name = "localhost", .has_alternative_name = has_names});
        const weir::tls::context secure = weir::tls::context::server(
            {.certificate_pem = site.certificate_pem, .key_pem = site.key_pem});
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        const std::string url =
            "https://localhost:" + std::to_string(listener.local_address().port());
        auto answers = [](weir::http::request&) { return weir::http::response::text("secret"); };
        const auto serving =
            weir::spawn(weir::http::serve(std::move(listener), answers, {.tls = &secure}));
        client careful({.tls = {.ca_pem = site.certificate_pem}});
        std::string said;
        try {
            client_response answer = co_await careful.get(url);
            said = co_await answer.text();
        } catch (const weir::http::transport_error& error) {
            EXPECT_EQ(error.why(), kind::tls) << error.what();
            said = "refused";
        }
        EXPECT_EQ(said, has_names ? "secret" : "refused");
        client careless({.tls = {.verify = false}});
        client_response any = co_await careless.get(url);
        said = co_await any.text();
        EXPECT_EQ(said, "secret");
        serving.cancel();
        (void)co_await weir::settle(serving.wait());
    }
}

WEIR_IO_TEST(ClientNetwork, TlsAndHttp2) {
    const weir::tls::certificate_authority authority("Test");
    const weir::tls::certificate site = authority.issue({.names = "localhost,127.0.0.1"});
    weir_test::nginx origin(
        "ssl_certificate site.pem; ssl_certificate_key site.key;"
        "ssl_client_certificate ca.pem; ssl_verify_client optional;"
        "location /identified { return 200 '$ssl_client_verify $ssl_client_s_dn'; }"
        "location / { return 200 '$server_protocol $ssl_session_reused'; }"
        "location /big { root www; }",
        {.listen = "ssl http2",
         .files = {{"site.pem", site.certificate_pem},
                   {"site.key", site.key_pem},
                   {"ca.pem", authority.certificate_pem()}}});
    const std::string big = pattern(2'000'000);
    std::filesystem::create_directories(origin.folder() / "www/big");
    origin.write("www/big/file", big);
    const std::string& pem = authority.certificate_pem();
    client two({.tls = {.ca_pem = pem}});
    client_response answer = co_await two.get(origin.url());
    EXPECT_EQ(answer.version(), 20);
    std::string text = co_await answer.text();
    EXPECT_EQ(text, "HTTP/2.0 .");
    client one({.http2 = false, .tls = {.ca_pem = pem}});
    client_response old = co_await one.get(origin.url());
    EXPECT_EQ(old.version(), 11);
    co_await old.discard();

    const auto fetch = [&](client& fetcher) -> weir::task<std::string> {
        client_response file = co_await fetcher.get(origin.url("/big/file"));
        std::string got = co_await file.text();
        co_return got;
    };
    client shared({.multiplex = true, .tls = {.ca_pem = pem}});
    for (client* fetcher : {&two, &one, &shared}) {
        std::vector<weir::task<std::string>> work;
        for (int i = 0; i < 12; ++i) {
            work.push_back(fetch(*fetcher));
        }
        const std::vector<std::string> files = co_await weir::gather(std::move(work));
        for (const std::string& each : files) {
            EXPECT_TRUE(each == big) << each.size();
        }
    }
    EXPECT_EQ(shared.stats().connections, 1U);

    client stranger;
    for (client* fetcher : {&stranger}) {
        try {
            client_response none = co_await fetcher->get(origin.url());
            ADD_FAILURE();
        } catch (const weir::http::transport_error& error) {
            EXPECT_EQ(error.why(), kind::tls) << error.what();
        }
    }
    std::string other_name = origin.url();
    other_name.replace(8, 9, "127.0.0.2");
    try {
        client_response none = co_await two.get(other_name);
        ADD_FAILURE();
    } catch (const weir::http::transport_error& error) {
        EXPECT_TRUE(error.why() == kind::tls || error.why() == kind::connect) << error.what();
    }
    const weir::tls::certificate ours = authority.issue({.names = "ann.test"});
    client known(
        {.tls = {.ca_pem = pem, .certificate_pem = ours.certificate_pem, .key_pem = ours.key_pem}});
    client_response identified = co_await known.get(origin.url("/identified"));
    text = co_await identified.text();
    EXPECT_EQ(text, "SUCCESS CN=ann.test");

    // Through a proxy that sees nothing of it.
    std::string asked_for;
    tiny_server tunnel([&](seen_request& seen, socket& peer) -> weir::task<bool> {
        asked_for = seen.head.substr(0, seen.head.find("\r\n"));
        socket far = co_await weir::tcp::connect(seen.target());
        co_await peer.write("HTTP/1.1 200 Connection established\r\nX-Proxy: p\r\n\r\n");
        const auto pump = [](socket& from, socket& to) -> weir::task<> {
            std::array<char, 16384> some{};
            for (;;) {
                const std::size_t count = co_await from.read(some);
                if (count == 0) {
                    break;
                }
                co_await to.write(weir::io::bytes(some).first(count));
            }
        };
        co_await weir::gather(pump(peer, far), pump(far, peer));
        co_return false;
    });
    {
        client through({.proxy = tunnel.url(), .tls = {.ca_pem = pem}});
        client_response tunnelled = co_await through.get(origin.url("/big/file"));
        EXPECT_EQ(tunnelled.version(), 20);
        EXPECT_FALSE(tunnelled.headers().contains("X-Proxy"));
        const std::string file = co_await tunnelled.text();
        EXPECT_TRUE(file == big);
        EXPECT_EQ(asked_for, "CONNECT 127.0.0.1:" + std::to_string(origin.port()) + " HTTP/1.1");
    }
    co_await tunnel.stop();

    client careless({.tls = {.verify = false}});
    client_response trusting = co_await careless.get(origin.url());
    EXPECT_EQ(trusting.status(), status::ok);
}

}  // namespace
