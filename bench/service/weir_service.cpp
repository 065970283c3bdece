// SPDX-License-Identifier: MIT
//
// The task service as `weir serve` has it, with handlers that do nothing. Suite service loads it
// over HTTP; in suite cluster it is one of the nodes on a PostgreSQL server.
//
//   program FILE_OR_URL [WORKERS]     prints its port; with 0 workers it only takes tasks
#include <weir/group.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/run.hpp>
#include <weir/service/api.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>

#include <algorithm>
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

weir::task<std::unique_ptr<service::store>> open(const char* database) {
    std::unique_ptr<service::store> opened;
    if (service::is_postgres_url(database)) {
        opened = co_await service::open_postgres_store(database);
    } else {
        opened = co_await service::open_sqlite_store(database);
    }
    co_return opened;
}

weir::task<> serve(const char* database, std::size_t workers) {
    std::unique_ptr<service::store> store = co_await open(database);
    service::service_options options;
    options.workers = std::max<std::size_t>(workers, 1);
    service::service tasks(*store, options);
    tasks.handle("noop", &noop);
    tasks.handle("stamp", &stamp);
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    std::printf("%u\n", static_cast<unsigned>(listener.local_address().port()));
    std::fflush(stdout);
    weir::http::router app = service::make_api(tasks);
    auto all = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(weir::http::serve(std::move(listener), std::move(app)));
        if (workers > 0) {
            group.spawn(tasks.run());
        }
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
