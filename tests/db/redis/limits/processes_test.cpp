// SPDX-License-Identifier: MIT
// A limit that processes share while they are killed at random and started again, and while Redis
// is: over every interval the sum of what they let through stays within the bound. Each process
// writes its admissions to a file, with the time at which Redis decided. WEIR_STRESS=1 does it for
// longer.

#include "support.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace {

using namespace shared_limits;

constexpr double rate = 400;
constexpr double burst = 20;
constexpr duration window = 50ms;

struct part {
    std::uint16_t port;
    bool is_bucket;
    redis::when_away when_away;
    std::string log;
};

task<> admit_all(redis::limiter& limit, int log) {
    auto use = [&]() -> task<> {
        for (;;) {
            auto in = co_await limit.admit();
            if (!in) {
                co_await weir::sleep(std::max<duration>(in.refusal().retry_after, 1ms));
                continue;
            }
            // One write for a line: a kill leaves no half of it.
            const std::string line = (in.pass().is_shared ? "shared " : "alone ") +
                                     std::to_string(in.pass().at.time_since_epoch().count()) + "\n";
            if (::write(log, line.data(), line.size()) < 0) {
                ::_exit(3);
            }
        }
    };
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 4; ++i) {
            group.spawn(use());
        }
        co_return;
    });
}

task<> play_part(const part& mine) {
    const int log = ::open(mine.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    redis::client store({.port = mine.port, .reconnect_delay = 1ms, .max_reconnect_delay = 10ms});
    if (mine.is_bucket) {
        redis::token_bucket limit(store, {.key = "processes",
                                          .rate = rate,
                                          .burst = burst,
                                          .when_away = mine.when_away,
                                          .share = 0.1,
                                          .timeout = 200ms,
                                          .probe_every = 10ms});
        co_await admit_all(limit, log);
    } else {
        redis::sliding_window limit(store, {.key = "processes",
                                            .limit = burst,
                                            .window = window,
                                            .when_away = mine.when_away,
                                            .share = 0.1,
                                            .timeout = 200ms,
                                            .probe_every = 10ms});
        co_await admit_all(limit, log);
    }
}

// A copy of this process that plays the part until it is killed.
class worker {
public:
    explicit worker(part role) : role_(std::move(role)) { start(); }
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() { kill(); }

    void restart() {
        kill();
        start();
    }

private:
    void start() {
        const pid_t parent = ::getpid();
        process_ = ::fork();
        if (process_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent) {
                try {
                    weir::run(play_part(role_));
                } catch (...) {
                }
            }
            ::_exit(2);
        }
    }
    void kill() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(std::exchange(process_, -1), nullptr, 0);
        }
    }
    part role_;
    pid_t process_ = -1;
};

struct log_of_all {
    std::vector<grant> shared;
    std::size_t alone = 0;
};
log_of_all read_logs(const weir_test::temporary_folder& folder) {
    log_of_all all;
    for (int i = 0; i < 3; ++i) {
        std::ifstream lines(folder / std::to_string(i));
        std::string kind;
        std::int64_t when = 0;
        while (lines >> kind >> when) {
            if (kind == "shared") {
                all.shared.push_back({time_point(microseconds(when)), 1, i});
            } else {
                ++all.alone;
            }
        }
    }
    std::sort(all.shared.begin(), all.shared.end(),
              [](const grant& one, const grant& other) { return one.when < other.when; });
    return all;
}

bool is_stress() {
    return std::getenv("WEIR_STRESS") != nullptr;
}
void pause_for(duration time) {
    std::this_thread::sleep_for(time);
}

template <class Disturb>
log_of_all run_three(const redis_test::redis_server& server, bool is_bucket,
                     redis::when_away choice, duration lasts, Disturb disturb) {
    weir_test::temporary_folder folder;
    {
        std::vector<std::unique_ptr<worker>> workers;
        for (int i = 0; i < 3; ++i) {
            workers.push_back(std::make_unique<worker>(
                part{server.port(), is_bucket, choice, (folder / std::to_string(i)).string()}));
        }
        const auto end = std::chrono::steady_clock::now() + lasts;
        while (std::chrono::steady_clock::now() < end) {
            disturb(workers);
        }
    }
    return read_logs(folder);
}

