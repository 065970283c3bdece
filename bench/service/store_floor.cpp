// SPDX-License-Identifier: MIT
//
// What a store of the task service can do on its own, without HTTP, handlers or an engine: the
// floor under the suites service and cluster. One line of JSON per figure; cpu_us is the process's,
// of one task.
//
//   program FOLDER_OR_URL [PENDING [COUNT]]
//
// SQLite or PostgreSQL. PENDING tasks wait, half of them in a paused queue; COUNT are submitted and
// run, of each kind.
#include <weir/group.hpp>
#include <weir/io/tcp.hpp>  // brings io_uring along
#include <weir/run.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/time.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace weir::service;
using weir::task;

double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

timestamp now() {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

class stopwatch {
public:
    void print(const char* name, std::size_t tasks) const {
        const double wall = seconds(CLOCK_MONOTONIC) - wall_;
        const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
        const auto tasks_done = static_cast<double>(tasks);
        std::printf(
            "{\"workload\": \"%s\", \"value\": %.0f, \"unit\": \"1/s\", \"cpu_us\": %.2f}\n", name,
            tasks_done / wall, cpu / tasks_done * 1e6);
        std::fflush(stdout);
    }

private:
    double wall_ = seconds(CLOCK_MONOTONIC);
    double cpu_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
};

new_task make(std::string queue, std::string key = "") {
    new_task result("noop", R"({"number":1,"text":"a small task"})");
    result.queue = std::move(queue);
    result.flow_key = std::move(key);
    return result;
}

task<> beat(store& in) {
    node_record node;
    node.id = "bench";
    node.expires_at = now() + std::chrono::hours(1);
    co_await in.heartbeat(node, now());
}

task<> submit_bulk(store& in, std::size_t count, std::string queue, std::size_t keys) {
    constexpr std::size_t at_once = 1000;
    for (std::size_t done = 0; done < count; done += at_once) {
        std::vector<new_task> all;
        for (std::size_t i = 0; i < at_once; ++i) {
            all.push_back(make(queue, keys == 0 ? "" : std::to_string((done + i) % keys)));
        }
        co_await in.submit(std::move(all), now());
    }
}

task<> submit_16(store& in, std::size_t count) {
    const stopwatch watch;
    auto one = [&]() -> task<> {
        for (std::size_t i = 0; i < count / 16; ++i) {
            std::vector<new_task> fresh(1, make("default"));
            co_await in.submit(std::move(fresh), now());
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 16; ++i) {
            group.spawn(one());
        }
        co_return;
    };
    co_await weir::with_group(all);
    watch.print("submit_16", count);
}

// Until nothing is left of the queue.
task<> process(store& in, const char* name, std::size_t batch) {
    const stopwatch watch;
    std::size_t done = 0;
    for (;;) {
        claim_request request;
        request.node = "bench";
        request.now = now();
        request.limit = batch;
        const claimed some = co_await in.claim(request);
        std::vector<settlement> ended;
        for (const task_record& each : some.tasks) {
            if (each.queue == "default") {
                settlement& one = ended.emplace_back();
                one.key = {each.id, each.run};
                one.result = "null";
            }
        }
        done += ended.size();
        if (ended.empty()) {
            break;
        }
        co_await in.settle("bench", std::move(ended), now());
    }
    watch.print(name, done);
}

// One at a time: what a caller waits for.
task<> latency(store& in, std::size_t count) {
    std::vector<double> submits;
    std::vector<double> claims;
    for (std::size_t i = 0; i < count; ++i) {
        const double began = seconds(CLOCK_MONOTONIC);
        std::vector<new_task> fresh(1, make("default"));
        co_await in.submit(std::move(fresh), now());
        const double submitted = seconds(CLOCK_MONOTONIC);
        claim_request request;
        request.node = "bench";
        request.now = now();
        const claimed some = co_await in.claim(request);
        const double ended = seconds(CLOCK_MONOTONIC);
        submits.push_back(submitted - began);
        claims.push_back(ended - submitted);
        std::vector<settlement> done(some.tasks.size());
        for (std::size_t j = 0; j < done.size(); ++j) {
            done[j].key = {some.tasks[j].id, some.tasks[j].run};
        }
        co_await in.settle("bench", std::move(done), now());
    }
    const auto print = [&](const char* name, std::vector<double>& all) {
        std::sort(all.begin(), all.end());
        std::printf("{\"workload\": \"%s\", \"value\": %.3f, \"unit\": \"ms\", \"p99\": %.3f}\n",
                    name, all[all.size() / 2] * 1e3, all[all.size() * 99 / 100] * 1e3);
        std::fflush(stdout);
    };
    print("submit_p50", submits);
    print("claim_p50", claims);
}

task<> measure(std::string folder, std::size_t pending, std::size_t count) {
    std::unique_ptr<store> opened;
    if (is_postgres_url(folder)) {
        opened = co_await open_postgres_store(folder);
    } else {
        opened = co_await open_sqlite_store(folder + "/store_floor.db");
    }
    store& in = *opened;
    co_await beat(in);
    if (pending > 0) {
        // Half of them of a queue that could run, but must not: its limit is reached.
        queue_limits limits;
        limits.max_running = 1;
        co_await in.limit("waiting", limits);
        co_await in.pause("paused", true);
        co_await submit_bulk(in, 1000, "waiting", 0);
        claim_request request;
        request.node = "bench";
        request.now = now();
        co_await in.claim(request);
        co_await submit_bulk(in, pending / 2, "waiting", 100);
        co_await submit_bulk(in, pending / 2, "paused", 1000);
    }
    co_await latency(in, std::min<std::size_t>(1000, count / 10));
    co_await submit_16(in, count);
    const stopwatch bulk;
    co_await submit_bulk(in, count, "default", 0);
    bulk.print("submit_bulk", count);
    co_await process(in, "process_1000", 1000);
    co_await submit_bulk(in, count / 2, "default", 0);
    co_await process(in, "process_64", 64);
    co_await submit_bulk(in, count, "default", 5000);
    co_await process(in, "process_keys", 1000);
    co_await in.close();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s FOLDER_OR_URL [PENDING [COUNT]]\n", argv[0]);
        return 64;
    }
    const std::size_t pending = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
    const std::size_t count = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 50'000;
    weir::run(measure(argv[1], pending, count));
}
