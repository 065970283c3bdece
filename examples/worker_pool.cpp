// SPDX-License-Identifier: MIT
// P2: a worker pool: jobs, their results by handle and by id, a failure, a timeout, and the end
#include <weir/flow/worker_pool.hpp>
#include <weir/weir.hpp>

#include <cctype>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::task<std::string> process(std::string data) {
    co_await weir::sleep(100ms);
    if (data == "item_7") {
        throw std::runtime_error("cannot process " + data);
    }
    for (char& each : data) {
        each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
    }
    co_return data;
}

// One function per job.
weir::task<> functions() {
    weir::worker_pool pool(
        {.name = "text", .workers = 5, .queue = 10});  // a full queue makes submit wait
    const auto begin = weir::now();
    for (int i = 0; i < 20; ++i) {
        const std::string id = "job " + std::to_string(i);
        (void)co_await pool.submit({.id = id}, process, "item_" + std::to_string(i));
    }
    std::cout << "job 19 is " << to_string(*pool.status("job 19")) << "\n";
    try {
        (void)co_await weir::timeout(50ms, pool.get<std::string>("job 19"));
    } catch (const weir::timed_out&) {
        std::cout << "job 19 is not done yet; it goes on\n";
    }
    co_await pool.close();  // the jobs that were accepted are done first

    for (int i = 6; i < 9; ++i) {
        try {
            const std::string result = co_await pool.get<std::string>("job " + std::to_string(i));
            std::cout << "job " << i << ": " << result << "\n";
        } catch (const std::runtime_error& error) {
            std::cout << "job " << i << " failed: " << error.what() << "\n";
        }
    }
    const weir::worker_pool_stats count = pool.stats();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(weir::now() - begin);
    std::cout << count.done << " done, " << count.failed << " failed in " << took.count()
              << " ms\n";
}

// One handler for all jobs; the pool generates the ids.
weir::task<> one_handler() {
    auto handler = [](int item) -> weir::task<int> {
        co_await weir::sleep(100ms);
        co_return item * 2;
    };
    weir::handler_pool pool({.workers = 2, .queue = 1, .when_full = weir::when_queue_full::refuse},
                            handler);
    std::vector<weir::job_handle<int>> jobs;
    for (int i = 1; i <= 4; ++i) {
        auto let_in = pool.try_submit(i);
        if (let_in) {
            jobs.push_back(let_in.pass());
        } else {
            std::cout << "item " << i << ": " << to_string(let_in.refusal().reason) << "\n";
        }
    }
    jobs[2].cancel();  // still in the queue: it never runs
    for (const weir::job_handle<int>& each : jobs) {
        const weir::outcome<int> ended = co_await weir::settle(each);
        std::cout << "job " << each.id() << " is " << to_string(each.status());
        if (ended.has_value()) {
            std::cout << ": " << ended.value();
        }
        std::cout << "\n";
    }
    co_await pool.close(weir::shutdown_mode::now);
}

weir::task<> run() {
    co_await functions();
    co_await one_handler();
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
