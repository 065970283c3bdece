// SPDX-License-Identifier: MIT
//
// What Weir's parts of suite db share: as many tasks as operations are to be under way, each doing
// one after the other; warm-up; 'ready'; and what was done in the time that counts.
//
//   program uring|epoll WORKLOAD WHERE IN_FLIGHT WARM_UP_SECONDS SECONDS
#pragma once

#include <weir/group.hpp>
#include <weir/io/tcp.hpp>  // brings io_uring along
#include <weir/loop.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

struct db_arguments {
    weir::driver_kind driver;
    std::string workload;
    std::string where;
    std::size_t in_flight;
    double warm_up;
    double seconds;

    static db_arguments parse(int argc, char** argv) {
        const std::string driver = argc == 7 ? argv[1] : "";
        if (driver != "uring" && driver != "epoll") {
            std::fprintf(stderr,
                         "usage: %s uring|epoll WORKLOAD WHERE IN_FLIGHT WARM_UP_SECONDS SECONDS\n",
                         argv[0]);
            std::exit(64);
        }
        return {.driver = driver == "uring" ? weir::driver_kind::uring : weir::driver_kind::epoll,
                .workload = argv[2],
                .where = argv[3],
                .in_flight = std::strtoul(argv[4], nullptr, 10),
                .warm_up = std::atof(argv[5]),
                .seconds = std::atof(argv[6])};
    }
};

// worker(number, done) is a task that never ends, and counts what it has done.
template <class Worker>
weir::task<> measure(const db_arguments& as, Worker worker) {
    using length = std::chrono::duration<double>;
    const auto to_clock = [](double amount) {
        return std::chrono::duration_cast<weir::clock::duration>(length(amount));
    };
    std::uint64_t done = 0;
    auto all = [&](weir::task_group& group) -> weir::task<> {
        for (std::size_t i = 0; i < as.in_flight; ++i) {
            group.spawn(worker(i, done));
        }
        co_await weir::sleep(to_clock(as.warm_up));
        std::puts("ready");
        std::fflush(stdout);
        const std::uint64_t before = done;
        const auto began = std::chrono::steady_clock::now();
        co_await weir::sleep(to_clock(as.seconds));
        const length took = std::chrono::steady_clock::now() - began;
        std::printf("{\"requests\": %llu, \"seconds\": %.6f}\n",
                    static_cast<unsigned long long>(done - before), took.count());
        std::fflush(stdout);
        co_await weir::sleep(std::chrono::milliseconds(100));  // until its times have been read
        group.cancel();
    };
    co_await weir::with_group(all);
}

}  // namespace bench
