// SPDX-License-Identifier: MIT
// The live feed: changes of the store, published to subscribers.
//
// Topics are 'all', 'queue:<name>', 'task:<id>', and two that are published each second: 'stats'
// and 'queues'. An idle topic publishes a change at once. A busy one collects: its next message
// comes an interval after the last, with the latest state of each task; beyond a limit it only has
// the number of further tasks. The more subscribers a topic has, the longer its interval, so that
// the traffic stays bounded and subscribers do not slow down submits.
//
// Changes of other processes on the same store come in as these tell them; where some may have been
// missed, the topics begin anew.
//
// Changes are collected only for topics that exist. A topic without subscribers lingers for a
// while, for clients that reconnect with their position; then it ends, and its positions become
// unknown.
#pragma once

#include "service/api/access_rights.hpp"
#include "service/api/json/json_writer.hpp"
#include "service/cluster/news_observer.hpp"

#include <weir/clock.hpp>
#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/loop.hpp>
#include <weir/service/store.hpp>
#include <weir/ws/hub.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

struct feed_options {
    clock::duration interval = std::chrono::milliseconds(100);  // between messages of a busy topic
    double max_deliveries = 1000;  // a second, of a topic, to all its members
    std::size_t tasks_per_message = 50;
    clock::duration linger = std::chrono::minutes(2);  // after the last member has left
    std::size_t max_topics = 10'000;
    ws::hub_options kept{.keep_messages = 200,
                         .keep_bytes = 256 << 10,
                         .keep_total_bytes = 16 << 20,
                         .keep_for = std::chrono::minutes(2)};
};

class feed final : public store_observer, public news_observer {
public:
    explicit feed(const feed_options& options = {});
    feed(const feed&) = delete;
    feed& operator=(const feed&) = delete;
    ~feed();

    // Called with each change, before it is published; must not throw.
    std::function<void()> on_change;
    // Called when a topic is opened; must not throw.
    std::function<void()> on_open;

    void changed(std::span<const task_event> events) noexcept override;
    void queue_changed(std::string_view queue) noexcept override;
    void changed_elsewhere(std::span<const task_event> events,
                           std::uint64_t more) noexcept override;
    void queues_changed_elsewhere() noexcept override { ++queues_changes_; }
    void missed_elsewhere() noexcept override;
    void add_interest(news_interest& to) override;

    // The canonical name of a topic, with ids in lower case. Throws http::problem (422) if the name
    // is not a topic.
    static std::string canonical_name(std::string_view name);

    // Subscribes to a topic: posts a greeting, then, if `since` is given, the messages after it.
    // With `only`, messages are about these queues alone. Throws http::problem: 422 if the name is
    // not a topic, 429 if too many topics are in use.
    template <ws::subscriber To>
    ws::membership join(To& to, std::string_view name, const std::optional<std::string>& since,
                        const queue_patterns* only = nullptr) {
        topic& found = find_or_open(name, only);
        if (!since) {
            ws::membership member = hub_.join(to, found.hub_name);
            ws::catch_up here;
            here.at = hub_.at(found.hub_name);
            to.post(ws::frame::text(greeting(found.name, here)));
            return member;
        }
        return hub_.join(to, found.hub_name, *since,
                         [&](const ws::catch_up& seen) { return greeting(found.name, seen); });
    }

    bool has_members(std::string_view name) const;
    // Publishes a message that is not about tasks: type, topic, seq, position, and the members that
    // `write` adds, for subscribers to all queues (null) and for those to some. Nothing happens if
    // the topic does not exist.
    void publish(std::string_view name, std::string_view type,
                 const std::function<void(json_writer&, const queue_patterns* only)>& write);
    // The number of changes of counts or queues so far, plus one: never 0.
    std::uint64_t queues_changes() const noexcept { return queues_changes_; }
    decision::latency_histogram& waits() noexcept { return waits_; }  // from due to started
    decision::latency_histogram& runs() noexcept { return runs_; }    // from started to ended
    ws::hub_stats stats() const { return hub_.stats(); }
    std::size_t topics() const noexcept { return topics_.size(); }

private:
    // Subscribers that may see some queues only: a set of queues in use. Topics of these have the
    // suffix in their key.
    struct limited_view {
        queue_patterns only;
        std::string suffix;
        std::size_t topics = 0;
    };
    struct topic {
        std::string name;
        std::string suffix{};            // of its limited_view; empty: all queues
        std::string hub_name;            // unique for each time the topic is opened
        std::vector<task_event> latest;  // per task, in the order of first changes
        std::unordered_map<std::int64_t, std::size_t> places;
        std::uint64_t more = 0;  // changes beyond tasks_per_message
        std::optional<clock::time_point> last_sent;
        clock::time_point last_member{};
        bool is_waiting = false;  // in waiting_
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    using topic_map =
        std::unordered_map<std::string, std::unique_ptr<topic>, hash, std::equal_to<>>;

    topic& find_or_open(std::string_view name, const queue_patterns* only);
    topic* find(std::string_view prefix, std::string_view name, std::string_view suffix = {});
    void collect_for_views(const task_event& event);
    void publish_to(const topic& target, std::string_view type,
                    const std::function<void(json_writer&)>& write);
    void collect_event(const task_event& event);
    void wait_to_send(topic& target);
    void record_latency(const task_event& event) noexcept;
    void collect(topic& to, const task_event& event);
    void send_due(std::size_t first);
    void send(topic& target);
    clock::duration interval_of(const topic& target) const;
    void remove_abandoned(clock::time_point now);
    void remove_idle(clock::time_point now, clock::duration linger);
    std::string greeting(std::string_view name, const ws::catch_up& found) const;

    feed_options options_;
    loop& loop_;
    ws::hub hub_;
    topic_map topics_;
    std::vector<limited_view> views_;
    topic* all_ = nullptr;
    std::size_t task_topics_ = 0;
    std::vector<topic*> waiting_;  // topics with something to send
    callback_handle alarm_;
    std::optional<clock::time_point> alarm_at_;
    clock::time_point next_sweep_{};
    clock::time_point next_room_{};
    std::uint64_t opened_ = 0;
    std::string key_;  // scratch
    std::uint64_t queues_changes_ = 1;
    decision::latency_histogram waits_;
    decision::latency_histogram runs_;
};

}  // namespace weir::service::detail
