// SPDX-License-Identifier: MIT
// Recycled blocks: never given out twice, freed anywhere, inherited from threads that have ended.

#include <weir/detail/fiber_box.hpp>
#include <weir/detail/frame_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using weir::detail::frame_pool;

static_assert(sizeof(weir::detail::fiber_box<void>) <= 96,
              "a fiber stays small: a million of them fit");
static_assert(sizeof(weir::detail::fiber_box<int>) <= 96);
static_assert(sizeof(weir::detail::fiber_box<int&>) <= 96);

struct block {
    unsigned char* memory;
    std::size_t size;
    unsigned char mark;
};

block take(std::size_t size, unsigned char mark) {
    auto* memory = static_cast<unsigned char*>(frame_pool::allocate(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0u);
    std::memset(memory, mark, size);
    return {memory, size, mark};
}

void give_back(const block& each) {
    for (std::size_t at = 0; at < each.size; ++at) {
        ASSERT_EQ(each.memory[at], each.mark) << "somebody else was given this block too";
    }
    frame_pool::release(each.memory, each.size);
}

TEST(FramePool, BlocksAreDistinct) {
    std::mt19937 random(1);
    std::vector<block> held;
    for (int round = 0; round < 20000; ++round) {
        if (random() % 2 == 0 || held.empty()) {
            held.push_back(take(1 + random() % 1600, static_cast<unsigned char>(random())));
        } else {
            std::swap(held[random() % held.size()], held.back());
            give_back(held.back());
            held.pop_back();
        }
    }
    for (const block& each : held) {
        give_back(each);
    }
}

TEST(FramePool, WholeMagazinesMoveThroughTheDepot) {
    for (int round = 0; round < 3; ++round) {
        std::vector<block> held;
        for (std::size_t index = 0; index < 5 * frame_pool::magazine_size; ++index) {
            held.push_back(take(48, static_cast<unsigned char>(index)));
        }
        std::thread([&] {
            for (const block& each : held) {
                give_back(each);
            }
        }).join();
    }
}

TEST(FramePool, ThreadsPassBlocksAround) {
    std::mutex mutex;
    std::deque<block> exchange;
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937 random(number);
            for (int round = 0; round < 10000; ++round) {
                const block made = take(16 + random() % 200, static_cast<unsigned char>(random()));
                block got{};
                {
                    std::lock_guard lock(mutex);
                    exchange.push_back(made);
                    if (exchange.size() > 1000 || random() % 2 == 0) {
                        got = exchange.front();
                        exchange.pop_front();
                    }
                }
                if (got.memory != nullptr) {
                    give_back(got);
                }
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    for (const block& each : exchange) {
        give_back(each);
    }
}

#if WEIR_RECYCLES_FRAMES
TEST(FramePool, WhatEndedThreadsLeaveIsUsedAgain) {
    std::set<void*> seen;
    for (int thread = 0; thread < 50; ++thread) {
        std::thread([&] {
            std::vector<block> held;
            for (int index = 0; index < 100; ++index) {
                held.push_back(take(80, 1));
                seen.insert(held.back().memory);
            }
            for (const block& each : held) {
                give_back(each);
            }
        }).join();
    }
    EXPECT_LT(seen.size(), 300u) << "each thread had memory of its own";
}

// Destroyed after the pool of its thread, since it was made before.
struct late_user {
    void* early = nullptr;
    std::atomic<int>* destroyed = nullptr;
    ~late_user() {
        if (early != nullptr) {
            void* fresh = frame_pool::allocate(64);
            std::memset(fresh, 1, 64);
            frame_pool::release(fresh, 64);
            frame_pool::release(early, 64);
            ++*destroyed;
        }
    }
};
thread_local late_user user;

TEST(FramePool, ServesDestructorsAtThreadExit) {
    std::atomic<int> destroyed{0};
    for (int round = 0; round < 3; ++round) {
        std::thread([&] {
            user.destroyed = &destroyed;
            user.early = frame_pool::allocate(64);
        }).join();
    }
    EXPECT_EQ(destroyed, 3);
}
#endif

}  // namespace
