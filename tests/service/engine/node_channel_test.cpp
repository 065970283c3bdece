// SPDX-License-Identifier: MIT
// What nodes tell each other, on a channel in simulated time that loses messages on request.

#include "process.hpp"
#include "service/cluster/node_news.hpp"

#include <weir/service/node_channel.hpp>

#include <random>

namespace weir::service::testing {
namespace {

using detail::news_interest;
using detail::news_message;
using detail::node_news;

// All that is sent is heard by all, a millisecond later.
class wire {
public:
    class endpoint final : public node_channel {
    public:
        explicit endpoint(wire& all) : all_(all) { all.ends_.push_back(this); }
        task<> listen(receiver& to) override {
            if (is_without_sessions) {
                co_return;
            }
            to_ = &to;
            to.listening_begins();
            co_await sleep_forever();
        }
        task<bool> send(std::vector<std::string> messages) override {
            co_await sleep(1ms);
            sent.push_back(weir::now());
            texts.insert(texts.end(), messages.begin(), messages.end());
            if (is_cut) {
                co_return false;
            }
            for (endpoint* const each : all_.ends_) {
                for (const std::string& text : messages) {
                    if (each->to_ != nullptr && !each->is_cut) {
                        each->to_->heard(text);
                    }
                }
            }
            co_return true;
        }

        bool is_without_sessions = false;
        bool is_cut = false;
        std::vector<clock::time_point> sent;
        std::vector<std::string> texts;

    private:
        wire& all_;
        receiver* to_ = nullptr;
    };

private:
    std::vector<endpoint*> ends_;
};

class wired_process final : public process {
public:
    wired_process(store& target, wire& all) : process(target), end(all) {}
    node_channel* channel() noexcept override { return &end; }

    wire::endpoint end;
};

class fake_engine final : public detail::news_engine {
public:
    std::string_view node() const override { return name; }
    std::size_t free_workers() const override { return free; }
    detail::news_counters counters() const override { return done; }
    bool is_remote(std::string_view kind) const override { return kind == "remote"; }
    bool has_polls() const override { return polls; }
    void work_waits() noexcept override { ++asked; }
    void cancelling(task_id id) noexcept override { cancelled.push_back(id); }
    void ready_for_workers(const std::string& kind, const std::string& queue) noexcept override {
        ready.emplace_back(kind, queue);
    }

    std::string name;
    std::size_t free = 0;
    detail::news_counters done;
    bool polls = false;
    int asked = 0;
    std::vector<task_id> cancelled;
    std::vector<std::pair<std::string, std::string>> ready;
};

class fake_observer final : public detail::news_observer {
public:
    void changed_elsewhere(std::span<const task_event> all, std::uint64_t count) noexcept override {
        events.insert(events.end(), all.begin(), all.end());
        more += count;
        heard_at = weir::now();
    }
    void ended_elsewhere(std::span<const task_end> all) noexcept override {
        ends.insert(ends.end(), all.begin(), all.end());
    }
    void queues_changed_elsewhere() noexcept override { ++queues; }
    void missed_elsewhere() noexcept override { ++missed; }
    void add_interest(news_interest& to) override { to.add(wants); }

    news_interest wants;
    std::vector<task_event> events;
    std::vector<task_end> ends;
    std::uint64_t more = 0;
    int queues = 0;
    int missed = 0;
    clock::time_point heard_at{};
};

struct node {
    node(wire& all, std::string name) : connection(memory, all), news(connection, engine, 2s) {
        engine.name = std::move(name);
        news.add_observer(&observer);
    }
    void start() { running = weir::spawn(news.run()); }
    task<> stop() {
        running.cancel();
        co_await running.wait();
    }

