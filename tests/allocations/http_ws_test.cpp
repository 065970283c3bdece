// SPDX-License-Identifier: MIT
// A broadcast costs one allocation, for any number of clients: posting a shared frame and writing
// it cost none.

#include "allocations/counting.hpp"

#include <weir/io/any_stream.hpp>
#include <weir/io/read.hpp>
#include <weir/io/socket.hpp>
#include <weir/ws/serve.hpp>

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <vector>

namespace {

using weir::task;
namespace io = weir::io;
namespace ws = weir::ws;

struct client {
    io::socket stream;
    weir::handle<> server;
};

struct audience {
    std::vector<client> clients;
    std::vector<ws::connection*> connections;

    task<> attend(ws::connection& peer) {
        connections.push_back(&peer);
        co_await peer.wait_closed();
    }
    task<> gather(std::size_t count) {
        for (std::size_t left = count; left > 0; --left) {
            std::array<int, 2> ends{};
            EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
            auto handler = [this](ws::connection& peer) { return attend(peer); };
            clients.push_back(
                {io::socket(ends[0]),
                 weir::spawn(ws::serve(io::any_stream(io::socket(ends[1])), handler))});
        }
        while (connections.size() < count) {
            co_await weir::yield();
        }
    }
    task<> leave() {
        for (client& each : clients) {
            each.stream.close();
            co_await each.server;
        }
        clients.clear();
    }
};

TEST(Allocations, BroadcastToWebSockets) {
    auto body = []() -> task<> {
        audience all;
        co_await all.gather(20);
        auto once = [&]() -> task<> {
            static const std::string text(100, 'x');
            const ws::frame shared = ws::frame::text(text);
            for (int repeat = 0; repeat < 3; ++repeat) {
                for (ws::connection* each : all.connections) {
                    EXPECT_EQ(each->post(shared), ws::posted::queued);
                }
            }
            for (client& each : all.clients) {
                std::array<char, 306> buffer;
                co_await io::read_exact(each.stream, buffer);
            }
        };
        const std::uint64_t count = co_await counting::steady(once, 200);
        EXPECT_EQ(count, 200u);
        co_await all.leave();
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::epoll;
    options.debug = false;
    weir::run(body(), std::move(options));
}

}  // namespace
