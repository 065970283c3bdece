// SPDX-License-Identifier: MIT
// A cancel is not taken from the message: the store says what is cancelled, so the message is only
// a reason to ask it now, by a heartbeat.

#include "service/engine/engine_news.hpp"

#include <span>

namespace weir::service::detail {

void engine_news::cancelling(task_id id) noexcept {
    claims_.note_cancelled(id);
    if (runs_.is_running(id)) {
        leases_.beat_now();
    }
    if (workers_.is_used()) {
        task_event event;
        event.id = id;
        event.view = task_view::cancelling;
        workers_.changed(std::span(&event, 1));
    }
}

void engine_news::ready_for_workers(const std::string& kind, const std::string& queue) noexcept {
    if (!workers_.is_used()) {
        return;
    }
    task_event event;
    event.kind = kind;
    event.queue = queue;
    event.view = task_view::pending;
    event.due_at = time_.now();
    workers_.changed(std::span(&event, 1));
}

}  // namespace weir::service::detail
