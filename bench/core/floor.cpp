// SPDX-License-Identifier: MIT
//
// The floor of suite core: what the workloads cost on a runtime with nothing in it. Same counts and
// same structure as the peers. Coroutines are noinline and results are checked, so that the
// compiler can elide neither frames nor work: no peer could either.
#include "../harness.hpp"
#include "floor_sync.hpp"

namespace {

using namespace floor_runtime;
using bench::options;
using bench::reading;
using bench::stopwatch;

[[gnu::noinline]] fiber yielder(std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        co_await yield{};
        ++total;
    }
}

reading yields(const options& o, std::uint64_t tasks) {
    const std::uint64_t each = o.count(5'000'000) / tasks;
    std::uint64_t total = 0;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < tasks; ++i)
        yielder(each, total);
    run();
    const reading r = watch.per_operation(each * tasks);
    bench::require(total == each * tasks, "yield");
    return r;
}

[[gnu::noinline]] call child(std::uint64_t value) {
    co_return value + 1;
}

[[gnu::noinline]] fiber caller(std::uint64_t times, std::uint64_t& total) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < times; ++i) {
        const std::uint64_t value = co_await child(i);
        sum += value - i;
    }
    total = sum;
}

reading await_call(const options& o) {
    const std::uint64_t times = o.count(20'000'000);
    std::uint64_t total = 0;
    const stopwatch watch;
    caller(times, total);
    run();
    const reading r = watch.per_operation(times);
    bench::require(total == times, "await_call");
    return r;
}

[[gnu::noinline]] fiber trivial(std::uint64_t& total) {
    ++total;
    co_return;
}

[[gnu::noinline]] fiber spawner(std::uint64_t groups, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < groups; ++i) {
        group g;
        for (int j = 0; j < 1000; ++j)
            g.spawn(trivial(total));
        co_await g.join();
    }
}

reading spawn_join(const options& o) {
    const std::uint64_t groups = o.count(1'000'000) / 1000;
    std::uint64_t total = 0;
    const stopwatch watch;
    spawner(groups, total);
    run();
    const reading r = watch.per_operation(groups * 1000);
    bench::require(total == groups * 1000, "spawn_join");
    return r;
}

[[gnu::noinline]] fiber producer(queue& q, std::uint64_t items) {
    for (std::uint64_t i = 0; i < items; ++i)
        co_await q.put(i + 1);
}

[[gnu::noinline]] fiber consumer(queue& q, std::uint64_t items, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < items; ++i) {
        const std::uint64_t item = co_await q.get();
        total += item;
    }
}

reading queues(std::uint64_t items, std::uint64_t pairs) {
    const std::uint64_t each = items / pairs;
    std::uint64_t total = 0;
    queue q(100);
    const stopwatch watch;
    for (std::uint64_t i = 0; i < pairs; ++i)
        producer(q, each);
    for (std::uint64_t i = 0; i < pairs; ++i)
        consumer(q, each, total);
    run();
    const reading r = watch.per_operation(each * pairs);
    bench::require(total == pairs * (each * (each + 1) / 2), "queue");
    return r;
}

[[gnu::noinline]] fiber locker(semaphore& s, std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        co_await s.acquire();
        co_await yield{};
        ++total;
        s.release();
    }
}

reading locks(std::size_t permits, std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t total = 0;
    semaphore s(permits);
    const stopwatch watch;
    for (std::uint64_t i = 0; i < tasks; ++i)
        locker(s, each, total);
    run();
    const reading r = watch.per_operation(tasks * each);
    bench::require(total == tasks * each, "lock");
    return r;
}

}  // namespace

int main(int argc, char** argv) {
    return bench::main(
        argc, argv,
        {
            {"yield_1", [](const options& o) { return yields(o, 1); }},
            {"yield_100", [](const options& o) { return yields(o, 100); }},
            {"await_call", await_call},
            {"spawn_join", spawn_join},
            {"queue_spsc", [](const options& o) { return queues(o.count(5'000'000), 1); }},
            {"queue_mpmc", [](const options& o) { return queues(o.count(4'000'000), 4); }},
            {"mutex", [](const options& o) { return locks(1, 100, o.count(20'000)); }},
            {"semaphore", [](const options& o) { return locks(10, 1000, o.count(1'000)); }},
        },
        1);
}
