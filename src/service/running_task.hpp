// SPDX-License-Identifier: MIT
// A task that a service runs now: what was claimed, who has asked for its end, and what it has said about itself.
#pragma once

#include <weir/scope.hpp>
#include <weir/service/job.hpp>
#include <weir/service/store.hpp>
#include <weir/sync/event.hpp>

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

    // The first cause counts. What the handler makes of it is its business: it has ended when it has.
    void stop(stop_cause why) {
        if (cause == stop_cause::none) {
            cause = why;
            if (scope != nullptr) {
                scope->cancel();
            }
        }
    }
    void progressed(double to, std::string_view with) override {
        progress = to;
        message = with;
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
    cancel_scope* scope = nullptr;  // while the handler runs
    stop_cause cause = stop_cause::none;
    bool has_news = false;
    double progress = 0;
    std::string message;
    std::size_t place = 0;  // among those that run
};

}  // namespace weir::service::detail
