// SPDX-License-Identifier: MIT
// The shared_mutex under stops, timeouts, destruction and explored schedules, and beside a model.

#include "support.hpp"
#include "support/fifo_test.hpp"

#include <weir/sync/shared_mutex.hpp>

#include <memory>
#include <optional>
#include <random>
#include <string>

namespace {

using namespace sync_tests;

TEST(SharedMutex, HasOneWriterOrReadersAndIsFreeAtTheEnd) {
    expect_always([]() -> task<> {
        dice random;
        weir::shared_mutex mutex;
        int readers = 0;
        int writers = 0;
        auto read = [&]() -> task<> {
            auto lock = co_await weir::timeout(random.milliseconds_below(6), mutex.lock_shared());
            counted inside(readers);
            EXPECT_EQ(writers, 0);
            EXPECT_GE(static_cast<int>(mutex.readers()), readers);
            co_await pause(random);
            EXPECT_EQ(writers, 0);
        };
        auto write = [&]() -> task<> {
            auto lock = co_await weir::timeout(random.milliseconds_below(6), mutex.lock());
            {
                counted inside(writers);
                EXPECT_EQ(writers, 1);
                EXPECT_EQ(readers, 0);
                co_await pause(random);
                EXPECT_EQ(readers, 0);
            }
            if (random.one_in(2)) {
                weir::shared_mutex::shared_guard reading = lock.downgrade();
                EXPECT_FALSE(lock);
                counted inside(readers);
                EXPECT_EQ(writers, 0);
                co_await pause(random);
                EXPECT_EQ(writers, 0);
            }
        };
        auto use = [&]() -> task<> {
            try {
                if (random.one_in(3)) {
                    co_await write();
                } else {
                    co_await read();
                }
            } catch (const weir::timed_out&) {
            }
        };
        std::vector<handle<void>> attempts(7);
        auto user = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 6; ++i) {
                co_await until_done(attempt, use);
            }
        };
        auto all = [&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(user, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 50));
            co_return;
        };
        co_await weir::with_group(all);
        EXPECT_FALSE(mutex.locked());
        EXPECT_EQ(mutex.readers(), 0u);
    });
}

// A line of readers and writers that arrive, leave and are stopped at random. In each step the
// holders are those that the rule gives: from the front of the line, as many as fit together.
task<> expect_fair(unsigned seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned end) { return random() % end; };
    struct member {
        bool is_writer = false;
        bool is_inside = false;
        bool is_gone = false;
        weir::event leave;
        handle<void> run;
    };
    weir::shared_mutex mutex;
    std::vector<std::unique_ptr<member>> line;
    auto stay = [&](member& self) -> task<> {
        if (self.is_writer) {
            auto lock = co_await mutex.lock();
            self.is_inside = true;
            co_await self.leave.wait();
        } else {
            auto lock = co_await mutex.lock_shared();
            self.is_inside = true;
            co_await self.leave.wait();
        }
    };
    for (int step = 0; step < 60; ++step) {
        // Several changes in one step, before anyone reacts.
        for (unsigned changes = 1 + below(3); changes > 0; --changes) {
            const unsigned choice = below(5);
            if (choice < 2 || line.empty()) {
                line.push_back(std::make_unique<member>());
                line.back()->is_writer = below(3) == 0;
                line.back()->run = weir::spawn(stay(*line.back()), {.start = weir::start::eager});
                continue;
            }
            member& chosen = *line[below(static_cast<unsigned>(line.size()))];
            if (chosen.is_gone) {
                continue;
            }
            if (choice == 2) {
                chosen.run.cancel();  // in the line, let in, or inside
                chosen.is_gone = true;
            } else if (chosen.is_inside) {
                chosen.leave.set();
                chosen.is_gone = true;
            }
        }
        co_await settle_all();
        std::erase_if(line, [](const auto& each) { return each->is_gone; });
        bool fits = true;
        for (std::size_t i = 0; i < line.size(); ++i) {
            fits = fits && (i == 0 || (!line[i]->is_writer && !line[i - 1]->is_writer));
            EXPECT_EQ(line[i]->is_inside, fits) << "seed " << seed << ", step " << step;
        }
    }
    for (auto& each : line) {
        each->run.cancel();
    }
    co_await settle_all();
    EXPECT_FALSE(mutex.locked());
    EXPECT_EQ(mutex.readers(), 0u);
}

TEST(SharedMutex, IsFairAsTheModelSays) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        run_first_in_first_out(expect_fair(seed));
    }
}

WEIR_TEST(SharedMutex, TriesWithoutWaiting) {
    weir::shared_mutex mutex;
    auto first = mutex.try_lock_shared();
    auto second = mutex.try_lock_shared();
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(mutex.try_lock());
    auto writer = weir::spawn(
        [](weir::shared_mutex& locked) -> task<> { auto lock = co_await locked.lock(); },
        std::ref(mutex));
    co_await settle_all();
    EXPECT_FALSE(mutex.try_lock_shared()) << "a writer waits";
    first->unlock();
    second.reset();
    co_await writer;
    auto alone = mutex.try_lock();
    EXPECT_TRUE(alone);
    EXPECT_FALSE(mutex.try_lock_shared());
    alone->unlock();
    EXPECT_THROW(alone->unlock(), weir::invalid_state);
    EXPECT_THROW(first->unlock(), weir::invalid_state);
    EXPECT_THROW(static_cast<void>(alone->downgrade()), weir::invalid_state);
}

// Readers behind a writer that gives up do not wait for the readers before it.
WEIR_TEST(SharedMutex, ReadersBehindAStoppedWriterGetIn) {
    weir::shared_mutex mutex;
    auto reading = co_await mutex.lock_shared();
    auto write = [&]() -> task<> { auto lock = co_await mutex.lock(); };
    auto read = [&]() -> task<> { auto lock = co_await mutex.lock_shared(); };
    auto writer = weir::spawn(write);
    auto reader = weir::spawn(read);
    co_await settle_all();
    EXPECT_FALSE(reader.done());
    writer.cancel();
    co_await settle_all();
    EXPECT_TRUE(reader.done());
}

WEIR_TEST(SharedMutex, ADowngradeLetsReadersIn) {
    weir::shared_mutex mutex;
    auto writing = co_await mutex.lock();
    int inside = 0;
    auto read = [&]() -> task<> {
        auto lock = co_await mutex.lock_shared();
        ++inside;
    };
    auto write = [&]() -> task<> {
        auto lock = co_await mutex.lock();
        ++inside;
    };
    auto first = weir::spawn(read);
    auto writer = weir::spawn(write);
    co_await settle_all();
    auto reading = writing.downgrade();
    co_await settle_all();
    EXPECT_EQ(inside, 1) << "the writer waits for the one that reads now";
    reading.unlock();
    co_await writer;
    co_await first;
}

TEST(SharedMutex, MayBeDestroyedWithWaiters) {
    expect_always(
        []() -> task<> {
            std::optional<weir::shared_mutex> mutex(std::in_place);
            endings count;
            auto write = [&]() -> task<> { (void)co_await mutex->lock(); };
            auto read = [&]() -> task<> { (void)co_await mutex->lock_shared(); };
            auto holder = mutex->try_lock();
            auto granted = weir::spawn(ended(count, read));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, write));
            co_await settle_all();
            holder->unlock();  // the reader is let in and has not run
            mutex.reset();
            co_await granted;
            co_await waiting;
            EXPECT_EQ(count.invalid, 2);
        },
        50);
}

}  // namespace
