// SPDX-License-Identifier: MIT
// A task that a service runs now: what was claimed, who has asked for its end, and what it has said
// about itself.
#pragma once

#include "service/store/kept_text.hpp"

#include <weir/scope.hpp>
#include <weir/service/job.hpp>
#include <weir/service/store.hpp>
#include <weir/sync/event.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace weir::service::detail {

struct lease;
class running_task;

// Those whose progress is to be written.
struct progress_feed {
    std::vector<running_task*> news;
    event has_news;
};

enum class stop_cause : unsigned char {
    none,
    cancelled,   // somebody asked for it
    given_back,  // the service ends
    lease_lost,  // others may run it now
};

class running_task final : public progress_listener {
public:
    run_key key() const noexcept { return {record.id, record.run}; }

    // The first cause counts, and a timeout is one, which only a cancel outdoes. What the handler
    // makes of it is its business: it has ended when it has.
    void stop(stop_cause why) {
        const bool is_over = scope != nullptr && scope->expired();
        if (cause == stop_cause::none && (why == stop_cause::cancelled || !is_over)) {
            cause = why;
            told_at = std::min(told_at, weir::now());
            if (scope != nullptr) {
                scope->cancel();
            }
        }
    }
    void progressed(double to, std::string_view with) override {
        progress = to;
        message = with.substr(0, longest_message + 1);  // that it is too long must be seen
        if (!has_news) {
            feed->news.push_back(this);
            has_news = true;
            feed->has_news.set();
        }
    }

    task_record record;
    const handler* run = nullptr;
    lease* by = nullptr;
    progress_feed* feed = nullptr;
    clock::time_point deadline{};
    weir::detail::fiber* fiber = nullptr;  // that runs it
    cancel_scope* scope = nullptr;         // while the handler runs
    stop_cause cause = stop_cause::none;
    clock::time_point told_at{};  // to end, at the latest: its deadline
    bool is_complained_of = false;
    bool has_news = false;
    double progress = 0;
    std::string message;
    std::size_t place = 0;  // among those that run
};

}  // namespace weir::service::detail
