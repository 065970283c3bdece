// SPDX-License-Identifier: MIT
// Crashes in virtual time: a run that is cancelled has lost everything that was not committed. T1,
// T14, T16, T17, T19, T57. Kills of the real program are in program/kill_test.cpp.

#include "support.hpp"

#include <weir/base/random.hpp>
#include <weir/spawn.hpp>

#include <set>

namespace crash_test {

using namespace crawl_test;

// A file in memory: what was flushed stays, and is cut to the position at the next start.
class memory_sink final : public sink {
public:
    explicit memory_sink(std::string_view name = "memory", weir::clock::duration time = 3ms)
        : name_(name), time_(time) {}
    std::string_view name() const noexcept override { return name_; }
    task<> open(std::string position) override {
        buffer.clear();
        lines.resize(position.empty() ? 0 : std::stoul(position));
        co_return;
    }
    void write(const page& settled) override { buffer.push_back(settled.url); }
    std::size_t buffered() const noexcept override { return buffer.size(); }
    task<std::string> flush() override {
        const std::vector<std::string> taken = std::exchange(buffer, {});
        co_await weir::sleep(time_);
        lines.insert(lines.end(), taken.begin(), taken.end());
        co_return std::to_string(lines.size());
    }
    task<> close(bool) override { co_return; }

    std::vector<std::string> buffer;
    std::vector<std::string> lines;

private:
    std::string_view name_;
    weir::clock::duration time_;
};

// Every page once.
void expect_each_page_once(const memory_sink& output, std::uint64_t pages) {
    const std::set<std::string> written(output.lines.begin(), output.lines.end());
    EXPECT_EQ(written.size(), output.lines.size()) << output.name();
    EXPECT_EQ(written.size(), pages) << output.name();
}

// Pages '/0' to '/199', each with three links; every ninth is missing.
std::optional<answer> numbered_page(const std::string& url) {
    if (url.ends_with("robots.txt")) {
        return std::nullopt;
    }
    const int number = std::stoi(url.substr(url.rfind('/') + 1));
    if (number % 9 == 8) {
        return answer::of_status(404).after(7ms);
    }
    std::vector<std::string> links;
    for (int i = 1; i <= 3; ++i) {
        links.push_back("/" + std::to_string((number * 3 + i) % 200));
    }
    return answer(links_to(links)).after(std::chrono::milliseconds(5 + number % 40));
}

struct crashed_crawl {
    simulated_web web;
    memory_store store;
    memory_sink output;
    memory_sink slow_output{"slow", 17ms};
    int crashes = 0;
    std::set<std::string> lost;  // in flight, or not committed, at a crash
};

// Runs it to its end, with a crash after each of the times that `next_crash` gives.
template <class NextCrash>
task<crawl_summary> crawl_with_crashes(const crawl_options& options, crashed_crawl& all,
                                       NextCrash& next_crash) {
    for (;;) {
        crawler one(options, all.web, all.store);
        one.add_sink(all.slow_output);
        one.add_sink(all.output);
        auto running = weir::spawn(one.run());
        const weir::clock::duration time = next_crash();
        for (weir::clock::duration waited{}; waited < time && !running.done(); waited += 1ms) {
            co_await weir::sleep(1ms);
        }
        if (running.done()) {
            crawl_summary summary = co_await running;
            co_return summary;
        }
        running.cancel();
        co_await running.wait();
        ++all.crashes;
        const std::map<std::string, page_record> pages = co_await pages_of(all.store);
        for (const auto& each : all.web.requests) {
            const auto found = pages.find(each.url);
            if (found != pages.end() && found->second.state == page_state::pending) {
                all.lost.insert(each.url);
            }
        }
        co_await expect_stored_sums(options, all.store);
    }
}

crawl_options crash_options() {
    crawl_options options = fast("http://a.test/0");
    options.per_host = 16;
    options.batch_time = 20ms;
    options.batch_pages = 10;
    return options;
}

WEIR_TEST(CrawlCrash, T14_what_was_in_flight_at_a_crash_is_fetched_again) {
    crashed_crawl whole;
    whole.web.otherwise = numbered_page;
    const auto never = [] { return weir::clock::duration(1h); };
    const crawl_options options = crash_options();
    const crawl_summary expected = co_await crawl_with_crashes(options, whole, never);
    weir::detail::random_source random(14);
    for (int round = 0; round < 20; ++round) {
        crashed_crawl all;
        all.web.otherwise = numbered_page;
        const auto some_time = [&random] {
            return weir::clock::duration(std::chrono::milliseconds(1 + random.next_below(120)));
        };
        const crawl_summary summary = co_await crawl_with_crashes(options, all, some_time);
        EXPECT_GT(all.crashes, 0);
        EXPECT_FALSE(all.lost.empty());
        EXPECT_EQ(summary.totals.done, expected.totals.done);
        EXPECT_EQ(summary.totals.failed, expected.totals.failed);
        EXPECT_EQ(summary.totals.discovered, expected.totals.discovered);
        EXPECT_EQ(summary.totals.bytes, expected.totals.bytes);
        EXPECT_EQ(summary.totals.pending(), 0u);
        const std::map<std::string, int> counts = all.web.counts();
        for (const std::string& each : all.lost) {
            EXPECT_GE(counts.at(each), 2) << each;
        }
        // Only what was lost was requested twice, and every page is in the output once.
        std::size_t repeated = 0;
        for (const auto& [url, count] : counts) {
            repeated += count > 1 ? 1 : 0;
        }
        EXPECT_EQ(repeated, all.lost.size());
        expect_each_page_once(all.output, expected.totals.done + expected.totals.failed);
        expect_each_page_once(all.slow_output, expected.totals.done + expected.totals.failed);
    }
}

WEIR_TEST(CrawlCrash, T1_max_pages_is_exact_over_crashes) {
    weir::detail::random_source random(1);
    for (int round = 0; round < 10; ++round) {
        crashed_crawl all;
        all.web.otherwise = numbered_page;
        crawl_options options = crash_options();
        options.max_pages = 57;
        const auto some_time = [&random] {
            return weir::clock::duration(std::chrono::milliseconds(1 + random.next_below(120)));
        };
        const crawl_summary summary = co_await crawl_with_crashes(options, all, some_time);
        EXPECT_EQ(summary.why, stop_reason::max_pages);
        EXPECT_EQ(all.web.counts().size(), 57u);
        EXPECT_EQ(summary.totals.done + summary.totals.failed, 57u);
    }
}

WEIR_TEST(CrawlCrash, T17_robots_txt_depth_limits_and_counts_survive) {
    crashed_crawl all;
    all.web.set("http://a.test/robots.txt",
                answer("User-agent: *\nDisallow: /1\n").with("Content-Type", "text/plain"));
    all.web.otherwise = numbered_page;
    crawl_options options = crash_options();
    options.max_depth = 4;
    int crashes = 0;
    const auto now_and_then = [&crashes] {
        return weir::clock::duration(++crashes < 10 ? 70ms : 1h);
    };
    const crawl_summary summary = co_await crawl_with_crashes(options, all, now_and_then);
    EXPECT_GT(all.crashes, 1);
    EXPECT_EQ(all.web.count("http://a.test/robots.txt"), 1);
    EXPECT_EQ(all.web.count("http://a.test/1"), 0);
    const auto pages = co_await pages_of(all.store);
    std::uint32_t deepest = 0;
    for (const auto& [url, each] : pages) {
        deepest = std::max(deepest, each.depth);
    }
    EXPECT_EQ(deepest, 4u);
    co_await expect_sums(summary.totals, all.store);
    EXPECT_EQ(summary.totals.discovered, pages.size());
}

// A store on a disk that gets full.
class full_store final : public store {
public:
    task<> commit(const commit_batch& batch) override {
        co_await weir::sleep(2ms);
        if (room == 0) {
            throw store_error("the state 'x': database or disk is full");
        }
        --room;
        co_await inner.commit(batch);
    }
    task<saved_crawl> open(std::string identity, bool accept_changes) override {
        return inner.open(std::move(identity), accept_changes);
    }
    task<saved_crawl> peek() override { return inner.peek(); }
    task<> each_url(std::function<void(const known_url&)> visit) override {
        return inner.each_url(std::move(visit));
    }
    task<std::vector<url_row>> pending(pending_query query) override {
        return inner.pending(query);
    }
    task<std::vector<url_row>> pending_between(url_id first, url_id last) override {
        return inner.pending_between(first, last);
    }
    task<weir::hash_seed> seed() override { return inner.seed(); }
    task<std::optional<page_record>> find(std::string url) override {
        return inner.find(std::move(url));
    }
    task<std::optional<retry_row>> retry_of(url_id id) override { return inner.retry_of(id); }
    task<> each_page(std::function<bool(const page_record&)> visit) override {
        return inner.each_page(std::move(visit));
    }
    task<> each_link(std::function<bool(const link_row&)> visit) override {
        return inner.each_link(std::move(visit));
    }
    task<> each_anchors(std::function<bool(url_id, const std::string&)> visit) override {
        return inner.each_anchors(std::move(visit));
    }
    task<std::uint64_t> retry_failed() override { return inner.retry_failed(); }
    task<> close() override { return inner.close(); }

