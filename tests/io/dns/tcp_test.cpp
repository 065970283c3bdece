// SPDX-License-Identifier: MIT
// tcp::connect end to end, on loopback.

#include "fake_server.hpp"
#include "support.hpp"

#include <weir/io/listener.hpp>
#include <weir/io/tcp.hpp>

#include <netinet/tcp.h>

#include <random>

namespace {

using namespace std::chrono_literals;
using namespace weir_test;
using weir::io::address;
using weir::tcp::connect_options;

std::string port_of(const weir::io::listener& from) {
    return std::to_string(from.local_address().port());
}

// A port without a listener, while this object exists.
class refusing_port {
public:
    refusing_port() : fd_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const address any = address::any_v6(0);  // both families
        EXPECT_EQ(::bind(fd_, any.data(), static_cast<socklen_t>(any.size())), 0);
        sockaddr_storage raw{};
        socklen_t size = sizeof raw;
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&raw), &size);
        port_ = address::from(reinterpret_cast<const sockaddr*>(&raw), size).port();
    }
    refusing_port(const refusing_port&) = delete;
    refusing_port& operator=(const refusing_port&) = delete;
    ~refusing_port() { ::close(fd_); }
    std::uint16_t number() const { return port_; }
    std::string text() const { return std::to_string(port_); }

private:
    int fd_;
    std::uint16_t port_ = 0;
};

// A listener whose queue is full: clients wait for ever in connect().
class black_hole {
public:
    explicit black_hole(const address& at) : listener_(weir::io::listen(at, {.backlog = 1})) {
        const address where = listener_.local_address();
        for (int count = 0; count < 4; ++count) {
            const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            ::connect(fd, where.data(), static_cast<socklen_t>(where.size()));
            fillers_.push_back(fd);
        }
    }
    black_hole(const black_hole&) = delete;
    black_hole& operator=(const black_hole&) = delete;
    ~black_hole() {
        for (const int fd : fillers_) {
            ::close(fd);
        }
    }
    address where() const { return listener_.local_address(); }

private:
    weir::io::listener listener_;
    std::vector<int> fillers_;
};

WEIR_IO_TEST(Tcp, ByNameAddressAndPath) {
    weir::io::listener v4 = weir::io::listen(address::loopback(0));
    weir::io::listener v6 = weir::io::listen(address::loopback_v6(0), {.only_v6 = true});
    // 'localhost' where only one of the families listens.
    for (weir::io::listener* each : {&v4, &v6}) {
        weir::io::socket connection = co_await weir::tcp::connect("localhost:" + port_of(*each));
        EXPECT_EQ(connection.remote_address(), each->local_address());
        EXPECT_NE(connection.option(IPPROTO_TCP, TCP_NODELAY), 0);
        weir::io::socket peer = co_await each->accept();
        co_await connection.write(std::string_view("hello"));
        std::array<char, 16> buffer;
        const std::size_t count = co_await peer.read(buffer);
        EXPECT_EQ(count, 5u);
    }
    weir::io::socket connection =
        co_await weir::tcp::connect("127.0.0.1", v4.local_address().port(), {.no_delay = false});
    EXPECT_EQ(connection.option(IPPROTO_TCP, TCP_NODELAY), 0);
    connection = co_await weir::tcp::connect("[::1]:" + port_of(v6));
    EXPECT_EQ(connection.remote_address(), v6.local_address());

    // From a chosen address.
    connection = co_await weir::tcp::connect("localhost:" + port_of(v4),
                                             {.local = address::parse("127.0.0.2", 0)});
    EXPECT_EQ(connection.local_address().host(), "127.0.0.2");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("127.0.0.1:1", {.local = address::loopback_v6(0)}),
                           weir::io_error, "connect to 127.0.0.1:1 from [::1]:0");

    const std::string path = "unix:@weir-connect-" + std::to_string(::getpid());
    weir::io::listener local = weir::io::listen(address::parse(path));
    connection = co_await weir::tcp::connect(path);
    EXPECT_TRUE(connection.is_open());
}

