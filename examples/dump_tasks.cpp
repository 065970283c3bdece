// SPDX-License-Identifier: MIT
// The tree of tasks, each with its stack of awaits: shows what each task waits for, at any time
#include <weir/weir.hpp>

#include <iostream>
#include <regex>
#include <string>

using namespace std::chrono_literals;

weir::task<> read_header(weir::event& arrived) {
    co_await arrived.wait();
}

weir::task<> serve_client(weir::event& arrived) {
    co_await read_header(arrived);
}

weir::task<> refresh_cache() {
    co_await weir::sleep(1h);
}

weir::task<> serve(weir::event& arrived) {
    auto body = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(serve_client(arrived), {.name = "client 1"});
        group.spawn(refresh_cache(), {.name = "cache"});
        co_return;
    };
    co_await weir::with_group(body);
}

weir::task<> run() {
    weir::event arrived;
    weir::handle<> server = weir::spawn(serve(arrived), {.name = "server"});
    co_await weir::sleep(1s);
    // Without the folders of this machine, so that the output is the same everywhere.
    std::cout << std::regex_replace(weir::dump_tasks(), std::regex(R"( at \S*/)"), " at ");
    server.cancel();
    co_await server.wait();
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