    memory_store inner;
    int room = 5;
};

WEIR_TEST(CrawlCrash, T16_a_full_disk_under_the_state_stops_the_crawl_and_it_resumes) {
    simulated_web web;
    web.otherwise = numbered_page;
    const crawl_options options = crash_options();
    full_store store;
    memory_sink output;
    std::string reason;
    try {
        crawler one(options, web, store);
        one.add_sink(output);
        co_await one.run();
    } catch (const store_error& error) {
        reason = error.what();
    }
    EXPECT_EQ(reason, "the state 'x': database or disk is full");
    EXPECT_EQ(web.in_flight, 0);
    store.room = 1'000'000;
    crawler again(options, web, store);
    again.add_sink(output);
    const crawl_summary summary = co_await again.run();
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(summary.totals.pending(), 0u);
    expect_each_page_once(output, summary.totals.discovered);
}

WEIR_TEST(CrawlCrash, T19_options_that_are_not_part_of_the_identity_may_change_at_any_crash) {
    weir::detail::random_source random(19);
    crashed_crawl all;
    all.web.otherwise = numbered_page;
    crawl_options options = crash_options();
    crawl_summary summary;
    for (int round = 0;; ++round) {
        options.concurrency = 1 + random.next_below(30);
        options.per_host = 1 + random.next_below(20);
        options.batch_pages = 1 + random.next_below(30);
        options.max_pages = round < 8 ? 20 + random.next_below(30) : crawl_options::unlimited;
        crawler one(options, all.web, all.store);
        one.add_sink(all.output);
        auto running = weir::spawn(one.run());
        co_await weir::sleep(std::chrono::milliseconds(random.next_below(100)));
        if (round == 12) {
            summary = co_await running;
            break;
        }
        running.cancel();
        co_await running.wait();
    }
    EXPECT_EQ(summary.why, stop_reason::complete);
    EXPECT_EQ(summary.totals.pending(), 0u);
    expect_each_page_once(all.output, summary.totals.discovered);
}

}  // namespace crash_test
