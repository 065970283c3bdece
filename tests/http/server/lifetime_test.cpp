// SPDX-License-Identifier: MIT
// No work before the start hooks have ended, and none after the first stop hook has begun: clients
// try all the time.

#include <support/io.hpp>

#include <weir/cancel.hpp>
#include <weir/finally.hpp>
#include <weir/http/server.hpp>
#include <weir/io/io.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <unistd.h>

#include <string>
#include <vector>

namespace server_lifetime_test {

using namespace std::chrono_literals;
namespace http = weir::http;

// What the start hook opens and the stop hook closes. Every use of it while it is closed is a
// mistake of the server.
struct resource {
    bool is_open = false;
    int uses = 0;
    int mistakes = 0;

    void use() {
        ++uses;
        mistakes += is_open ? 0 : 1;
    }
};

http::server make_server(resource& database) {
    // Uses it at the beginning, at the end, and when it is stopped.
    auto answers = [&database](http::request& request) -> weir::task<http::response> {
        database.use();
        auto last_use = [&database]() -> weir::task<> {
            database.use();
            co_return;
        };
        const bool is_slow = request.path() == "/slow";
        auto work = [is_slow]() -> weir::task<> {
            co_await weir::sleep(is_slow ? std::chrono::milliseconds(60'000) : 1ms);
        };
        co_await weir::finally(work(), last_use);
        co_return http::response::text("done");
    };
    http::server server(answers, {.connections = {.drain_deadline = 50ms}});
    server.on_start([&database]() -> weir::task<> {
        co_await weir::sleep(50ms);
        database.is_open = true;
    });
    server.on_stop([&database]() -> weir::task<> {
        database.is_open = false;
        co_await weir::sleep(50ms);
    });
    return server;
}

struct tally {
    int answered = 0;
    int refused = 0;     // there was nobody to connect to
    int broken_off = 0;  // connected, and never answered
};

// One request after the other, each on a connection of its own, until it is cancelled.
weir::task<> knock(weir::io::address at, std::string path, tally& counts) {
    for (;;) {
        bool is_connected = false;
        try {
            weir::io::socket peer = co_await weir::io::connect(at);
            is_connected = true;
            co_await peer.write("GET " + path + " HTTP/1.0\r\n\r\n");
            char some[512];
            const std::size_t count = co_await peer.read(some);
            ++(count > 0 ? counts.answered : counts.broken_off);
        } catch (const weir::io_error&) {
            ++(is_connected ? counts.broken_off : counts.refused);
        }
        co_await weir::sleep(1ms);
    }
}

weir::task<> live(resource& database, tally& quick, weir::io::address at, weir::task<> serving) {
    tally slow;
    std::vector<weir::handle<void>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(weir::spawn(knock(at, "/", quick)));
        clients.push_back(weir::spawn(knock(at, "/slow", slow)));
    }
    co_await weir::sleep(10ms);
    EXPECT_EQ(database.uses, 0);
    weir::handle<void> running = weir::spawn(std::move(serving));
    while (quick.answered < 20) {
        co_await weir::sleep(5ms);
    }
    running.cancel();
    (void)co_await weir::settle(running.wait());
    const int uses = database.uses;
    EXPECT_GT(uses, 40);
    co_await weir::sleep(50ms);
    EXPECT_EQ(database.uses, uses);  // nothing more
    EXPECT_EQ(database.mistakes, 0);
    EXPECT_FALSE(database.is_open);
    for (const weir::handle<void>& each : clients) {
        each.cancel();
        (void)co_await weir::settle(each.wait());
    }
    EXPECT_EQ(slow.answered, 0);
}

WEIR_IO_TEST(ServerLifetime, NoWorkOutsideTheHooks) {
    const std::string path = "/tmp/weir-lifetime-" + std::to_string(::getpid()) + ".sock";
    resource database;
    http::server server = make_server(database);
    const weir::io::address at = weir::io::address::local(path);
    tally quick;
    co_await live(database, quick, at, server.serve(at));
    EXPECT_GT(quick.refused, 0);  // before the server listens, and afterwards
    ::unlink(path.c_str());
}

// The system takes connections from the moment the listener was made: early clients wait.
WEIR_IO_TEST(ServerLifetime, EarlyClientsOfAGivenListenerWait) {
    resource database;
    http::server server = make_server(database);
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const weir::io::address at = listener.local_address();
    tally early;
    auto first = weir::spawn(knock(at, "/", early));
    co_await weir::sleep(10ms);
    tally quick;
    co_await live(database, quick, at, server.serve(std::move(listener)));
    EXPECT_GT(early.answered, 0);
    first.cancel();
    (void)co_await weir::settle(first.wait());
}

}  // namespace server_lifetime_test