WEIR_IO_TEST(Tcp, ErrorsNameWhatWasTried) {
    const refusing_port port;
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("127.0.0.1:" + port.text()), weir::io_error,
                           "connect to 127.0.0.1:" + port.text() + ": Connection refused");
    try {
        co_await weir::tcp::connect("localhost", port.number());
        ADD_FAILURE() << "connected";
    } catch (const weir::io_error& error) {
        EXPECT_EQ(error.code(), std::errc::connection_refused);
        const std::string text = error.what();
        EXPECT_NE(text.find("connect to localhost:" + port.text()), std::string::npos) << text;
        EXPECT_NE(text.find("127.0.0.1:" + port.text() + ": Connection refused"),
                  std::string::npos);
        EXPECT_NE(text.find("[::1]:" + port.text() + ": "), std::string::npos) << text;
    }
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("no-such.invalid:80"), weir::resolve_error,
                           "cannot resolve no-such.invalid: no such host (NXDOMAIN)");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("unix:/no/such/path"), weir::io_error,
                           "/no/such/path");
    using weir::invalid_argument;
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("example.com"), invalid_argument, "example.com");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect(""), invalid_argument, "no port");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect(":80"), invalid_argument, "no host");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("::1:80"), invalid_argument, "[address]:port");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("a.b:99999"), invalid_argument, "99999");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("a b:1"), weir::resolve_error, "a b");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("a.b:1", {.timeout = 0s}), invalid_argument,
                           "timeout");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("a.b:1", {.attempt_delay = -1s}), invalid_argument,
                           "attempt_delay");
    WEIR_EXPECT_THROW_WITH(weir::tcp::connect("a.b:1", {.local = address::local("/x")}),
                           invalid_argument, "local");
}

WEIR_IO_TEST(Tcp, AroundAHostThatDoesNotAnswer) {
    weir::io::listener good = weir::io::listen(address::loopback(0));
    const std::uint16_t port = good.local_address().port();
    const black_hole hole(address::parse("127.0.0.2", port));
    WEIR_EXPECT_THROW_WITH(
        weir::tcp::connect("127.0.0.2", port, {.timeout = 20ms}), weir::timed_out,
        "connect to 127.0.0.2:" + std::to_string(port) + ": no connection within 0.02 s");

    auto handler = [](const dns_question& question) -> std::vector<packet> {
        dns_reply reply(question);
        if (question.type == type_a) {
            reply.address(question.name, "127.0.0.2").address(question.name, "127.0.0.1");
        }
        return {{reply.text()}};
    };
    auto body = [&](fake_server& server) -> weir::task<> {
        const address where = server.address();
        weir::dns::resolver names(alone(where));
        const connect_options options{.attempt_delay = 20ms, .resolver = &names};
        const auto begin = weir::now();
        weir::io::socket connection = co_await weir::tcp::connect("srv.example", port, options);
        EXPECT_EQ(connection.remote_address().host(), "127.0.0.1");
        EXPECT_GE(weir::now() - begin, 20ms);
        EXPECT_LT(weir::now() - begin, 5s);
    };
    co_await with_server(handler, body);
}

WEIR_IO_TEST(Tcp, CancelledAtAnyTime) {
    weir::io::listener v4 = weir::io::listen(address::loopback(0));
    auto accepting = weir::spawn(
        [](weir::io::listener& from) -> weir::task<> {
            for (;;) {
                weir::io::socket peer = co_await from.accept();
            }
        },
        std::ref(v4));
    const black_hole hole(address::parse("127.0.0.2", v4.local_address().port()));
    std::mt19937 random(5);
    int connected = 0;
    for (int round = 0; round < 400; ++round) {
        // Some are not cancelled: what the cancelled ones left behind must not disturb them.
        const bool runs_to_its_end = round % 20 == 19;
        const bool into_the_hole = !runs_to_its_end && random() % 3 == 0;
        const std::string where = (into_the_hole ? "127.0.0.2:" : "localhost:") + port_of(v4);
        auto connecting = weir::spawn(
            [](std::string to, int& count) -> weir::task<> {
                weir::io::socket connection = co_await weir::tcp::connect(to);
                ++count;
            },
            where, std::ref(connected));
        for (unsigned yields = random() % 12; yields > 0; --yields) {
            co_await weir::yield();
        }
        if (random() % 4 == 0) {
            co_await weir::sleep(std::chrono::microseconds(random() % 200));
        }
        if (!runs_to_its_end) {
            connecting.cancel();
        }
        const auto ended = co_await weir::settle(connecting);
        EXPECT_FALSE(ended.has_error());
    }
    EXPECT_GE(connected, 20);
    accepting.cancel();
    WEIR_EXPECT_CANCELLED(accepting);
}

}  // namespace
