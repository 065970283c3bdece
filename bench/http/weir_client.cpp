// SPDX-License-Identifier: MIT
//
// The client of suite http on Weir: as many tasks as requests may be under way.
//
//   bench_weir_http_client uring|epoll PORT CONCURRENCY WARM_UP_SECONDS SECONDS
#include <weir/group.hpp>
#include <weir/http/client.hpp>
#include <weir/io/tcp.hpp>  // brings io_uring along
#include <weir/loop.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

std::uint64_t requests = 0;

weir::task<> ask(weir::http::client& client, const std::string& url) {
    for (;;) {
        weir::http::client_response answer = co_await client.get(url);
        const std::string text = co_await answer.text();
        if (answer.status() != weir::http::status::ok || text.empty()) {
            throw std::runtime_error("another answer");
        }
        ++requests;
    }
}

weir::task<> measure(std::string url, std::size_t concurrency, double warm_up, double seconds) {
    using length = std::chrono::duration<double>;
    const auto to_clock = [](double amount) {
        return std::chrono::duration_cast<weir::clock::duration>(length(amount));
    };
    weir::http::client client({.max_connections = concurrency, .max_per_host = concurrency});
    co_await weir::with_group([&](weir::task_group& group) -> weir::task<> {
        for (std::size_t i = 0; i < concurrency; ++i) {
            group.spawn(ask(client, url));
        }
        co_await weir::sleep(to_clock(warm_up));
        std::puts("ready");
        std::fflush(stdout);
        const std::uint64_t before = requests;
        const auto began = std::chrono::steady_clock::now();
        co_await weir::sleep(to_clock(seconds));
        const length took = std::chrono::steady_clock::now() - began;
        std::printf("{\"requests\": %llu, \"seconds\": %.6f}\n",
                    static_cast<unsigned long long>(requests - before), took.count());
        std::fflush(stdout);
        co_await weir::sleep(std::chrono::milliseconds(100));  // until its times have been read
        group.cancel();
    });
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view driver = argc == 6 ? argv[1] : "";
    if (driver != "uring" && driver != "epoll") {
        std::fprintf(stderr, "usage: %s uring|epoll PORT CONCURRENCY WARM_UP_SECONDS SECONDS\n",
                     argv[0]);
        return 64;
    }
    weir::loop loop(
        {.driver = driver == "uring" ? weir::driver_kind::uring : weir::driver_kind::epoll});
    const std::string url = std::string("http://127.0.0.1:") + argv[2] + "/";
    loop.run(
        measure(url, std::strtoul(argv[3], nullptr, 10), std::atof(argv[4]), std::atof(argv[5])));
}
