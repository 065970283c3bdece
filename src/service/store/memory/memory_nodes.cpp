// SPDX-License-Identifier: MIT
// Nodes and their leases, queues and schedules.

#include "service/store/memory/turns.hpp"

namespace weir::service {

// ---- nodes
// ---------------------------------------------------------------------------------------------

// A node that is gone stays known, so that it cannot come back under the same name: its tasks are
// lost to it.
heartbeat_answer memory_store::tables::heartbeat(const node_record& node, timestamp now) {
    heartbeat_answer answer;
    const auto [found, is_new] = nodes_.try_emplace(node.id, node);
    const node_record& known = found->second;
    const bool is_same =
        known.host == node.host && known.pid == node.pid && known.started_at == node.started_at;
    answer.is_alive = is_new || (is_same && known.expires_at > now);
    if (!answer.is_alive) {
        return answer;
    }
    found->second.expires_at = node.expires_at;
    for (const auto& [id, each] : tasks_) {
        const task_record& record = each.record;
        if (record.state == task_state::running && record.is_cancelling && record.node == node.id) {
            answer.cancelling.push_back({id, record.run});
        }
    }
    return answer;
}

std::vector<run_key> memory_store::tables::running_on(const std::string& node) const {
    std::vector<run_key> found;
    for (const auto& [id, each] : tasks_) {
        if (each.record.state == task_state::running && each.record.node == node) {
            found.push_back({id, each.record.run});
        }
    }
    return found;
}

std::vector<node_record> memory_store::tables::nodes() const {
    std::vector<node_record> all;
    for (const auto& [id, each] : nodes_) {
        if (each.expires_at != timestamp::min()) {
            all.push_back(each);
        }
    }
    return all;
}

void memory_store::tables::retire(const std::string& node) {
    const auto found = nodes_.find(node);
    if (found != nodes_.end()) {
        found->second.expires_at = timestamp::min();
    }
}

rescue_result memory_store::tables::rescue(timestamp now, std::uint32_t max_crashes) {
    rescue_result result;
    for (auto& [id, each] : tasks_) {
        task_record& record = each.record;
        if (record.state != task_state::running) {
            continue;
        }
        const auto node = nodes_.find(record.node);
        if (node != nodes_.end() && node->second.expires_at > now) {
            continue;
        }
        const std::string error = "the process that ran it is gone";
        record_attempt(each, attempt_end::crashed, error, now);
        take_out(each);
        ++record.crashes;
        if (record.is_cancelling) {
            end(each, task_state::cancelled, now);
            ++result.cancelled;
        } else if (record.crashes >= max_crashes) {
            record.error = error + ", for the " + std::to_string(record.crashes) + ". time";
            end(each, task_state::failed, now);
            ++result.failed;
        } else {
            record.due_at = now;
            end(each, task_state::pending, now);
            ++result.returned;
        }
        put_in(each, now);
        tell(each, now, error);
    }
    for (auto& [id, node] : nodes_) {
        if (node.expires_at <= now) {
            node.expires_at = timestamp::min();
        }
    }
    return result;
}

// ---- queues and schedules
// ------------------------------------------------------------------------------

std::vector<queue_record> memory_store::tables::queues() const {
    std::vector<queue_record> all;
    all.reserve(queues_.size());
    for (const auto& [name, each] : queues_) {
        all.push_back(each.record);
    }
    return all;
}

void memory_store::tables::pause(const std::string& name, bool is_paused) {
    check_room_for(name);
    queue_of(name).record.is_paused = is_paused;
    changed_queues_.push_back(name);
}

void memory_store::tables::limit(const std::string& name, const queue_limits& limits) {
    check_room_for(name);
    queue_of(name).record.limits = limits;
    changed_queues_.push_back(name);
}

void memory_store::tables::put_schedule(const schedule& asked, timestamp next_slot) {
    const auto [found, is_new] = schedules_.try_emplace(asked.name);
    schedule_record& record = found->second;
    if (is_new || record.is_paused || record.cron != asked.cron || record.zone != asked.zone) {
        record.next_slot = next_slot;
    }
    static_cast<schedule&>(record) = asked;
}

bool memory_store::tables::remove_schedule(const std::string& name) {
    return schedules_.erase(name) != 0;
}

std::vector<schedule_record> memory_store::tables::schedules() const {
    std::vector<schedule_record> all;
    for (const auto& [name, each] : schedules_) {
        all.push_back(each);
    }
    return all;
}

std::optional<submit_result> memory_store::tables::fire(const std::string& name, timestamp slot,
                                                        timestamp next_slot,
                                                        const std::optional<new_task>& fresh,
                                                        timestamp now) {
    const auto found = schedules_.find(name);
    if (found == schedules_.end() || found->second.is_paused || found->second.next_slot != slot) {
        return std::nullopt;
    }
    submit_result result;
    if (fresh.has_value()) {
        result = submit_one(*fresh, now);
        if (result.what == submit_result::verdict::queue_full ||
            result.what == submit_result::verdict::too_many_queues) {
            return result;  // both or none
        }
        found->second.last_slot = fresh->run_at.value_or(slot);
        found->second.last_task = result.id;
    }
    found->second.next_slot = next_slot;
    return result;
}

}  // namespace weir::service
