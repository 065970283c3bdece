// SPDX-License-Identifier: MIT
// The contract of worker_pool and handler_pool.

#include "support.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/flow/worker_pool.hpp>

#include <memory>

namespace {

using namespace flow_tests;
using weir::job_handle;
using weir::job_status;
using weir::refusal_reason;
using weir::shutdown_mode;
using weir::when_queue_full;
using weir::worker_pool;

task<int> twice(int number) {
    co_await weir::sleep(100ms);
    co_return number * 2;
}
task<int> fail_after(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
    throw test_error("failed on purpose");
}
task<> idle(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(WorkerPool, GivesTypedResults) {
    worker_pool pool({.workers = 2});
    job_handle<int> number = co_await pool.submit(twice, 21);
    job_handle<std::string> text =
        co_await pool.submit([](std::string name) { return "hello " + name; }, "weir");
    job_handle<> nothing = co_await pool.submit(idle, 10ms);
    auto move_only = co_await pool.submit([]() { return std::make_unique<int>(7); });
    const int value = co_await number;
    EXPECT_EQ(value, 42);
    const int again = co_await number;
    EXPECT_EQ(again, 42);
    const std::string& greeting = co_await text;
    EXPECT_EQ(greeting, "hello weir");
    co_await nothing;
    const std::unique_ptr<int> seven = co_await std::move(move_only);
    EXPECT_EQ(*seven, 7);
    co_await pool.close();
    EXPECT_EQ(pool.stats().done, 4u);
    EXPECT_EQ(pool.stats().running, 0u);
}

WEIR_TEST(WorkerPool, RunsSoManyAtATimeInOrder) {
    worker_pool pool({.workers = 3, .queue = 100});
    int inside = 0;
    int most = 0;
    std::vector<int> begun;
    auto work = [&](int number) -> task<> {
        begun.push_back(number);
        most = std::max(most, ++inside);
        co_await weir::sleep(10ms);
        --inside;
    };
    const auto begin = weir::now();
    for (int i = 0; i < 12; ++i) {
        (void)co_await pool.submit(work, i);
    }
    EXPECT_LE(pool.stats().running, 3u);
    co_await pool.close();
    EXPECT_EQ(most, 3);
    EXPECT_EQ(weir::now() - begin, 40ms);
    EXPECT_EQ(begun.size(), 12u);
    for (std::size_t i = 0; i < begun.size(); ++i) {
        EXPECT_EQ(begun[i] / 3, static_cast<int>(i) / 3);  // batches of three start together
    }
}

WEIR_TEST(WorkerPool, ErrorsAreRethrownAndKillNoWorker) {
    worker_pool pool({.workers = 1});
    job_handle<int> bad = co_await pool.submit(fail_after, 10ms);
    job_handle<int> good = co_await pool.submit(twice, 1);
    WEIR_EXPECT_THROW_WITH(bad, test_error, "on purpose");
    WEIR_EXPECT_THROW(bad, test_error);
    const int value = co_await good;
    EXPECT_EQ(value, 2);
    EXPECT_EQ(bad.status(), job_status::failed);
    EXPECT_EQ(good.status(), job_status::done);
    co_await pool.close();
    EXPECT_EQ(pool.stats().failed, 1u);
}

WEIR_TEST(WorkerPool, AnErrorThatNobodyAsksForIsReported) {
    weir::testing::expect_report(weir::report_kind::unretrieved_error, "on purpose");
    {
        worker_pool pool;
        (void)co_await pool.submit(fail_after, 0ms);
        co_await pool.close();
    }
    co_await settle_all();
}

WEIR_TEST(WorkerPool, KnowsJobsById) {
    worker_pool pool({.workers = 1});
    job_handle<int> own = co_await pool.submit({.id = "mine"}, twice, 4);
    job_handle<int> generated = co_await pool.submit(twice, 5);
    EXPECT_EQ(own.id(), "mine");
    EXPECT_FALSE(generated.id().empty());
    EXPECT_NE(generated.id(), "mine");
    co_await settle_all();
    EXPECT_EQ(pool.status("mine"), job_status::running);
    EXPECT_EQ(pool.status(generated.id()), job_status::queued);
    EXPECT_EQ(pool.status("nobody"), std::nullopt);
    EXPECT_FALSE(pool.find("nobody").has_value());
    const int value = co_await pool.get<int>("mine");
    EXPECT_EQ(value, 8);
    EXPECT_EQ(pool.status("mine"), job_status::done);
    EXPECT_THROW((void)pool.get<std::string>("mine"), weir::invalid_argument);
    EXPECT_THROW((void)pool.get<int>("nobody"), weir::invalid_argument);
    co_await pool.close();
    EXPECT_EQ(own.finished_at() - own.started_at(), 100ms);
    EXPECT_EQ(generated.started_at() - generated.submitted_at(), 100ms);
}

WEIR_TEST(WorkerPool, GeneratedIdsAvoidThoseTaken) {
    worker_pool pool;
    (void)co_await pool.submit({.id = "1"}, idle, 1ms);
    (void)co_await pool.submit({.id = "2"}, idle, 1ms);
    job_handle<> generated = co_await pool.submit(idle, 1ms);
    EXPECT_EQ(generated.id(), "3");
    co_await pool.close();
}

WEIR_TEST(WorkerPool, ADuplicateIdIsRefusedAndChangesNothing) {
    worker_pool pool({.workers = 1});
    job_handle<int> first = co_await pool.submit({.id = "a"}, twice, 1);
    WEIR_EXPECT_THROW_WITH(pool.submit({.id = "a"}, twice, 2), weir::refused, "'a'");
    const auto as_value = co_await pool.offer({.id = "a"}, twice, 3);
    EXPECT_FALSE(as_value.has_value());
    EXPECT_EQ(as_value.refusal().reason, refusal_reason::duplicate);
    const int value = co_await pool.get<int>("a");
    EXPECT_EQ(value, 2);
    // Also when it is done, as long as its result is kept.
    EXPECT_FALSE(pool.try_submit({.id = "a"}, twice, 4));
    co_await pool.close();
    EXPECT_EQ(pool.stats().submitted, 1u);
    EXPECT_EQ(pool.stats().refused, 3u);
}

WEIR_TEST(WorkerPool, FullRefuses) {
    worker_pool pool(
        {.name = "mail", .workers = 1, .queue = 1, .when_full = when_queue_full::refuse});
    (void)co_await pool.submit(idle, 10ms);
    (void)co_await pool.submit(idle, 10ms);
    WEIR_EXPECT_THROW_WITH(pool.submit(idle, 10ms), weir::refused, "mail: too many wait");
    const auto offered = co_await pool.offer(idle, 10ms);
    WEIR_ASSERT_FALSE(offered.has_value());
    EXPECT_EQ(offered.refusal().reason, refusal_reason::queue_full);
    co_await weir::sleep(11ms);
    EXPECT_TRUE(pool.try_submit(idle, 10ms));
    co_await pool.close();
    EXPECT_EQ(pool.stats().refused, 2u);
    EXPECT_EQ(pool.stats().done, 3u);
}

WEIR_TEST(WorkerPool, FullDisplacesTheOldest) {
    worker_pool pool({.workers = 1, .queue = 2, .when_full = when_queue_full::displace_oldest});
    job_handle<int> running = co_await pool.submit(twice, 1);
    job_handle<int> oldest = co_await pool.submit({.id = "oldest"}, twice, 2);
    job_handle<int> middle = co_await pool.submit(twice, 3);
    job_handle<int> newest = co_await pool.submit(twice, 4);
    WEIR_EXPECT_THROW_WITH(oldest, weir::refused, "'oldest': displaced");
    EXPECT_EQ(oldest.status(), job_status::cancelled);
    const int last = co_await newest;
    EXPECT_EQ(last, 8);
    EXPECT_EQ(running.status(), job_status::done);
    EXPECT_EQ(middle.status(), job_status::done);
    co_await pool.close();
    EXPECT_EQ(pool.stats().displaced, 1u);
    EXPECT_EQ(pool.stats().cancelled, 0u);
}

WEIR_TEST(WorkerPool, FullWaits) {
    worker_pool pool({.workers = 1, .queue = 1});
    const auto begin = weir::now();
    for (int i = 0; i < 4; ++i) {
        (void)co_await pool.submit(idle, 10ms);
    }
    EXPECT_EQ(weir::now() - begin, 20ms);
    EXPECT_FALSE(pool.try_submit(idle, 10ms));
    WEIR_EXPECT_TIMEOUT(weir::timeout(5ms, pool.submit({.id = "late"}, idle, 10ms)));
    EXPECT_EQ(pool.status("late"), std::nullopt);  // has submitted nothing
    co_await pool.close();
    EXPECT_EQ(pool.stats().done, 4u);
    EXPECT_EQ(weir::now() - begin, 40ms);
}

WEIR_TEST(WorkerPool, FullRunsHere) {
    worker_pool pool({.workers = 1, .queue = 1, .when_full = when_queue_full::run_here});
    (void)co_await pool.submit(idle, 50ms);
    (void)co_await pool.submit(idle, 50ms);
    const auto begin = weir::now();
    job_handle<int> own = co_await pool.submit({.id = "own"}, twice, 5);
    EXPECT_EQ(weir::now() - begin, 100ms);
    EXPECT_TRUE(own.done());
    const int value = co_await pool.get<int>("own");
    EXPECT_EQ(value, 10);
    co_await weir::sleep(1ms);
    (void)co_await pool.submit(idle, 50ms);
    (void)co_await pool.submit(idle, 50ms);
    EXPECT_FALSE(pool.try_submit(idle, 50ms));  // at once is not 'here'
    co_await pool.close();
    EXPECT_EQ(pool.stats().run_by_caller, 1u);
}

WEIR_TEST(WorkerPool, AJobThatItsSubmitterRunsCanBeCancelled) {
    worker_pool pool({.workers = 1, .queue = 0, .when_full = when_queue_full::run_here});
    job_handle<> other = co_await pool.submit(idle, 50ms);
    auto submit = [&]() -> task<job_status> {
        job_handle<int> own = co_await pool.submit({.id = "own"}, twice, 5);
        co_return own.status();
    };
    auto by_id = weir::spawn(submit);
    co_await weir::sleep(1ms);
    EXPECT_TRUE(pool.cancel("own"));
    const job_status ended = co_await by_id;  // the submitter continues
    EXPECT_EQ(ended, job_status::cancelled);
    EXPECT_EQ(other.status(), job_status::running);
    co_await pool.close(shutdown_mode::now);
    // And the submitter's own cancellation takes the job with it.
    worker_pool second({.workers = 1, .queue = 0, .when_full = when_queue_full::run_here});
    (void)co_await second.submit(idle, 50ms);
    auto submit_second = [&]() -> task<> { (void)co_await second.submit({.id = "b"}, twice, 5); };
    auto stopped = weir::spawn(submit_second);
    co_await weir::sleep(1ms);
    stopped.cancel();
    co_await stopped.wait();
    EXPECT_EQ(second.status("b"), job_status::cancelled);
    co_await second.close();
}

WEIR_TEST(WorkerPool, ResultsAreKeptForABoundedTime) {
    worker_pool pool({.keep_results = 1s, .most_results = 10});
    job_handle<int> kept = co_await pool.submit({.id = "a"}, twice, 1);
    co_await kept;
    co_await weir::sleep(999ms);
    EXPECT_EQ(pool.status("a"), job_status::done);
    co_await weir::sleep(1ms);
    EXPECT_EQ(pool.status("a"), std::nullopt);
    const int value = co_await kept;  // the handle has it still
    EXPECT_EQ(value, 2);
    EXPECT_TRUE(pool.try_submit({.id = "a"}, twice, 1));  // the id is free again
    co_await pool.close();
}

WEIR_TEST(WorkerPool, ResultsAreKeptUpToABoundedNumber) {
    worker_pool pool({.workers = 1, .most_results = 3});
    for (int i = 0; i < 10; ++i) {
        const std::string id = "job " + std::to_string(i);
        (void)co_await pool.submit({.id = id}, idle, 1ms);
    }
    co_await pool.close();
    EXPECT_EQ(pool.stats().kept, 3u);
    EXPECT_EQ(pool.status("job 6"), std::nullopt);
    EXPECT_EQ(pool.status("job 7"), job_status::done);
    worker_pool none({.most_results = 0});
    job_handle<int> only_handle = co_await none.submit({.id = "x"}, twice, 2);
    const int value = co_await only_handle;
    EXPECT_EQ(value, 4);
    EXPECT_EQ(none.status("x"), std::nullopt);
    co_await none.close();
}

WEIR_TEST(WorkerPool, DestroyedWithWorkLeft) {
    std::optional<worker_pool> pool;
    pool.emplace(weir::worker_pool_options{.workers = 1, .queue = 1});
    job_handle<> running = co_await pool->submit(idle, 1h);
    job_handle<> queued = co_await pool->submit(idle, 1h);
    auto submit = [&]() -> task<> { (void)co_await pool->submit(idle, 1h); };
    auto waiting = weir::spawn(submit);
    co_await settle_all();
    pool.reset();
    WEIR_EXPECT_CANCELLED(running);
    WEIR_EXPECT_CANCELLED(queued);
    WEIR_EXPECT_THROW(waiting, weir::refused);
    EXPECT_FALSE(running.cancel());
}

// A pool that outlives its loop, with a queue that the end of the loop interrupts.
TEST(WorkerPool, TheLoopEndsFirst) {
    std::optional<worker_pool> pool;
    std::optional<job_handle<>> last;
    int begun = 0;
    auto main = [&]() -> task<> {
        pool.emplace(weir::worker_pool_options{.workers = 1, .queue = 100});
        for (int i = 0; i < 50; ++i) {
            last = co_await pool->submit([&]() -> task<> {
                ++begun;
                co_await weir::sleep(1h);
            });
        }
        co_await weir::sleep(1s);
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(main(), std::move(options));
    EXPECT_EQ(pool->stats().running, 0u);
    pool.reset();
    EXPECT_TRUE(last->done());
    EXPECT_EQ(last->status(), job_status::cancelled);
    EXPECT_LE(begun, 50);
}

WEIR_TEST(WorkerPool, JobsHaveTheTaskLocalValuesOfTheirSubmitter) {
    static weir::local<std::string> request{"none"};
    worker_pool pool({.workers = 1});
    auto read = [](std::string own) -> task<std::string> {
        const std::string seen = request.get();
        if (!own.empty()) {
            request.set(own);
        }
        co_await weir::sleep(1ms);
        co_return seen;
    };
    auto submit = [&](std::string value) -> task<std::string> {
        if (!value.empty()) {
            request.set(value);
        }
        job_handle<std::string> submitted = co_await pool.submit(read, "changed");
        std::string seen = co_await std::move(submitted);
        co_return seen;
    };
    auto a = weir::spawn(submit, "a");
    auto none = weir::spawn(submit, "");
    auto b = weir::spawn(submit, "b");
    const std::string from_a = co_await a;
    EXPECT_EQ(from_a, "a");
    const std::string from_none = co_await none;
    EXPECT_EQ(from_none, "none");
    const std::string from_b = co_await b;
    EXPECT_EQ(from_b, "b");
    co_await pool.close();
}

WEIR_TEST(HandlerPool, OneHandlerForAllJobs) {
    auto handler = [](std::string text) -> task<std::size_t> {
        co_await weir::sleep(1ms);
        if (text.empty()) {
            throw test_error("an empty text");
        }
        co_return text.size();
    };
    weir::handler_pool pool({.workers = 2}, handler);
    static_assert(std::is_same_v<decltype(pool), weir::handler_pool<std::string, std::size_t>>);
    job_handle<std::size_t> three = co_await pool.submit("one");
    job_handle<std::size_t> five = co_await pool.submit({.id = "b"}, "three");
    auto bad = pool.try_submit("");
    WEIR_ASSERT_TRUE(bad.has_value());
    const std::size_t first = co_await three;
    EXPECT_EQ(first, 3u);
    const std::size_t second = co_await pool.get<std::size_t>("b");
    EXPECT_EQ(second, 5u);
    WEIR_EXPECT_THROW(bad.pass(), test_error);
    const auto taken = co_await pool.offer({.id = "b"}, "x");
    EXPECT_FALSE(taken.has_value());
    co_await pool.close();
}

int plain_half(int number) {
    return number / 2;
}

WEIR_TEST(HandlerPool, PlainHandlersAndPoolsThatGoFirst) {
    weir::handler_pool halves({.workers = 1}, plain_half);
    job_handle<int> four = co_await halves.submit(8);
    const int value = co_await four;
    EXPECT_EQ(value, 4);
    co_await halves.close();

    auto alive = std::make_shared<int>(3);
    const std::weak_ptr<int> watched = alive;
    auto handler = [alive = std::move(alive)](int) -> task<int> {
        auto clean_up = [&]() -> task<> { co_await weir::sleep(10ms); };
        co_await weir::finally(weir::sleep_forever(), clean_up);
        co_return *alive;
    };
    job_handle<int> cut_short;
    {
        weir::handler_pool<int, int> pool({.workers = 1}, std::move(handler));
        cut_short = co_await pool.submit(1);
        co_await settle_all();
    }
    EXPECT_FALSE(watched.expired());  // the clean-up may still need it
    WEIR_EXPECT_CANCELLED(cut_short);
    co_await settle_all();
    EXPECT_TRUE(watched.expired());
}

TEST(WorkerPool, BadOptionsAreRefused) {
    const auto with = [](weir::worker_pool_options options) { worker_pool pool(options); };
    EXPECT_THROW(with({.workers = 0}), weir::invalid_argument);
    EXPECT_THROW(with({.workers = static_cast<std::size_t>(-1)}), weir::invalid_argument);
    EXPECT_THROW(with({.queue = static_cast<std::size_t>(-1)}), weir::invalid_argument);
    EXPECT_THROW(with({.queue = 0, .when_full = when_queue_full::displace_oldest}),
                 weir::invalid_argument);
    EXPECT_THROW(with({.keep_results = -1s}), weir::invalid_argument);
    EXPECT_NO_THROW(with({.queue = 0}));
}

WEIR_TEST(WorkerPool, MetricsAndEvents) {
    struct : weir::observer {
        void on_event(const weir::flow_event& event) noexcept override {
            seen += std::string(event.kind) + "/" + std::string(event.name) + "/" +
                    std::string(event.what) + " ";
        }
        std::string seen;
    } watch;
    worker_pool pool({.name = "mail",
                      .workers = 1,
                      .queue = 1,
                      .when_full = when_queue_full::displace_oldest,
                      .observer = &watch});
    job_handle<int> bad = co_await pool.submit(fail_after, 1ms);
    job_handle<int> displaced = co_await pool.submit(twice, 1);
    job_handle<int> newest = co_await pool.submit(twice, 1);
    WEIR_EXPECT_THROW(bad, test_error);
    co_await newest;
    co_await pool.close();
    EXPECT_EQ(watch.seen,
              "worker_pool/mail/displaced worker_pool/mail/failed worker_pool/mail/shut_down ");
    weir::prometheus_writer page;
    pool.write_metrics(page);
    const std::string text = page.text();
    EXPECT_NE(text.find("weir_worker_pool_jobs_total{name=\"mail\",outcome=\"failed\"} 1"),
              std::string::npos)
        << text;
    for (const char* const each :
         {"run_by_caller_total{name=\"mail\"} 0", "queued{name=\"mail\"} 0",
          "running{name=\"mail\"} 0", "workers{name=\"mail\"} 1"}) {
        EXPECT_NE(text.find("\nweir_worker_pool_" + std::string(each) + "\n"), std::string::npos)
            << each << " is missing in:\n"
            << text;
    }
    EXPECT_NE(text.find("\nweir_worker_pool_submitted_total{name=\"mail\"} "), std::string::npos);
}

}  // namespace