// The most that a bucket let through above rate * t, in any interval.
double highest_level(const std::vector<grant>& grants) {
    double level = 0;
    double highest = 0;
    time_point last{};
    for (const grant& each : grants) {
        level =
            std::max(0.0, level - rate * std::chrono::duration<double>(each.when - last).count());
        level += each.weight;
        highest = std::max(highest, level);
        last = each.when;
    }
    return highest;
}

// The times are those of the decisions themselves: the bound needs no tolerance.
void kills_keep_the_bound(bool is_bucket) {
    std::mt19937_64 random(is_bucket ? 1 : 2);
    redis_test::redis_server server;
    int kills = 0;
    const duration lasts = is_stress() ? duration(60s) : duration(1500ms);
    const log_of_all seen = run_three(server, is_bucket, redis::when_away::refuse, lasts,
                                      [&](std::vector<std::unique_ptr<worker>>& workers) {
                                          pause_for(microseconds(random() % 60'000));
                                          workers[random() % 3]->restart();
                                          ++kills;
                                      });
    const double seconds = std::chrono::duration<double>(lasts).count();
    EXPECT_GT(kills, 5);
    // What a killed process had taken is lost, and nothing else.
    EXPECT_GT(static_cast<double>(seen.shared.size()), rate * seconds / 10);
    EXPECT_GT(highest_level(seen.shared), burst / 2);  // and it came near the bound
    EXPECT_EQ(is_bucket ? exceeds_bucket(seen.shared, rate, 1s, burst)
                        : exceeds_window(seen.shared, burst, window),
              std::nullopt);
    EXPECT_EQ(seen.alone, 0u);
}

TEST(SharedByProcesses, TokenBucketKeepsItsBoundUnderKills) {
    kills_keep_the_bound(true);
}
TEST(SharedByProcesses, SlidingWindowKeepsItsBoundUnderKills) {
    kills_keep_the_bound(false);
}

// A Redis that is killed and comes back without what it knew: each time a full bucket, and no more.
// In an interval with k restarts in it at most (k + 1) * burst + rate * t pass.
TEST(SharedByProcesses, ARedisThatForgetsLetsOneBurstMorePass) {
    std::mt19937_64 random(3);
    redis_test::redis_server server;
    int restarts = 0;
    const log_of_all seen = run_three(server, true, redis::when_away::refuse,
                                      is_stress() ? duration(60s) : duration(1500ms),
                                      [&](std::vector<std::unique_ptr<worker>>& workers) {
                                          pause_for(microseconds(50'000 + random() % 200'000));
                                          if (random() % 2 == 0) {
                                              workers[random() % 3]->restart();
                                          }
                                          server.stop();
                                          server.start();
                                          ++restarts;
                                      });
    EXPECT_GT(restarts, 0);
    EXPECT_GT(seen.shared.size(), 100u);
    EXPECT_LE(highest_level(seen.shared), (restarts + 1) * burst + 1e-6);
    EXPECT_EQ(seen.alone, 0u);
}

// With a local limit meanwhile: a tenth of the limit for each of the three processes. A process
// that is killed and restarted has a full one again.
TEST(SharedByProcesses, WithoutRedisEachKeepsToItsShare) {
    redis_test::redis_server server;
    server.stop();
    const duration lasts = 700ms;
    const auto begin = std::chrono::steady_clock::now();
    const log_of_all seen =
        run_three(server, true, redis::when_away::limit_locally, lasts,
                  [&](std::vector<std::unique_ptr<worker>>&) { pause_for(20ms); });
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_EQ(seen.shared.size(), 0u);
    EXPECT_GT(seen.alone, 3u);
    EXPECT_LE(static_cast<double>(seen.alone), 3 * (burst * 0.1 + rate * 0.1 * seconds));
}

}  // namespace
