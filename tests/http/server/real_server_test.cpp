// SPDX-License-Identifier: MIT
// The server on real sockets: curl and wrk as clients, TLS, huge bodies, hooks, a drain, several
// loops.

#include <support/io.hpp>
#include <support/peers.hpp>

#include <weir/cancel.hpp>
#include <weir/http/server.hpp>
#include <weir/io/io.hpp>
#include <weir/spawn.hpp>

#include <sys/resource.h>

#include <atomic>

namespace {

using namespace std::chrono_literals;
using weir_test::curl;
namespace http = weir::http;

weir::task<http::response> application(http::request& incoming) {
    if (incoming.path() == "/count") {
        std::vector<char> buffer(64 << 10);
        std::uint64_t all = 0;
        for (;;) {
            const std::size_t count = co_await incoming.read(buffer);
            if (count == 0) {
                co_return http::response::text(std::to_string(all));
            }
            all += count;
        }
    }
    if (incoming.path() == "/gigabyte") {
        co_return http::response::stream("text/plain", [](http::body_writer& out) -> weir::task<> {
            const std::string piece(64 << 10, 'x');
            for (int i = 0; i < 16 << 10; ++i) {
                co_await out.write(piece);
            }
        });
    }
    if (incoming.path() == "/echo") {
        std::string body = co_await incoming.text();
        co_return http::response::text(std::move(body));
    }
    co_return http::response::text(incoming.is_secure() ? "secret" : "hello");
}

// A server for as long as the body of the test takes.
class served {
public:
    explicit served(http::server_options options = {}, http::handler app = application)
        : server(std::move(app), options) {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        port = listener.local_address().port();
        running = weir::spawn(server.serve(std::move(listener)));
    }
    std::string url(std::string_view target = "/", std::string_view scheme = "http") const {
        return std::string(scheme) + "://127.0.0.1:" + std::to_string(port) + std::string(target);
    }
    weir::task<> end() {
        running.cancel();
        (void)co_await weir::settle(running.wait());
    }

    http::server server;
    std::uint16_t port = 0;
    weir::handle<void> running;
};

long peak_memory_in_megabytes() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss / 1024;
}

WEIR_IO_TEST(RealServer, AnswersCurl) {
    served own;
    const auto plain = co_await curl({"-i", own.url()});
    EXPECT_NE(plain.out.find("HTTP/1.1 200 OK\r\n"), std::string::npos) << plain.out << plain.err;
    EXPECT_TRUE(plain.out.ends_with("\r\n\r\nhello"));
    const auto head = co_await curl({"-I", own.url()});
    EXPECT_NE(head.out.find("Content-Length: 5\r\n"), std::string::npos);
    const auto posted = co_await curl({"-d", "some text", own.url("/echo")});
    EXPECT_EQ(posted.out, "some text");
    const auto large = co_await curl(
        {"-H", "Expect: 100-continue", "--data-binary", "@-", "-v", own.url("/count")},
        std::string(1'000'000, 'x'));
    EXPECT_EQ(large.out, "1000000");
    EXPECT_NE(large.err.find("HTTP/1.1 100 Continue"), std::string::npos) << large.err;
    const auto chunked = co_await curl(
        {"-H", "Transfer-Encoding: chunked", "--data-binary", "@-", own.url("/count")},
        std::string(1'000'000, 'x'));
    EXPECT_EQ(chunked.out, "1000000");
    const auto several = co_await curl({own.url(), own.url(), own.url()});
    EXPECT_EQ(several.out, "hellohellohello");
    const auto old = co_await curl({"-0", own.url()});
    EXPECT_EQ(old.out, "hello");
    EXPECT_EQ(own.server.stats().client_errors, 0U);
    co_await own.end();
}

