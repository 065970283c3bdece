// SPDX-License-Identifier: MIT
//
// The task service as `weir serve` has it, with handlers that do nothing. Suite service loads it
// over HTTP.
//
//   program DATABASE [WORKERS]     prints its port
#include <weir/group.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/sqlite_store.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

namespace service = weir::service;

weir::task<boost::json::value> noop(service::job&) {
    co_return nullptr;
}

// When it was run, in microseconds since 1970.
weir::task<boost::json::value> stamp(service::job&) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    co_return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

weir::task<> serve(const char* database, std::size_t workers) {
    std::unique_ptr<service::store> store = co_await service::open_sqlite_store(database);
    service::service_options options;
    options.workers = workers;
    service::service tasks(*store, options);
    tasks.handle("noop", &noop);
    tasks.handle("stamp", &stamp);
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    std::printf("%u\n", static_cast<unsigned>(listener.local_address().port()));
    std::fflush(stdout);
    weir::http::router app = service::make_api(tasks);
    auto all = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(weir::http::serve(std::move(listener), std::move(app)));
        group.spawn(tasks.run());
        co_return;
    };
    co_await weir::with_group(all);
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) {
        return 64;
    }
    return weir::run_main(
        serve(words[1], count > 2 ? static_cast<std::size_t>(std::atoi(words[2])) : 64));
}