    memory_store memory;
    wired_process connection;
    fake_engine engine;
    fake_observer observer;
    node_news news;
    handle<void> running;
};

task_event event_of(std::int64_t number, task_view view, std::string kind = "work") {
    task_event event;
    event.id = task_id(number);
    event.kind = std::move(kind);
    event.queue = "default";
    event.view = view;
    return event;
}

WEIR_TEST(NodeNews, MessagesAreReadAsTheyWereWritten) {
    news_message sent;
    sent.from = "0123456789abcdef";
    sent.number = 41;
    sent.node = "node \"a\"";
    sent.free = 7;
    sent.wants.all = true;
    sent.wants.tasks = {task_id(5), task_id(6)};
    sent.counters = {1, 2, 3, 4};
    sent.asks = true;
    sent.work_for = "fedcba9876543210";
    sent.cancelling = {task_id(9)};
    sent.ready = {{"remote", "mail"}};
    sent.more = 12;
    task_event event = event_of(77, task_view::running);
    event.message = std::string(199, 'x') + "\xc3\xa9 and more";
    event.progress = 0.25;
    event.at = timestamp(5us);
    for (int i = 0; i < 60; ++i) {
        event.id = task_id(77 + i);
        sent.events.push_back(event);
    }
    sent.ends.assign(1200, {task_id(3), task_state::failed});
    const std::vector<std::string> texts = encode(sent);
    EXPECT_GT(texts.size(), 3U);
    std::size_t events = 0;
    std::size_t ends = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_LE(texts[i].size(), node_channel::max_message);
        const std::optional<news_message> read = detail::decode(texts[i]);
        WEIR_ASSERT_TRUE(read.has_value());
        EXPECT_EQ(read->number, 41 + i);
        EXPECT_EQ(read->from, sent.from);
        EXPECT_EQ(read->node, sent.node);
        EXPECT_EQ(read->wants, sent.wants);
        EXPECT_EQ(read->counters, sent.counters);
        EXPECT_EQ(read->more, i == 0 ? 12U : 0U);
        EXPECT_EQ(read->work_for, i == 0 ? sent.work_for : "");
        for (const task_event& each : read->events) {
            EXPECT_EQ(each.id, task_id(77 + static_cast<std::int64_t>(events)));
            EXPECT_EQ(each.message, std::string(199, 'x')) << "cut between characters";
            EXPECT_EQ(each.progress, 0.25);
            EXPECT_EQ(each.at, event.at);
            ++events;
        }
        ends += read->ends.size();
    }
    EXPECT_EQ(events, 60U);
    EXPECT_EQ(ends, 1200U);
    // What is damaged is refused, or read as something else, and nothing worse.
    std::mt19937 random(1);
    for (int i = 0; i < 5000; ++i) {
        std::string text = texts[random() % texts.size()].substr(0, 400 + random() % 600);
        for (unsigned damage = random() % 4; damage > 0; --damage) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        (void)detail::decode(text);
    }
    EXPECT_FALSE(detail::decode("").has_value());
    EXPECT_FALSE(detail::decode("[]").has_value());
    EXPECT_FALSE(detail::decode(R"({"v":2})").has_value());
    co_return;
}

WEIR_TEST(NodeNews, ABusyNodeAsksOneThatHasAFreeWorker) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    node c(all, "c");
    b.engine.free = 2;
    for (node* const each : {&a, &b, &c}) {
        each->start();
    }
    co_await sleep(1s);
    EXPECT_EQ(a.news.others().size(), 2U);
    a.news.no_worker_is_free();
    co_await sleep(10ms);
    EXPECT_EQ(b.engine.asked, 1);
    EXPECT_EQ(c.engine.asked, 0);
    const std::size_t sent = a.connection.end.sent.size();
    a.news.no_worker_is_free();  // it was asked, and has not said that it is free again
    c.news.no_worker_is_free();  // c has heard that, too
    co_await sleep(10ms);
    EXPECT_EQ(b.engine.asked, 1);
    EXPECT_EQ(a.connection.end.sent.size(), sent);
    b.news.claimed(true);
    co_await sleep(100ms);
    c.news.no_worker_is_free();
    co_await sleep(10ms);
    EXPECT_EQ(b.engine.asked, 2);
    for (node* const each : {&a, &b, &c}) {
        co_await each->stop();
    }
}

WEIR_TEST(NodeNews, WhatNobodyWantsIsNotTold) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    a.start();
    b.start();
    co_await sleep(1s);
    const std::size_t before = b.connection.end.sent.size();
    const std::vector<task_event> events = {event_of(1, task_view::running),
                                            event_of(2, task_view::completed),
                                            event_of(3, task_view::pending, "remote")};
    b.news.changed(events);
    co_await sleep(500ms);
    EXPECT_EQ(b.connection.end.sent.size(), before);

    a.observer.wants.ends = true;
    a.observer.wants.tasks = {task_id(1)};
    a.engine.polls = true;
    a.news.interest_changed();
    co_await sleep(100ms);
    b.news.changed(events);
    co_await sleep(100ms);
    WEIR_ASSERT_EQ(a.observer.events.size(), 1U);
    EXPECT_EQ(a.observer.events[0].id, task_id(1));
    WEIR_ASSERT_EQ(a.observer.ends.size(), 1U);
    EXPECT_EQ(a.observer.ends[0].first, task_id(2));
    EXPECT_EQ(a.observer.ends[0].second, task_state::completed);
    WEIR_ASSERT_EQ(a.engine.ready.size(), 1U);
    EXPECT_EQ(a.engine.ready[0].first, "remote");

    // A cancel is told whoever listens: a node runs that task.
    const task_event cancelled = event_of(9, task_view::cancelling);
    b.news.changed(std::span(&cancelled, 1));
    b.news.queue_changed("default");
    co_await sleep(100ms);
    EXPECT_EQ(a.engine.cancelled, std::vector<task_id>{task_id(9)});
    EXPECT_EQ(a.observer.queues, 1);
    co_await a.stop();
    co_await b.stop();
}

