// SPDX-License-Identifier: MIT
//
// The workloads of suite core on Boost.Asio, except those that wait for the clock.
#include "asio_peer.hpp"

namespace peer {
namespace {

using boost::system::error_code;
using item_channel = asio::experimental::channel<executor, void(error_code, std::uint64_t)>;
using void_channel = asio::experimental::channel<executor, void(error_code)>;

awaitable<void> yielder(std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        co_await yield();
        ++total;
    }
}

reading yields(const options& o, std::uint64_t tasks) {
    const std::uint64_t each = o.count(5'000'000) / tasks;
    std::uint64_t total = 0;
    loop context;
    const stopwatch watch;
    for (std::uint64_t i = 0; i < tasks; ++i)
        context.start(yielder(each, total));
    context.run();
    const reading r = watch.per_operation(each * tasks);
    bench::require(total == each * tasks, "yield");
    return r;
}

[[gnu::noinline]] awaitable<std::uint64_t> child(std::uint64_t value) {
    co_return value + 1;
}

awaitable<void> caller(std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        const std::uint64_t value = co_await child(i);
        total += value - i;
    }
}

reading await_call(const options& o) {
    const std::uint64_t times = o.count(20'000'000);
    std::uint64_t total = 0;
    loop context;
    const stopwatch watch;
    context.start(caller(times, total));
    context.run();
    const reading r = watch.per_operation(times);
    bench::require(total == times, "await_call");
    return r;
}

awaitable<void> trivial(std::uint64_t& total) {
    ++total;
    co_return;
}

// Asio has no group: completion handlers count down, the last one wakes the joiner by a channel.
awaitable<void> spawner(std::uint64_t groups, std::uint64_t& total) {
    const executor here = co_await asio::this_coro::executor;
    void_channel all_done(here, 1);
    for (std::uint64_t i = 0; i < groups; ++i) {
        int pending = 1000;
        for (int j = 0; j < 1000; ++j) {
            asio::co_spawn(here, trivial(total), [&pending, &all_done](std::exception_ptr) {
                if (--pending == 0) all_done.try_send(error_code{});
            });
        }
        co_await all_done.async_receive(use_awaitable);
    }
}

reading spawn_join(const options& o) {
    const std::uint64_t groups = o.count(1'000'000) / 1000;
    std::uint64_t total = 0;
    loop context;
    const stopwatch watch;
    context.start(spawner(groups, total));
    context.run();
    const reading r = watch.per_operation(groups * 1000);
    bench::require(total == groups * 1000, "spawn_join");
    return r;
}

awaitable<void> producer(item_channel& q, std::uint64_t items) {
    for (std::uint64_t i = 0; i < items; ++i)
        co_await q.async_send(error_code{}, i + 1, use_awaitable);
}

awaitable<void> consumer(item_channel& q, std::uint64_t items, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < items; ++i) {
        const std::uint64_t item = co_await q.async_receive(use_awaitable);
        total += item;
    }
}

reading queues(std::uint64_t items, std::uint64_t pairs) {
    const std::uint64_t each = items / pairs;
    std::uint64_t total = 0;
    loop context;
    item_channel q(context, 100);
    const stopwatch watch;
    for (std::uint64_t i = 0; i < pairs; ++i)
        context.start(producer(q, each));
    for (std::uint64_t i = 0; i < pairs; ++i)
        context.start(consumer(q, each, total));
    context.run();
    const reading r = watch.per_operation(each * pairs);
    bench::require(total == pairs * (each * (each + 1) / 2), "queue");
    return r;
}

// The common way to lock in an Asio coroutine: a channel holds as many tokens as there are permits;
// sending one acquires (and waits in line while it is full), receiving one releases.
awaitable<void> locker(void_channel& permits, std::uint64_t times, std::uint64_t& total) {
    for (std::uint64_t i = 0; i < times; ++i) {
        co_await permits.async_send(error_code{}, use_awaitable);
        co_await yield();
        ++total;
        permits.try_receive([](error_code) {});
    }
}

reading locks(std::size_t permits, std::uint64_t tasks, std::uint64_t each) {
    std::uint64_t total = 0;
    loop context;
    void_channel tokens(context, permits);
    const stopwatch watch;
    for (std::uint64_t i = 0; i < tasks; ++i)
        context.start(locker(tokens, each, total));
    context.run();
    const reading r = watch.per_operation(tasks * each);
    bench::require(total == tasks * each, "lock");
    return r;
}

}  // namespace
}  // namespace peer

int main(int argc, char** argv) {
    using namespace peer;
    using bench::kind;
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
            {"timers", timers, "ns", kind::sleepy},
            {"timeout", timeout},
            {"cancel", cancel},
            {"spawn_cancel", spawn_cancel},
            {"memory", memory, "bytes", kind::sleepy, 1},
        },
        10);
}
