// SPDX-License-Identifier: MIT
// Many threads that post to one loop. To be run with the thread sanitizer too.

#include <weir/foreign.hpp>
#include <weir/stop_token.hpp>
#include <weir/submit.hpp>
#include <weir/testing/testing.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

class joined_threads {
public:
    ~joined_threads() {
        for (std::thread& each : list) {
            each.join();
        }
    }
    std::vector<std::thread> list;
};

TEST(Post, ManyThreadsKeepTheirOrder) {
    weir::loop loop;
    constexpr int threads = 4;
    constexpr int each = 2000;
    std::vector<int> last(threads, -1);
    int total = 0;
    joined_threads posters;
    for (int thread = 0; thread < threads; ++thread) {
        posters.list.emplace_back([&, thread] {
            for (int number = 0; number < each; ++number) {
                loop.post([&, thread, number] {
                    EXPECT_EQ(last[static_cast<std::size_t>(thread)], number - 1);
                    last[static_cast<std::size_t>(thread)] = number;
                    if (++total == threads * each) {
                        loop.stop();
                    }
                });
            }
        });
    }
    loop.run_forever();
    EXPECT_EQ(total, threads * each);
}

}  // namespace