WEIR_IO_TEST(RealServer, RefusesABodyThatIsTooLarge) {
    served own;
    const auto declared = co_await curl({"-o", "/dev/null", "-w", "%{http_code}", "-H",
                                         "Expect:", "--data-binary", "@-", own.url("/count")},
                                        std::string(3'000'000, 'x'));
    EXPECT_EQ(declared.out, "413") << declared.err;
    const auto chunked =
        co_await curl({"-o", "/dev/null", "-w", "%{http_code}", "-H", "Transfer-Encoding: chunked",
                       "-H", "Expect:", "--data-binary", "@-", own.url("/count")},
                      std::string(3'000'000, 'x'));
    EXPECT_EQ(chunked.out, "413") << chunked.err;
    co_await own.end();
}

WEIR_IO_TEST(RealServer, AGigabyteGoesThroughInLittleMemory) {
    served own({.max_body_bytes = std::uint64_t{2} << 30});
    const long before = peak_memory_in_megabytes();
    // From a socket of our own: no program between us and the server.
    weir::io::socket peer = co_await weir::io::connect(weir::io::address::loopback(own.port));
    auto send = [&]() -> weir::task<> {
        co_await peer.write(
            "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n");
        const std::string piece(256 << 10, 'x');
        for (int i = 0; i < 4096; ++i) {
            co_await peer.write(piece);
        }
    };
    co_await send();
    std::string answer;
    while (answer.find("1073741824") == std::string::npos) {
        char buffer[500];
        const std::size_t count = co_await peer.read(buffer);
        WEIR_ASSERT_GT(count, 0U);
        answer.append(buffer, count);
    }
    co_await peer.write("GET /gigabyte HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    std::uint64_t received = 0;
    std::vector<char> buffer(256 << 10);
    for (;;) {
        const std::size_t count = co_await peer.read(buffer);
        received += count;
        if (count == 0) {
            break;
        }
    }
    EXPECT_GT(received, std::uint64_t{1} << 30);
#if defined(__SANITIZE_ADDRESS__)
    (void)before;  // what was freed is kept for a while there
#else
    EXPECT_LT(peak_memory_in_megabytes() - before, 64);
#endif
    co_await own.end();
}

WEIR_IO_TEST(RealServer, AnswersWrk) {
    weir_test::need("/usr/bin/wrk", "wrk");
    served own;
    const std::vector<std::string> command = {"wrk", "-t1", "-c50", "-d1s", own.url()};
    const auto ran = co_await weir_test::run_program(command);
    EXPECT_EQ(ran.out.find("Non-2xx"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("Socket errors"), std::string::npos) << ran.out;
    EXPECT_GT(own.server.stats().requests, 100U) << ran.out << ran.err;
    co_await own.end();
}

WEIR_IO_TEST(RealServer, SpeaksTls) {
    const weir_test::temporary_folder folder;
    const weir::tls::certificate_authority authority("Test");
    const weir::tls::certificate site = authority.issue({.names = "127.0.0.1"});
    const weir::tls::context context = weir::tls::context::server(
        {.certificate_pem = site.certificate_pem, .key_pem = site.key_pem, .alpn = "http/1.1"});
    const std::string trusted = folder.write("ca.pem", authority.certificate_pem()).string();
    served own({.tls = &context});
    const auto plain = co_await curl({"--cacert", trusted, own.url("/", "https")});
    EXPECT_EQ(plain.out, "secret") << plain.err;
    const auto large =
        co_await curl({"--cacert", trusted, "--data-binary", "@-", own.url("/count", "https")},
                      std::string(1'000'000, 'x'));
    EXPECT_EQ(large.out, "1000000");
    const auto untrusting = co_await curl({own.url("/", "https")});
    EXPECT_NE(untrusting.status.code(), 0);
    const auto without = co_await curl({own.url()});
    EXPECT_NE(without.status.code(), 0);
    EXPECT_EQ(own.server.stats().failed_handshakes, 2U);
    co_await own.end();
}

WEIR_IO_TEST(RealServer, HooksSurroundTheService) {
    std::string order;
    http::server server([&order](http::request&) {
        order += "request ";
        return http::response::text("x");
    });
    auto notes = [&order](std::string what) {
        return [&order, what]() -> weir::task<> {
            co_await weir::sleep(1ms);
            order += what;
        };
    };
    server.on_start(notes("start1 ")).on_stop(notes("stop1 "));
    server.on_start(notes("start2 ")).on_stop(notes("stop2 "));
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::uint16_t port = listener.local_address().port();
    weir::handle<void> running = weir::spawn(server.serve(std::move(listener)));
    const auto got = co_await curl({"http://127.0.0.1:" + std::to_string(port)});
    EXPECT_EQ(got.out, "x");
    running.cancel();
    (void)co_await weir::settle(running.wait());
    EXPECT_EQ(order, "start1 start2 request stop2 stop1 ");
    // A start that fails: what was started is stopped, and nothing is served.
    order.clear();
    http::server failing([] { return http::response(); });
    failing.on_start(notes("start1 ")).on_stop(notes("stop1 "));
    failing.on_start([]() -> weir::task<> {
        co_await weir::yield();
        throw std::runtime_error("no database");
    });
    failing.on_stop(notes("stop2 "));
    const weir::outcome<void> ended =
        co_await weir::settle(failing.serve(weir::io::address::loopback(0)));
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(order, "start1 stop1 ");
    // A stop that fails keeps no others from running.
    order.clear();
    http::server careless([] { return http::response(); });
    careless.on_stop(notes("stop1 ")).on_stop([]() -> weir::task<> {
        co_await weir::yield();
        throw std::runtime_error("no disk");
    });
    weir::handle<void> short_lived = weir::spawn(careless.serve(weir::io::address::loopback(0)));
    co_await weir::sleep(1ms);
    short_lived.cancel();
    WEIR_EXPECT_THROW_WITH(short_lived, std::runtime_error, "no disk");
    EXPECT_EQ(order, "stop1 ");
}

WEIR_IO_TEST(RealServer, ADrainAnswersWhatIsUnderWay) {
    weir::event incoming;
    weir::event go;
    served own({}, [&](http::request&) -> weir::task<http::response> {
        incoming.set();
        co_await go.wait();
        co_return http::response::text("at last");
    });
    weir::io::socket idle = co_await weir::io::connect(weir::io::address::loopback(own.port));
    auto request = weir::spawn(curl({"-i", own.url()}));
    co_await incoming.wait();
    own.running.cancel();
    char buffer[10];
    const std::size_t count = co_await idle.read(buffer);
    EXPECT_EQ(count, 0U);
    const auto late = co_await curl({own.url()});
    EXPECT_NE(late.status.code(), 0);
    go.set();
    const weir::command_result got = co_await std::move(request);
    EXPECT_TRUE(got.out.ends_with("at last")) << got.out;
    EXPECT_NE(got.out.find("Connection: close\r\n"), std::string::npos);
    (void)co_await weir::settle(own.running.wait());
}

TEST(RealServer, RunsOnSeveralLoops) {
    weir_test::need("/usr/bin/wrk", "wrk");
    std::atomic<int> served_by[2] = {0, 0};
    // The port is chosen once, and shared.
    std::uint16_t port = 0;
    {
        weir::run([&]() -> weir::task<> {
            weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
            port = listener.local_address().port();
            co_return;
        });
    }
    weir::run_on_threads(3, [&](std::size_t index) -> weir::task<> {
        if (index == 2) {
            const std::vector<std::string> command = {"wrk", "-t1", "-c64", "-d1s",
                                                      "http://127.0.0.1:" + std::to_string(port)};
            co_await weir::sleep(100ms);  // for the servers to listen
            const auto ran = co_await weir_test::run_program(command);
            EXPECT_EQ(ran.out.find("Socket errors"), std::string::npos) << ran.out;
            co_return;
        }
        http::handler app = [&served_by, index](http::request&) {
            ++served_by[index];
            return http::response::text("x");
        };
        weir::cancel_scope limit(1500ms);
        co_await limit.run(http::serve(weir::io::address::loopback(port), std::move(app),
                                       {.connections = {.listen = {.reuse_port = true}}}));
    });
    EXPECT_GT(served_by[0], 0);
    EXPECT_GT(served_by[1], 0);
}

}  // namespace
