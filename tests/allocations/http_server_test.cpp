// SPDX-License-Identifier: MIT
// A request on a connection that is kept allocates nothing after warm-up: neither to be read, nor
// to be routed, nor to be answered.

#include "allocations/counting.hpp"

#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>

#include <optional>
#include <string>

namespace {

using counting::in_steady_state;
using weir::task;
namespace http = weir::http;

task<> ask(weir::io::socket& peer, std::string_view asked) {
    co_await peer.write(asked);
    char buffer[1024];
    std::size_t filled = 0;
    while (std::string_view(buffer, filled).find("Hello, World!") == std::string_view::npos) {
        filled += co_await peer.read(weir::io::bytes(buffer).after(filled));
    }
}

// The connection is of the loop that in_steady_state runs on: made at the first call.
void expect_none(http::handler app, std::string asked) {
    std::optional<weir::io::socket> peer;
    auto once = [&]() -> task<> {
        if (!peer.has_value()) {
            weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
            const weir::io::address at = listener.local_address();
            weir::spawn(http::serve(std::move(listener), std::move(app)));
            peer.emplace(co_await weir::io::connect(at));
        }
        co_await ask(*peer, asked);
    };
    EXPECT_EQ(in_steady_state(once, weir::driver_kind::epoll), 0u);
}

constexpr const char* get =
    "GET /plaintext HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n";

TEST(Allocations, HttpServer) {
    expect_none([](http::request&) { return http::response::text("Hello, World!"); }, get);
}

TEST(Allocations, HttpServerWithRouterAndMiddleware) {
    http::router app;
    app.use([](http::request& asked, http::next next) -> task<http::response> {
        co_return co_await next(asked);
    });
    app.get("/plaintext", [](http::request&) -> task<http::response> {
        co_return http::response::text("Hello, World!");
    });
    expect_none(std::move(app), get);
}

}  // namespace
