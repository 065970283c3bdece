// SPDX-License-Identifier: MIT
// Random traffic against the rules of a worker pool, and a pool that breaks them.

#include "naive_pool.hpp"
#include "support.hpp"

#include <weir/flow/worker_pool.hpp>

#include <map>

namespace {

using namespace flow_tests;
using weir::job_handle;
using weir::job_status;
using weir::shutdown_mode;
using weir::when_queue_full;
using weir::worker_pool;

// ---- random traffic

struct traffic {
    explicit traffic(const weir::worker_pool_options& options) : options(options), pool(options) {}

    weir::worker_pool_options options;
    worker_pool pool;
    dice random;
    int inside = 0;
    std::map<int, int> runs;  // how often the body of each job was begun
    struct submitted {
        int number;
        job_handle<int> handle;
        bool was_cancelled_unstarted = false;
    };
    std::vector<submitted> jobs;
    bool told_about_failures = false;

    void check_limits() {
        const auto now = pool.stats();
        EXPECT_LE(now.running, options.workers);
        EXPECT_LE(now.queued, options.queue);
        EXPECT_TRUE(now.queued == 0 || now.running == options.workers) << "an idle worker";
    }
    task<int> body(int number) {
        ++runs[number];
        ++inside;
        struct leave {
            int& inside;
            ~leave() { --inside; }
        } const leaving{inside};
        EXPECT_LE(inside, static_cast<int>(options.workers) +
                              (options.when_full == when_queue_full::run_here ? 8 : 0));
        check_limits();
        co_await pause(random);
        if (number % 5 == 0) {
            throw test_error("job " + std::to_string(number));
        }
        co_return number * 2;
    }
    task<> submitter(int first, int count) {
        for (int number = first; number < first + count; ++number) {
            co_await pause(random);
            auto work = [this, number] { return body(number); };
            auto let_in = co_await pool.offer(work);
            if (let_in) {
                jobs.push_back({number, std::move(let_in).pass()});
            }
            check_limits();
        }
    }
    task<> canceller(int times) {
        for (int i = 0; i < times; ++i) {
            co_await pause(random);
            if (jobs.empty()) {
                continue;
            }
            submitted& victim =
                jobs[static_cast<std::size_t>(random.below(static_cast<int>(jobs.size())))];
            const bool was_queued = victim.handle.status() == job_status::queued;
            const bool was_final = victim.handle.done();
            const bool told = victim.handle.cancel("chaos");
            EXPECT_EQ(told, !was_final);
            if (was_queued) {
                EXPECT_EQ(victim.handle.status(), job_status::cancelled);
                victim.was_cancelled_unstarted = true;
            }
            check_limits();
        }
    }
    // Every job that was let in has ended, as it should, and has run at most once.
    task<> check_ends() {
        for (const submitted& each : jobs) {
            EXPECT_TRUE(each.handle.done());
            EXPECT_LE(runs[each.number], 1);
            if (each.was_cancelled_unstarted) {
                EXPECT_EQ(runs[each.number], 0) << "a cancelled job was run";
            }
            const weir::outcome<int> ended = co_await weir::settle(each.handle);
            if (ended.has_value()) {
                EXPECT_EQ(ended.value(), each.number * 2);
                EXPECT_NE(each.number % 5, 0);
                EXPECT_EQ(each.handle.status(), job_status::done);
            } else if (ended.has_error()) {
                EXPECT_EQ(each.number % 5, 0);
                EXPECT_EQ(each.handle.status(), job_status::failed);
            } else {
                EXPECT_EQ(each.handle.status(), job_status::cancelled);
            }
        }
        const auto sum = pool.stats();
        EXPECT_EQ(sum.submitted, sum.done + sum.failed + sum.cancelled + sum.displaced);
        EXPECT_EQ(inside, 0);
        EXPECT_EQ(sum.running, 0u);
        EXPECT_EQ(sum.queued, 0u);
    }
};

task<> random_traffic() {
    dice random(3);
    weir::worker_pool_options options;
    options.workers = static_cast<std::size_t>(1 + random.below(3));
    options.queue = static_cast<std::size_t>(random.below(4));
    options.when_full = static_cast<when_queue_full>(random.below(4));
    if (options.queue == 0 && options.when_full == when_queue_full::displace_oldest) {
        options.queue = 1;
    }
    traffic all(options);
    std::vector<weir::handle<void>> submitters;
    for (int i = 0; i < 4; ++i) {
        submitters.push_back(weir::spawn(all.submitter(i * 100 + 1, 12)));
    }
    auto cancelling = weir::spawn(all.canceller(10));
    if (random.one_in(2)) {
        co_await pause(random);
        submitters[0].cancel();  // wherever it is: waiting for room, or running a job itself
    }
    const int ending = random.below(4);
    if (ending < 3) {
        co_await weir::sleep(random.milliseconds_below(20));
        co_await all.pool.close(static_cast<shutdown_mode>(ending));
    }
    for (const auto& each : submitters) {
        co_await each.wait();
    }
    co_await cancelling;
    co_await all.pool.close();
    co_await all.check_ends();
}

TEST(WorkerPoolProperty, RandomTraffic) {
    expect_always(random_traffic, 2000);
}

// ---- races

// A cancel at the moment at which the job ends, or is started.
TEST(WorkerPoolProperty, CancelRacesStartAndCompletion) {
    expect_always([]() -> task<> {
        worker_pool pool({.workers = 1, .queue = 1});
        int runs = 0;
        auto work = [&]() -> task<int> {
            ++runs;
            co_await weir::sleep(1ms);
            co_return 7;
        };
        job_handle<int> first = co_await pool.submit(work);
        job_handle<int> second = co_await pool.submit(work);
        auto cancel = [&]() -> task<> {
            co_await weir::sleep(1ms);
            const job_status before = second.status();
            EXPECT_TRUE(second.cancel());
            if (before == job_status::queued) {
                EXPECT_EQ(second.status(), job_status::cancelled);
            }
            (void)first.cancel();
        };
        auto cancelling = weir::spawn(cancel);
        co_await first.wait();
        co_await second.wait();
        co_await cancelling;
        EXPECT_EQ(second.status(), job_status::cancelled);
        EXPECT_LE(runs, 2);
        job_handle<int> third = co_await pool.submit(work);  // no worker and no place is lost
        job_handle<int> fourth = co_await pool.submit(work);
        const int value = co_await third;
        EXPECT_EQ(value, 7);
        co_await fourth;
        co_await pool.close();
    });
}

// A place that falls free at the moment at which the submitter gives up goes to the next one.
TEST(WorkerPoolProperty, APlaceRacesATimeout) {
    expect_always([]() -> task<> {
        worker_pool pool({.workers = 1, .queue = 0});
        auto work = []() -> task<> { co_await weir::sleep(1s); };
        (void)co_await pool.submit(work);
        int submitted = 1;
        auto attempt = [&]() -> task<> {
            try {
                (void)co_await weir::timeout(1s, pool.submit(work));
                ++submitted;
            } catch (const weir::timed_out&) {
            }
        };
        auto one = weir::spawn(attempt);
        auto two = weir::spawn(attempt);
        co_await one;
        co_await two;
        EXPECT_EQ(pool.stats().submitted, static_cast<std::uint64_t>(submitted));
        co_await weir::sleep(2s);
        EXPECT_TRUE(pool.try_submit(work));
        co_await pool.close();
    });
}

// Two submitters wait for room with one id: one of them gets it.
TEST(WorkerPoolProperty, OneIdWhileWaiting) {
    expect_always([]() -> task<> {
        worker_pool pool({.workers = 1, .queue = 0});
        auto work = [](int value) -> task<int> {
            co_await weir::sleep(1ms);
            co_return value;
        };
        (void)co_await pool.submit(work, 0);
        int let_in = 0;
        int refused = 0;
        auto attempt = [&](int value) -> task<> {
            const auto mine = co_await pool.offer({.id = "same"}, work, value);
            if (mine) {
                ++let_in;
            } else {
                ++refused;
                EXPECT_EQ(mine.refusal().reason, weir::refusal_reason::duplicate);
            }
        };
        auto one = weir::spawn(attempt, 1);
        auto two = weir::spawn(attempt, 2);
        co_await one;
        co_await two;
        EXPECT_EQ(let_in, 1);
        EXPECT_EQ(refused, 1);
        EXPECT_TRUE(pool.try_submit(work, 3) || pool.stats().running == 1u);
        co_await pool.close();
    });
}

// ---- the rules, for any pool, and one that breaks them

class real_pool {
public:
    using body = std::function<task<int>()>;
    real_pool(int workers, std::size_t queue, const body&)
        : pool_(
              {.workers = static_cast<std::size_t>(workers), .queue = queue, .most_results = 100}) {
    }
    task<> submit(std::string id, body given) { (void)co_await pool_.offer({.id = id}, given); }
    task<int> result(std::string id, std::chrono::milliseconds limit) {
        co_return co_await weir::timeout(limit, pool_.get<int>(id));
    }
    std::size_t kept() const { return pool_.stats().kept; }
    task<> shutdown_now() { return pool_.close(shutdown_mode::now); }

private:
    worker_pool pool_;
};

task<int> give(int value, std::chrono::milliseconds after) {
    co_await weir::sleep(after);
    co_return value;
}
template <class Pool>
std::function<task<int>()> answer(int value, std::chrono::milliseconds after) {
    return [=] { return give(value, after); };
}

template <class Pool>
task<violation> calls_what_it_was_given() {
    Pool pool(1, 10, answer<Pool>(-1, 1ms));
    co_await pool.submit("a", answer<Pool>(5, 1ms));
    const int value = co_await pool.result("a", 1000ms);
    co_await pool.shutdown_now();
    if (value != 5) {
        co_return "the result is not that of the function given to submit";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> does_not_poll() {
    Pool pool(1, 10, answer<Pool>(1, 5ms));
    const auto begin = weir::now();
    co_await pool.submit("a", answer<Pool>(1, 5ms));
    (void)co_await pool.result("a", 1000ms);
    const auto took = weir::now() - begin;
    co_await pool.shutdown_now();
    if (took != 5ms) {
        co_return "the result came late: it is polled for";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> a_timeout_of_zero_ends() {
    Pool pool(1, 10, answer<Pool>(1, 1h));
    co_await pool.submit("a", answer<Pool>(1, 1h));
    bool ended = false;
    auto wait = [&]() -> task<> {
        try {
            (void)co_await pool.result("a", 0ms);
        } catch (const weir::timed_out&) {
        }
        ended = true;
    };
    auto waiting = weir::spawn(wait);
    co_await weir::sleep(1min);
    waiting.cancel();
    co_await waiting.wait();
    co_await pool.shutdown_now();
    if (!ended) {
        co_return "a timeout of 0 waits for ever";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> shutdown_on_a_full_queue_ends() {
    Pool pool(1, 2, answer<Pool>(1, 1h));
    for (int i = 0; i < 3; ++i) {
        co_await pool.submit(std::to_string(i), answer<Pool>(1, 1h));
        co_await settle_all();
    }
    const auto ended = co_await weir::settle(weir::timeout(1min, pool.shutdown_now()));
    if (!ended.has_value()) {
        co_return "shutdown without waiting hangs";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> a_duplicate_changes_nothing() {
    int calls = 0;
    auto count = [&]() -> task<int> {
        co_await weir::sleep(1ms);
        co_return ++calls;
    };
    Pool pool(1, 10, count);
    co_await pool.submit("a", count);
    co_await pool.submit("a", count);
    co_await weir::sleep(1s);
    const int value = co_await pool.result("a", 1000ms);
    co_await pool.shutdown_now();
    if (value != 1) {
        co_return "a duplicate id overwrote the first job's result";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> memory_is_bounded() {
    Pool pool(4, 10, answer<Pool>(1, 0ms));
    for (int i = 0; i < 1000; ++i) {
        co_await pool.submit(std::to_string(i), answer<Pool>(1, 0ms));
    }
    co_await weir::sleep(1s);
    const std::size_t kept = pool.kept();
    co_await pool.shutdown_now();
    if (kept > 100) {
        co_return "results are kept for ever";
    }
    co_return std::nullopt;
}
template <class Pool>
task<violation> survives_a_failure() {
    int calls = 0;
    auto fail_first = [&]() -> task<int> {
        co_await weir::sleep(1ms);
        if (++calls == 1) {
            throw test_error("first");
        }
        co_return 1;
    };
    Pool pool(1, 10, fail_first);
    co_await pool.submit("a", fail_first);
    co_await weir::sleep(1s);
    co_await pool.submit("b", fail_first);
    const auto ended = co_await weir::settle(pool.result("b", 1000ms));
    (void)co_await weir::settle(pool.result("a", 100ms));
    if (!ended.has_value()) {
        co_return "one failing job killed its worker";
    }
    co_return std::nullopt;
}

#define POOL_RULE(rule)                                     \
    WEIR_TEST(WorkerPoolRules, rule) {                      \
        const violation found = co_await rule<real_pool>(); \
        EXPECT_EQ(found, std::nullopt) << *found;           \
    }                                                       \
    TEST(WorkerPoolHowNotTo, rule) {                        \
        violation found;                                    \
        auto body = [&]() -> task<> {                       \
            violation seen = co_await rule<naive_pool>();   \
            found = std::move(seen);                        \
        };                                                  \
        weir::loop_options options;                         \
        options.driver = weir::driver_kind::simulated;      \
        options.on_report = [](const weir::report&) {};     \
        weir::run(body(), std::move(options));              \
        EXPECT_TRUE(found.has_value());                     \
    }
POOL_RULE(calls_what_it_was_given)
POOL_RULE(does_not_poll)
POOL_RULE(a_timeout_of_zero_ends)
POOL_RULE(shutdown_on_a_full_queue_ends)
POOL_RULE(a_duplicate_changes_nothing)
POOL_RULE(memory_is_bounded)
POOL_RULE(survives_a_failure)

// ---- known bugs

// A job that fails on its own while the pool drains: its result was taken for that of an
// interrupted one and dropped, and its waiters waited for ever.
WEIR_TEST(KnownBugs, kestra_17129_a_failure_during_the_drain_is_delivered) {
    worker_pool pool({.workers = 2});
    auto fail = [](std::chrono::milliseconds after) -> task<int> {
        co_await weir::sleep(after);
        throw test_error("exit code 1");
    };
    auto succeed = [](std::chrono::milliseconds after) -> task<int> {
        co_await weir::sleep(after);
        co_return 1;
    };
    job_handle<int> running = co_await pool.submit({.id = "running"}, fail, 10ms);
    job_handle<int> beside = co_await pool.submit({.id = "beside"}, succeed, 20ms);
    job_handle<int> queued = co_await pool.submit({.id = "queued"}, fail, 10ms);
    job_handle<int> last = co_await pool.submit({.id = "last"}, succeed, 10ms);
    auto waiting =
        weir::spawn([&]() -> task<> { WEIR_EXPECT_THROW(pool.get<int>("running"), test_error); });
    co_await pool.close();
    co_await waiting;
    EXPECT_EQ(running.status(), job_status::failed);
    EXPECT_EQ(queued.status(), job_status::failed);
    WEIR_EXPECT_THROW(queued, test_error);
    const int one = co_await beside;
    EXPECT_EQ(one, 1);
    const int other = co_await last;
    EXPECT_EQ(other, 1);
}

}  // namespace
