// SPDX-License-Identifier: MIT
// Waiting, waking, timing out and being cancelled do not allocate in steady state. Not under
// sanitizers: there every frame is allocated afresh, so that they detect the use of a destroyed
// one.

#include "support.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_TESTS_ARE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_TESTS_ARE_SANITIZED 1
#endif

#ifndef WEIR_TESTS_ARE_SANITIZED

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> allocations{0};

void* counted_allocation(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) {
    return counted_allocation(size);
}
void* operator new[](std::size_t size) {
    return counted_allocation(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace sync_tests;

// Runs the work in several tasks that take turns, and counts after they have warmed up.
template <class Work>
task<std::size_t> allocations_of(int tasks, Work& work) {
    constexpr int warm_up = 50;
    constexpr int measured = 500;
    weir::event begin;
    int warm = 0;
    auto body = [&]() -> task<> {
        for (int i = 0; i < warm_up; ++i) {
            co_await work();
        }
        ++warm;
        co_await begin.wait();
        for (int i = 0; i < measured; ++i) {
            co_await work();
        }
    };
    std::vector<handle<void>> running;
    running.reserve(static_cast<std::size_t>(tasks));
    for (int i = 0; i < tasks; ++i) {
        running.push_back(weir::spawn(body));
    }
    while (warm < tasks) {
        co_await weir::sleep(1ms);
    }
    const std::size_t before = allocations.load();
    begin.set();
    for (auto& each : running) {
        co_await each;
    }
    co_return allocations.load() - before;
}

WEIR_TEST(SyncAllocation, Mutex) {
    weir::mutex mutex;
    auto work = [&]() -> task<> {
        auto lock = co_await mutex.lock();
        co_await weir::yield();
    };
    const std::size_t count = co_await allocations_of(5, work);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(SyncAllocation, SemaphoreWithTimeouts) {
    weir::semaphore semaphore(2);
    auto work = [&]() -> task<> {
        auto permit = co_await weir::timeout(1h, semaphore.acquire());
        co_await weir::sleep(1ms);
    };
    const std::size_t count = co_await allocations_of(5, work);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(SyncAllocation, Queue) {
    weir::queue<int> queue(3);
    bool puts = false;
    auto work = [&]() -> task<> {
        puts = !puts;
        if (puts) {
            co_await queue.put(1);
        } else {
            (void)co_await queue.get();
        }
        co_await weir::yield();
    };
    const std::size_t count = co_await allocations_of(6, work);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(SyncAllocation, ConditionWithAPredicate) {
    weir::condition condition;
    int level = 0;
    bool raises = false;
    auto work = [&]() -> task<> {
        auto lock = co_await condition.lock();
        raises = !raises;
        if (raises) {
            ++level;
            condition.notify();
        } else {
            auto positive = [&] { return level > 0; };
            co_await condition.wait(positive);
            --level;
        }
        lock.unlock();
        co_await weir::yield();
    };
    const std::size_t count = co_await allocations_of(6, work);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(SyncAllocation, Barrier) {
    weir::barrier barrier(4);
    auto work = [&]() -> task<> { (void)co_await barrier.wait(); };
    const std::size_t count = co_await allocations_of(4, work);
    EXPECT_EQ(count, 0u);
}

WEIR_TEST(SyncAllocation, TimingOut) {
    weir::mutex mutex;
    auto hold = co_await mutex.lock();
    auto work = [&]() -> task<> {
        const bool locked = co_await weir::timeout_or(
            1ms,
            [&]() -> task<bool> {
                auto lock = co_await mutex.lock();
                co_return true;
            },
            false);
        EXPECT_FALSE(locked);
    };
    const std::size_t count = co_await allocations_of(4, work);
    EXPECT_EQ(count, 0u);
}

}  // namespace

#endif
