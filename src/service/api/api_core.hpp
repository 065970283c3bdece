// SPDX-License-Identifier: MIT
// What the handlers of the API share. They are its members, by subject: tasks, queues, schedules,
// health, events.
#pragma once

#include "service/api/feed.hpp"
#include "service/api/json_forms.hpp"
#include "service/api/stats_history.hpp"

#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/loop.hpp>
#include <weir/service/api.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/task.hpp>
#include <weir/ws/connection.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class api_core {
public:
    api_core(service& of, const api_options& options);
    api_core(const api_core&) = delete;
    api_core& operator=(const api_core&) = delete;
    ~api_core();

    using answer = task<http::response>;

    // api_tasks.cpp
    answer submit(http::request& asked);
    answer submit_batch(http::request& asked);
    answer find_task(http::request& asked);
    answer list_tasks(http::request& asked);
    answer cancel_task(http::request& asked);
    answer retry_task(http::request& asked);
    answer why_not(http::request& asked);

    // api_queues.cpp
    answer list_queues(http::request& asked);
    answer find_queue(http::request& asked);
    answer limit_queue(http::request& asked);
    answer pause_queue(http::request& asked);
    answer resume_queue(http::request& asked);
    answer redrive_queue(http::request& asked);
    answer list_schedules(http::request& asked);
    answer find_schedule(http::request& asked);
    answer put_schedule(http::request& asked);
    answer remove_schedule(http::request& asked);

    // api_health.cpp
    answer list_kinds(http::request& asked);
    answer show_stats(http::request& asked);
    answer show_metrics(http::request& asked);
    answer is_alive(http::request& asked);
    answer is_ready(http::request& asked);
    answer describe(http::request& asked);

    // api_numbers.cpp
    answer show_history(http::request& asked);

    // api_events.cpp
    answer attend(http::request& asked);

private:
    struct wish {
        std::string topic;
        std::optional<std::string> since;
    };
    using memberships = std::map<std::string, ws::membership, std::less<>>;

    task<std::string> read_body(http::request& asked);
    answer change_pause(http::request& asked, bool is_paused);
    task<std::optional<queue_record>> queue_named(std::string name);
    task<std::optional<schedule_record>> schedule_named(std::string name);
    void check_kind(const std::vector<std::string>& kinds, const new_task& asked) const;
    void write_stats(json_writer& to);
    http::response metrics_page(std::span<const queue_record> queues);

    task<> serve_events(ws::connection& peer, std::vector<wish> wishes);
    task<> listen(ws::connection& peer, memberships& joined);
    void obey(ws::connection& peer, memberships& joined, std::string_view said);
    // Each is answered, also what cannot be.
    void subscribe(ws::connection& peer, memberships& joined, const wish& to);
    void unsubscribe(ws::connection& peer, memberships& joined, std::string_view name);
    task<> publish_queues_each_second();
    task<> publish_queues();

    void start_numbers();
    void count_later();
    void count_second();
    void publish_numbers(const stats_sample& made);

    service& tasks_;
    api_options options_;  // texts and lists in it are not used after the constructor
    feed feed_;
    mutex changing_limits_;
    std::shared_ptr<const std::string> description_;

    std::optional<clock::time_point> probed_at_;
    std::string probe_failure_;
    std::optional<clock::time_point> last_publish_;
    std::uint64_t queues_published_ = 0;  // how many changes the topic 'queues' has told

    loop& loop_;
    stats_history history_;
    callback_handle counting_;
    bool is_counting_ = false;
    clock::time_point counted_at_{};
    service_stats last_stats_{};
    std::uint64_t changes_counted_ = 0;
    int quiet_seconds_ = 0;
};

}  // namespace weir::service::detail
