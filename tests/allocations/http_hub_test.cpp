// SPDX-License-Identifier: MIT
// A broadcast allocates the message, however many members there are.

#include "allocations/counting.hpp"

#include <weir/io/listener.hpp>
#include <weir/io/read.hpp>
#include <weir/io/socket.hpp>
#include <weir/ws/hub.hpp>
#include <weir/ws/serve.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;
namespace io = weir::io;
namespace ws = weir::ws;

struct broadcast {
    static constexpr int members = 20;

    task<> attend(ws::connection& peer) {
        const auto member = hub.join(peer, "all");
        co_await peer.wait_closed();
    }
    task<> begin() {
        io::listener listener = io::listen(io::address::loopback(0));
        for (int i = 0; i < members; ++i) {
            clients.push_back(co_await io::connect(listener.local_address()));
            io::socket peer = co_await listener.accept();
            auto handler = [this](ws::connection& to) { return attend(to); };
            ws::connection_options options;
            options.close_timeout = 1ms;  // the clients here do not answer
            weir::spawn(ws::serve(io::any_stream(std::move(peer)), handler, options));
        }
        while (hub.members("all") < members) {
            co_await weir::yield();
        }
    }
    task<> once() {
        if (clients.empty()) {
            co_await begin();
        }
        hub.publish("all", "0123456789");
        for (io::socket& each : clients) {
            std::array<char, 12> frame;
            co_await io::read_exact(each, frame);
        }
    }

    ws::hub hub{{.keep_messages = 50}};
    std::vector<io::socket> clients;
};

TEST(Allocations, HubToConnections) {
    auto shared = std::make_shared<broadcast>();
    auto once = [shared]() -> task<> { return shared->once(); };
    constexpr int rounds = 200;
    const std::uint64_t made =
        weir::run(counting::steady(once, rounds), {.driver = weir::driver_kind::epoll});
    EXPECT_LE(made, std::uint64_t{rounds});
}

struct counter {
    ws::posted post(const ws::frame&) noexcept {
        ++count;
        return ws::posted::queued;
    }
    std::uint64_t count = 0;
};

TEST(Allocations, HubItself) {
    ws::hub hub({.keep_messages = 100});
    std::vector<counter> members(500);
    std::vector<ws::membership> kept;
    for (counter& each : members) {
        kept.push_back(hub.join(each, "all"));
    }
    const ws::frame message = ws::frame::text("hello");
    auto once = [&]() -> task<> {
        hub.publish("all", message);
        co_return;
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
