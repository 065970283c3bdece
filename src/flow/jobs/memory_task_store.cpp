// SPDX-License-Identifier: MIT
// Records in the order of submission, and an index by id.

#include <weir/flow/task_store.hpp>

namespace weir {

std::string_view to_string(task_state state) noexcept {
    switch (state) {
        case task_state::pending:
            return "pending";
        case task_state::running:
            return "running";
        case task_state::completed:
            return "completed";
        case task_state::failed:
            return "failed";
        case task_state::cancelled:
            return "cancelled";
    }
    return "unknown";
}

task<void> task_store::save_progress(const managed_task&) {
    co_return;
}

managed_task* memory_task_store::find(std::string_view id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second->second;
}

task<bool> memory_task_store::insert(const managed_task& fresh) {
    if (by_id_.contains(fresh.id)) {
        co_return false;
    }
    const auto place = records_.emplace(++last_, fresh).first;
    by_id_.emplace(fresh.id, place);
    co_return true;
}

task<bool> memory_task_store::transition(const managed_task& next, task_state expected) {
    managed_task* const stored = find(next.id);
    if (stored == nullptr || stored->token != next.token || stored->state != expected ||
        stored->revision + 1 != next.revision) {
        co_return false;
    }
    *stored = next;
    co_return true;
}

task<void> memory_task_store::save_progress(const managed_task& running) {
    managed_task* const stored = find(running.id);
    if (stored != nullptr && stored->token == running.token &&
        stored->revision == running.revision) {
        stored->progress = running.progress;
        stored->message = running.message;
    }
    co_return;
}

task<std::optional<managed_task>> memory_task_store::get(std::string_view id) {
    const managed_task* const stored = find(id);
    co_return stored == nullptr ? std::nullopt : std::optional<managed_task>(*stored);
}

task<std::vector<managed_task>> memory_task_store::list(const task_query& query) {
    auto from = records_.begin();
    if (!query.after.empty()) {
        const auto last_seen = by_id_.find(query.after);
        if (last_seen != by_id_.end()) {
            from = std::next(last_seen->second);
        }
    }
    std::vector<managed_task> found;
    for (; from != records_.end() && found.size() < query.limit; ++from) {
        const managed_task& each = from->second;
        if ((!query.state.has_value() || each.state == *query.state) &&
            (query.name.empty() || each.name == query.name)) {
            found.push_back(each);
        }
    }
    co_return found;
}

task<bool> memory_task_store::remove(const managed_task& finished) {
    const auto found = by_id_.find(finished.id);
    if (found == by_id_.end()) {
        co_return true;
    }
    const managed_task& stored = found->second->second;
    if (stored.token != finished.token || stored.revision != finished.revision) {
        co_return false;
    }
    const auto gone = records_.extract(found->second);  // its value is destroyed last
    by_id_.erase(found);
    co_return true;
}

}  // namespace weir
