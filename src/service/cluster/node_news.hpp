// SPDX-License-Identifier: MIT
// node_news: tells the other processes on the store what happens here, and hears what they tell.
//
// - A process that has tasks to run and no free worker asks one that has free workers to look.
// - Cancels of running tasks, and tasks for workers, are told, so that nobody waits for the next
//   heartbeat or look.
// - Where pages, watchers or requests wait for changes, the others tell theirs.
//
// All of it is a hint: a store without a channel, or a lost message, costs time until the next look
// and nothing else; observers are told that they may have missed changes. A process sends at most
// 20 batches of messages a second, whatever happens, and waits for none of them.
#pragma once

#include "service/cluster/news_collector.hpp"
#include "service/cluster/news_observer.hpp"
#include "service/cluster/other_nodes.hpp"

#include <weir/base/random.hpp>
#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/service/node_channel.hpp>
#include <weir/service/store.hpp>
#include <weir/sync/event.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The engine of this process.
class news_engine {
public:
    virtual std::string_view node() const = 0;
    virtual std::size_t free_workers() const = 0;
    virtual news_counters counters() const = 0;
    virtual bool is_remote(std::string_view kind) const = 0;
    virtual bool has_polls() const = 0;  // of workers

    // Another process asks for a claim.
    virtual void work_waits() noexcept = 0;
    // A running task, perhaps of this process, was cancelled.
    virtual void cancelling(task_id id) noexcept = 0;
    virtual void ready_for_workers(const std::string& kind, const std::string& queue) noexcept = 0;

protected:
    ~news_engine() = default;
};

class node_news final : public store_observer, private node_channel::receiver {
public:
    node_news(store& source, news_engine& engine, clock::duration heartbeat);
    node_news(const node_news&) = delete;
    node_news& operator=(const node_news&) = delete;

    // Whether other processes may share the store.
    bool is_shared() const noexcept { return source_.channel() != nullptr; }
    // Until it is stopped; without a channel, it returns at once.
    task<> run();
    // Tells the others that this process ends. To be called after run().
    task<> leave();

    // Changes of this process.
    void changed(std::span<const task_event> events) noexcept override;
    void queue_changed(std::string_view queue) noexcept override;

    // ---- for the claimer

    // There may be tasks to claim, and no worker is free.
    void no_worker_is_free() noexcept;
    // After a claim: whether it has found less than it had workers for.
    void claimed(bool is_idle) noexcept;
    // The time until the next look for tasks of others: never the same for all nodes.
    clock::duration vary(clock::duration poll) noexcept;

    // ---- for the API

    void add_observer(news_observer* observer) { observers_.push_back(observer); }
    void remove_observer(news_observer* observer) { std::erase(observers_, observer); }
    // What an observer wants may have changed.
    void interest_changed() noexcept;
    const other_nodes& others() const noexcept { return others_; }
    void write_metrics(metric_writer& to) const;

private:
    void listening_begins() noexcept override;
    void heard(std::string_view text) noexcept override;
    void handle(const news_message& message);

    task<> tell();
    task<> send_state(bool leaves);
    void tell_soon() noexcept;
    void tell_missed() noexcept;
    news_interest interest() const;
    clock::duration state_interval() const noexcept;

    store& source_;
    news_engine& engine_;
    const clock::duration heartbeat_;
    std::vector<news_observer*> observers_;
    other_nodes others_;
    news_collector collected_;
    weir::detail::random_source random_;
    decision::gcra allowed_;
    event wake_;
    std::string self_;          // of this run; empty: it does not run
    std::uint64_t number_ = 0;  // of the next message
    bool is_listening_ = false;
    bool asks_ = false;
    bool is_urgent_ = false;
    bool is_idle_ = true;
    std::size_t told_free_ = 0;
    std::string work_for_;
    news_interest told_interest_;
    std::uint64_t sent_ = 0;    // batches
    std::uint64_t missed_ = 0;  // times that messages of others may have been lost
    clock::time_point told_at_{};
};

}  // namespace weir::service::detail