WEIR_TEST(NodeNews, SendsTwentyTimesASecondAtMostWhateverHappens) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    a.observer.wants.all = true;
    a.observer.wants.tasks = {task_id(1)};
    a.start();
    b.start();
    co_await sleep(1s);
    b.connection.end.sent.clear();
    a.observer.events.clear();
    constexpr int rounds = 1000;
    for (int i = 0; i < rounds; ++i) {
        std::vector<task_event> events;
        for (int k = 0; k < 100; ++k) {
            events.push_back(event_of(100 + 100 * i + k, task_view::running));
        }
        events.push_back(event_of(1, task_view::running));
        b.news.changed(events);
        co_await sleep(5ms);
    }
    co_await sleep(100ms);
    EXPECT_LE(b.connection.end.sent.size(), 5U + 20 * 6);
    EXPECT_GE(b.connection.end.sent.size(), 80U);
    for (const std::string& each : b.connection.end.texts) {
        EXPECT_LE(each.size(), node_channel::max_message);
    }
    // What is not told is counted, and a task that was named is always told.
    EXPECT_EQ(a.observer.events.size() + a.observer.more >= 100U * rounds, true);
    EXPECT_LE(a.observer.events.size(), 51 * b.connection.end.sent.size());
    EXPECT_EQ(a.observer.missed, 1) << "only as it began to listen";
    co_await a.stop();
    co_await b.stop();
}

WEIR_TEST(NodeNews, LostMessagesAndNodesThatVanishAreTold) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    a.observer.wants.all = true;
    a.start();
    b.start();
    co_await sleep(5s);
    EXPECT_EQ(a.observer.missed, 1);
    // One message of b is lost; the next shows it.
    const task_event event = event_of(1, task_view::running);
    b.connection.end.is_cut = true;
    b.news.changed(std::span(&event, 1));
    co_await sleep(100ms);
    b.connection.end.is_cut = false;
    co_await sleep(1100ms);
    EXPECT_EQ(a.observer.missed, 2);
    EXPECT_TRUE(a.observer.events.empty());
    EXPECT_TRUE(a.news.others().heard_at("b").has_value());
    // It goes away as it should, and comes back.
    co_await b.stop();
    co_await b.news.leave();
    co_await sleep(5s);
    EXPECT_EQ(a.observer.missed, 2);
    EXPECT_TRUE(a.news.others().empty());
    b.start();
    co_await sleep(2s);
    EXPECT_EQ(a.news.others().size(), 1U);
    // It vanishes.
    b.connection.end.is_cut = true;
    co_await sleep(3100ms);
    EXPECT_EQ(a.observer.missed, 3);
    EXPECT_TRUE(a.news.others().empty());
    EXPECT_FALSE(a.news.others().heard_at("b").has_value());
    co_await a.stop();
    co_await b.stop();
}

WEIR_TEST(NodeNews, CountsWhatOthersHaveDone) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    b.engine.done.completed = 1000;
    a.observer.wants.all = true;
    a.start();
    b.start();
    co_await sleep(2s);
    EXPECT_EQ(a.news.others().counters().completed, 0U) << "before it was heard of";
    b.engine.done.completed = 1007;
    co_await sleep(1100ms);
    EXPECT_EQ(a.news.others().counters().completed, 7U);
    co_await b.stop();
    b.engine.done.completed = 3;  // another process
    b.start();
    co_await sleep(5s);
    EXPECT_EQ(a.news.others().counters().completed, 7U);
    co_await a.stop();
    co_await b.stop();
}

// Such as behind a pooler.
WEIR_TEST(NodeNews, AChannelWithoutSessionsIsNotUsed) {
    wire all;
    node a(all, "a");
    node b(all, "b");
    a.connection.end.is_without_sessions = true;
    a.start();
    b.start();
    co_await sleep(10s);
    a.news.no_worker_is_free();
    a.news.queue_changed("default");
    co_await sleep(10s);
    EXPECT_TRUE(a.connection.end.sent.empty());
    EXPECT_TRUE(b.news.others().empty());
    co_await a.stop();
    co_await b.stop();
}

// Two services take their looks for tasks of others at different times.
WEIR_TEST(NodeNews, VariesTheTimeOfLooks) {
    wire all;
    node a(all, "a");
    a.start();
    co_await sleep(1s);
    std::set<clock::duration> looks;
    for (int i = 0; i < 20; ++i) {
        const clock::duration next = a.news.vary(1s);
        EXPECT_GE(next, 800ms);
        EXPECT_LE(next, 1s);
        looks.insert(next);
    }
    EXPECT_GT(looks.size(), 10U);
    co_await a.stop();
}

}  // namespace
}  // namespace weir::service::testing
