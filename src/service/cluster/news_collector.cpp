// SPDX-License-Identifier: MIT
// Of each task, the latest event counts.

#include "service/cluster/news_collector.hpp"

#include <utility>

namespace weir::service::detail {

void news_collector::add_event(const task_event& event, const news_interest& wanted) {
    const bool is_named = wanted.tasks.contains(event.id);
    if (!wanted.all && !is_named) {
        return;
    }
    const auto [place, is_new] = places_.try_emplace(event.id.number(), found_.events.size());
    if (!is_new) {
        found_.events[place->second] = event;
        return;
    }
    const bool has_room =
        is_named ? named_ < max_named_events : found_.events.size() - named_ < max_events;
    if (has_room) {
        found_.events.push_back(event);
        named_ += is_named ? 1 : 0;
    } else {
        places_.erase(place);
        ++found_.more;
    }
}

bool news_collector::add(std::span<const task_event> events, const news_interest& wanted) {
    for (const task_event& each : events) {
        add_event(each, wanted);
        const bool is_due = each.view == task_view::pending || each.view == task_view::retrying;
        if (each.view == task_view::cancelling) {
            if (found_.cancelling.size() < max_cancelling) {
                found_.cancelling.push_back(each.id);
            }
        } else if (is_final(state_of(each.view))) {
            if (wanted.ends && found_.ends.size() < max_ends) {
                found_.ends.emplace_back(each.id, state_of(each.view));
            } else if (wanted.ends) {
                ++found_.more;
            }
        } else if (wanted.workers && is_due && ready_.size() < max_ready && is_remote_(each.kind)) {
            ready_.emplace(each.kind, each.queue);
        }
    }
    return !is_empty();
}

bool news_collector::is_empty() const noexcept {
    return found_.events.empty() && found_.ends.empty() && found_.cancelling.empty() &&
           ready_.empty() && found_.more == 0 && !found_.has_changed_queues;
}

void news_collector::take(news_message& to) {
    to.events = std::exchange(found_.events, {});
    to.ends = std::exchange(found_.ends, {});
    to.cancelling = std::exchange(found_.cancelling, {});
    to.ready.assign(ready_.begin(), ready_.end());
    to.has_changed_queues = std::exchange(found_.has_changed_queues, false);
    to.more = std::exchange(found_.more, 0);
    ready_.clear();
    places_.clear();
    named_ = 0;
}

}  // namespace weir::service::detail
