// SPDX-License-Identifier: MIT
// What people ask about tasks, and do to them.

#include "service/store/memory/turns.hpp"

#include <algorithm>

namespace weir::service {

namespace {

constexpr std::size_t purged_at_once = 1000;
constexpr std::chrono::seconds nodes_are_kept = std::chrono::hours(24);

bool matches(const task_filter& filter, const task_record& task, timestamp now) {
    const auto fits = [](const std::string& asked, const std::string& is) {
        return asked.empty() || asked == is;
    };
    return (!filter.state || task.state == *filter.state) &&
           (!filter.view || view_of(task, now) == *filter.view) && fits(filter.queue, task.queue) &&
           fits(filter.kind, task.kind) && fits(filter.flow_key, task.flow_key) &&
           (filter.tag.empty() || std::ranges::find(task.tags, filter.tag) != task.tags.end()) &&
           (!filter.created_from || task.created_at >= *filter.created_from) &&
           (!filter.created_to || task.created_at < *filter.created_to) &&
           (!filter.before || task.id < filter.before);
}

hold make_hold(hold::reason why, std::optional<timestamp> until = std::nullopt,
               std::string detail = {}) {
    hold made;
    made.why = why;
    made.until = until;
    made.detail = std::move(detail);
    return made;
}

}  // namespace

std::optional<task_detail> memory_store::tables::find(task_id id) const {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) {
        return std::nullopt;
    }
    task_detail detail;
    detail.task = found->second.record;
    detail.attempts = found->second.attempts;
    return detail;
}

std::vector<task_record> memory_store::tables::list(const task_filter& filter,
                                                    timestamp now) const {
    std::vector<task_record> found;
    for (auto each = tasks_.rbegin(); each != tasks_.rend() && found.size() < filter.limit;
         ++each) {
        if (matches(filter, each->second.record, now)) {
            task_record& added = found.emplace_back(each->second.record);
            if (filter.is_brief) {
                added.payload = "null";
                added.result.clear();
            }
        }
    }
    return found;
}

std::vector<hold> memory_store::tables::why(task_id id, timestamp now) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) {
        return {};
    }
    const task_record& record = found->second.record;
    if (is_final(record.state)) {
        return {make_hold(hold::reason::finished)};
    }
    if (record.state == task_state::running) {
        return {make_hold(hold::reason::running)};
    }
    std::vector<hold> holds;
    const queue& in = queue_of(record.queue);
    const flow& of = in.flows.at(record.flow_key);
    if (record.due_at > now && !record.held_by.empty()) {
        holds.push_back(make_hold(hold::reason::postponed, record.due_at, record.held_by));
    } else if (record.due_at > now) {
        holds.push_back(make_hold(hold::reason::not_due, record.due_at));
    }
    if (in.record.is_paused) {
        holds.push_back(make_hold(hold::reason::paused));
    }
    if (is_full(running_in(in), in.record.limits.max_running)) {
        holds.push_back(make_hold(hold::reason::queue_full));
    }
    if (rate_allows(in) > now) {
        holds.push_back(make_hold(hold::reason::queue_rate, rate_allows(in)));
    }
    if (is_full(of.running, in.record.limits.key_max_running)) {
        holds.push_back(make_hold(hold::reason::key_full));
    }
    if (rate_allows(in, of) > now) {
        holds.push_back(make_hold(hold::reason::key_rate, rate_allows(in, of)));
    }
    if (holds.empty()) {
        holds.push_back(make_hold(hold::reason::its_turn));
    }
    return holds;
}

change_result memory_store::tables::cancel(task_id id, timestamp now) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) {
        return change_result::not_found;
    }
    entry& asked = found->second;
    if (is_final(asked.record.state) || asked.record.is_cancelling) {
        return change_result::no_change;
    }
    if (asked.record.state == task_state::running) {
        asked.record.is_cancelling = true;
        tell(asked, now);
        return change_result::requested;
    }
    take_out(asked);
    end(asked, task_state::cancelled, now);
    put_in(asked, now);
    tell(asked, now);
    return change_result::done;
}

void memory_store::tables::run_again(entry& again, timestamp now) {
    take_out(again);
    task_record& record = again.record;
    if (record.state != task_state::pending) {
        record.failures = 0;
        record.crashes = 0;
        record.finished_at.reset();
        record.progress = 0;
        record.message.clear();
    }
    record.held_by.clear();
    record.due_at = now;
    record.state = task_state::pending;
    put_in(again, now);
    tell(again, now);
}

change_result memory_store::tables::retry(task_id id, timestamp now) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) {
        return change_result::not_found;
    }
    const task_record& record = found->second.record;
    const bool can = record.state == task_state::failed || record.state == task_state::cancelled ||
                     (record.state == task_state::pending && record.due_at > now);
    if (!can) {
        return change_result::no_change;
    }
    run_again(found->second, now);
    return change_result::done;
}

std::size_t memory_store::tables::redrive(task_filter filter, timestamp now) {
    if (filter.state.value_or(task_state::failed) != task_state::failed) {
        return 0;
    }
    filter.state = task_state::failed;
    const std::size_t limit = std::exchange(filter.limit, tasks_.size());
    std::vector<task_record> found = list(filter, now);
    std::ranges::sort(found, {},
                      [](const task_record& each) { return std::pair(each.finished_at, each.id); });
    found.resize(std::min(found.size(), limit));
    for (const task_record& each : found) {
        run_again(tasks_.at(each.id), now);
    }
    return found.size();
}

std::size_t memory_store::tables::purge(const retention& kept, timestamp now) {
    std::size_t removed = 0;
    for (auto each = tasks_.begin(); each != tasks_.end() && removed < purged_at_once;) {
        const task_record& record = each->second.record;
        const std::chrono::seconds keep = record.state == task_state::completed ? kept.completed
                                          : record.state == task_state::failed  ? kept.failed
                                                                                : kept.cancelled;
        if (!is_final(record.state) || now - keep < record.finished_at.value_or(now)) {
            ++each;
            continue;
        }
        take_out(each->second);
        queue_of(record.queue).used_at = now;
        keys_.erase(record.idempotency_key);
        each = tasks_.erase(each);
        ++removed;
    }
    purge_unused(kept, now);
    return removed;
}

void memory_store::tables::purge_unused(const retention& kept, timestamp now) {
    std::set<std::pair<std::string, std::string>> used;
    std::set<std::string> busy;
    for (const auto& [id, each] : tasks_) {
        used.emplace(each.record.queue, each.record.flow_key);
        if (each.record.state == task_state::running) {
            busy.insert(each.record.node);
        }
    }
    for (auto& [name, in] : queues_) {
        std::erase_if(in.flows, [&](const auto& of) {
            return of.second.in_step <= now && !used.contains({name, of.first});
        });
    }
    std::erase_if(queues_, [&](const auto& each) {
        const queue& in = each.second;
        return in.flows.empty() && in.used_at <= now - kept.queues && !in.record.is_paused &&
               in.record.limits == queue_limits() && in.record.counts == queue_record().counts;
    });
    const std::chrono::seconds age =
        std::max({nodes_are_kept, kept.completed, kept.failed, kept.cancelled});
    std::erase_if(nodes_, [&](const auto& each) {
        const bool is_gone =
            each.second.expires_at == timestamp::min() && !busy.contains(each.first);
        return is_gone && gone_.try_emplace(each.first, now).first->second <= now - age;
    });
    std::erase_if(gone_, [&](const auto& each) { return !nodes_.contains(each.first); });
}

}  // namespace weir::service
