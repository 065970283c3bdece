// SPDX-License-Identifier: MIT
//
// The broadcaster of suite http on Weir's hub, as a user writes it, with all limits, pings and the
// replay buffer on: what a client says goes to all.
//
//   bench_weir_http_broadcast uring|epoll
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/loop.hpp>
#include <weir/ws/accept.hpp>
#include <weir/ws/hub.hpp>

#include <cstdio>
#include <string_view>

namespace {

weir::task<> attend(weir::ws::hub& hub, weir::ws::connection& peer) {
    const auto member = hub.join(peer, "all");
    while (auto received = co_await peer.receive()) {
        hub.publish("all", received->text());
    }
}

weir::task<> serve() {
    weir::ws::hub hub;
    weir::http::router app;
    app.get("/", [&hub](weir::http::request& request) {
        return weir::ws::accept(request,
                                [&hub](weir::ws::connection& peer) { return attend(hub, peer); });
    });
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    std::printf("%u\n", listener.local_address().port());
    std::fflush(stdout);
    weir::http::handler handler = std::move(app);
    co_await weir::http::serve(std::move(listener), std::move(handler));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view driver = argc == 2 ? argv[1] : "";
    if (driver != "uring" && driver != "epoll") {
        std::fprintf(stderr, "usage: %s uring|epoll\n", argv[0]);
        return 64;
    }
    weir::loop loop(
        {.driver = driver == "uring" ? weir::driver_kind::uring : weir::driver_kind::epoll});
    loop.run(serve());
}
