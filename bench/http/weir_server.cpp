// SPDX-License-Identifier: MIT
//
// The plain-text server of suite http on Weir, as a user writes it, with all limits and timeouts
// on.
//
//   bench_weir_http_server uring|epoll
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/loop.hpp>

#include <cstdio>
#include <string_view>

namespace {

weir::task<> serve() {
    weir::http::router app;
    app.get("/", [] { return weir::http::response::text("Hello, World!"); });
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    std::printf("%u\n", listener.local_address().port());
    std::fflush(stdout);
    weir::http::handler handler = std::move(app);
    co_await weir::http::serve(std::move(listener), std::move(handler), {.server_name = "weir"});
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
