// SPDX-License-Identifier: MIT
//
// The workloads of suite core on Weir, written as a user would: nothing here reaches below the
// public headers. Tasks are spawned by spawn(task): what they refer to outlives the group, so they
// need not own it, as in the peers.
#include "../harness.hpp"

#include <weir/weir.hpp>

#include <chrono>
#include <vector>

namespace {

using namespace std::chrono_literals;
using bench::options;
using bench::reading;
using bench::stopwatch;
using weir::task;
using weir::task_group;

task<> yielder(std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        co_await weir::yield();
        ++total;
    }
}

task<reading> yields(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t total = 0;
    const stopwatch watch;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < tasks; ++i) {
            group.spawn(yielder(each, total));
        }
        co_return;
    });
    const reading r = watch.per_operation(tasks * each);
    bench::require(total == tasks * each, "yield");
    co_return r;
}

[[gnu::noinline]] task<std::uint64_t> child(std::uint64_t value) {
    co_return value + 1;
}

task<reading> await_call(std::uint64_t times) {
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < times; ++i) {
        const std::uint64_t value = co_await child(i);
        total += value - i;
    }
    const reading r = watch.per_operation(times);
    bench::require(total == times, "await_call");
    co_return r;
}

task<> trivial(std::uint64_t& total) {
    ++total;
    co_return;
}

task<reading> spawn_join(std::uint64_t groups) {
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < groups; ++i) {
        co_await weir::with_group([&](task_group& group) -> task<> {
            for (int j = 0; j < 1000; ++j) {
                group.spawn(trivial(total));
            }
            co_return;
        });
    }
    const reading r = watch.per_operation(groups * 1000);
    bench::require(total == groups * 1000, "spawn_join");
    co_return r;
}

using item_queue = weir::queue<std::uint64_t>;

task<> producer(item_queue& items, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await items.put(i + 1);
    }
}

task<> consumer(item_queue& items, std::uint64_t count, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t item = co_await items.get();
        total += item;
    }
}

task<reading> queues(std::uint64_t items, std::uint64_t pairs) {
    const std::uint64_t each = items / pairs;
    std::uint64_t total = 0;
    item_queue shared(100);
    const stopwatch watch;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < pairs; ++i) {
            group.spawn(producer(shared, each));
        }
        for (std::uint64_t i = 0; i < pairs; ++i) {
            group.spawn(consumer(shared, each, total));
        }
        co_return;
    });
    const reading r = watch.per_operation(each * pairs);
    bench::require(total == pairs * (each * (each + 1) / 2), "queue");
    co_return r;
}

task<> locker(weir::mutex& shared, std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        auto lock = co_await shared.lock();
        co_await weir::yield();
        ++total;
    }
}

task<reading> mutex(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t total = 0;
    weir::mutex shared;
    const stopwatch watch;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < tasks; ++i) {
            group.spawn(locker(shared, each, total));
        }
        co_return;
    });
    const reading r = watch.per_operation(tasks * each);
    bench::require(total == tasks * each, "mutex");
    co_return r;
}

task<> permit_user(weir::semaphore& shared, std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        auto permit = co_await shared.acquire();
        co_await weir::yield();
        ++total;
    }
}

task<reading> semaphore(std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t total = 0;
    weir::semaphore shared(10);
    const stopwatch watch;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < tasks; ++i) {
            group.spawn(permit_user(shared, each, total));
        }
        co_return;
    });
    const reading r = watch.per_operation(tasks * each);
    bench::require(total == tasks * each, "semaphore");
    co_return r;
}

task<> sleeper(std::chrono::microseconds delay, std::uint64_t& done) {
    co_await weir::sleep(delay);
    ++done;
}

task<reading> timers(std::uint64_t tasks) {
    std::uint64_t done = 0;
    const stopwatch watch;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < tasks; ++i) {
            group.spawn(sleeper(std::chrono::microseconds(i * 7919 % 500'000), done));
        }
        co_return;
    });
    const reading r = watch.cpu_per_operation(tasks);
    bench::require(done == tasks, "timers");
    co_return r;
}

task<> yield_once() {
    co_await weir::yield();
}

task<reading> timeout(std::uint64_t times) {
    // Two tasks: a yield that finds no other task ready does not suspend, and arms no timer.
    auto half = [](std::uint64_t rounds) -> task<> {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            co_await weir::timeout(1s, yield_once());
        }
    };
    const stopwatch watch;
    co_await weir::gather(half(times / 2), half(times / 2));
    co_return watch.per_operation(times / 2 * 2);
}

struct phases {
    reading cancel_only;
    reading with_spawn;
};

// All tasks sleep before the first is cancelled.
task<phases> cancelled(std::uint64_t tasks) {
    std::uint64_t woken = 0;
    std::vector<weir::handle<void>> sleeping;
    sleeping.reserve(tasks);
    const stopwatch whole;
    for (std::uint64_t i = 0; i < tasks; ++i) {
        sleeping.push_back(weir::spawn(sleeper(1h, woken)));
    }
    co_await weir::yield();
    const stopwatch second;
    for (const auto& handle : sleeping) {
        handle.cancel();
    }
    for (const auto& handle : sleeping) {
        co_await handle.wait();
    }
    const phases r{second.per_operation(tasks), whole.per_operation(tasks)};
    bool all = woken == 0;
    for (const auto& handle : sleeping) {
        all = all && handle.cancelled();
    }
    bench::require(all, "cancel");
    co_return r;
}

task<reading> memory(std::uint64_t tasks) {
    std::uint64_t woken = 0;
    const double before = bench::resident_bytes();
    double after = 0;
    co_await weir::with_group([&](task_group& group) -> task<> {
        for (std::uint64_t i = 0; i < tasks; ++i) {
            group.spawn(sleeper(1h, woken));
        }
        co_await weir::yield();
        after = bench::resident_bytes();
        group.cancel();
    });
    co_return reading{(after - before) / static_cast<double>(tasks), 1};
}

}  // namespace

int main(int argc, char** argv) {
    using bench::kind;
    using weir::run;
    return bench::main(
        argc, argv,
        {
            {"yield_1", [](const options& o) { return run(yields(1, o.count(5'000'000))); }},
            {"yield_100", [](const options& o) { return run(yields(100, o.count(50'000))); }},
            {"await_call", [](const options& o) { return run(await_call(o.count(20'000'000))); }},
            {"spawn_join", [](const options& o) { return run(spawn_join(o.count(1'000))); }},
            {"queue_spsc", [](const options& o) { return run(queues(o.count(5'000'000), 1)); }},
            {"queue_mpmc", [](const options& o) { return run(queues(o.count(4'000'000), 4)); }},
            {"mutex", [](const options& o) { return run(mutex(100, o.count(20'000))); }},
            {"semaphore", [](const options& o) { return run(semaphore(1000, o.count(1'000))); }},
            {"timers", [](const options&) { return run(timers(200'000)); }, "ns", kind::sleepy},
            {"timeout", [](const options& o) { return run(timeout(o.count(2'000'000))); }},
            {"cancel",
             [](const options& o) { return run(cancelled(o.count(100'000))).cancel_only; }},
            {"spawn_cancel",
             [](const options& o) { return run(cancelled(o.count(100'000))).with_spawn; }},
            {"memory", [](const options& o) { return run(memory(o.count(1'000'000))); }, "bytes",
             kind::sleepy, 1},
        },
        1);
}
