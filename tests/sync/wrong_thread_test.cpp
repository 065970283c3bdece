// SPDX-License-Identifier: MIT
// Every primitive reports, in debug mode, its use by another thread.

#include "support.hpp"

#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

TEST(WrongThread, IsSeenInDebugMode) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.debug = true;
    auto body = []() -> task<> {
        weir::event event;
        weir::semaphore semaphore(0);
        auto queue = weir::queue<int>::unbounded();
        auto wait = [&]() -> task<> { co_await event.wait(); };
        auto acquire = [&]() -> task<> { (void)co_await semaphore.acquire(); };
        auto get = [&]() -> task<> { (void)co_await queue.get(); };
        auto a = weir::spawn(wait);
        auto b = weir::spawn(acquire);
        auto c = weir::spawn(get);
        co_await settle_all();
        int refused = 0;
        auto attempt = [&refused](auto action) {
            try {
                action();
            } catch (const weir::wrong_thread&) {
                ++refused;
            }
        };
        std::thread([&] {
            attempt([&] { event.set(); });
            attempt([&] { semaphore.release(); });
            attempt([&] { queue.put_now(1); });
        }).join();
        EXPECT_EQ(refused, 3);
        EXPECT_EQ(queue.size(), 0u);
        event.set();
        semaphore.release();
        queue.put_now(1);
        co_await a;
        co_await b;
        co_await c;
    };
    weir::run(body(), std::move(options));
}

}  // namespace
