// SPDX-License-Identifier: MIT
// Whose turn it is. Turns are taken by the smallest number of the last one, of queues first and
// then of the keys within the queue; each task begun asks anew, so that the limits are looked at
// one by one.

#include "service/store/memory/turns.hpp"

#include <algorithm>
#include <cmath>

namespace weir::service {

namespace {

timestamp rounded_up(std::chrono::sys_time<std::chrono::nanoseconds> exact) noexcept {
    return std::chrono::ceil<std::chrono::microseconds>(exact);
}

}  // namespace

memory_store::tables::exact_time memory_store::tables::ready_at(exact_time in_step, double rate,
                                                                std::uint32_t burst) noexcept {
    if (rate <= 0) {
        return exact_time::min();
    }
    return in_step - std::chrono::nanoseconds(std::llround((burst - 1) * 1e9 / rate));
}

void memory_store::tables::step(exact_time& in_step, double rate, timestamp now) noexcept {
    if (rate > 0) {
        in_step =
            std::max<exact_time>(in_step, now) + std::chrono::nanoseconds(std::llround(1e9 / rate));
    }
}

timestamp memory_store::tables::rate_allows(const queue& in) noexcept {
    return rounded_up(ready_at(in.in_step, in.record.limits.rate, in.record.limits.burst));
}

timestamp memory_store::tables::rate_allows(const queue& in, const flow& of) noexcept {
    return rounded_up(ready_at(of.in_step, in.record.limits.key_rate, in.record.limits.key_burst));
}

std::pair<memory_store::tables::queue*, memory_store::tables::flow*>
memory_store::tables::whose_turn(timestamp now) {
    std::pair<queue*, flow*> found{nullptr, nullptr};
    for (auto& [name, in] : queues_) {
        const queue_limits& limits = in.record.limits;
        if (in.record.is_paused || is_full(running_in(in), limits.max_running) ||
            rate_allows(in) > now ||
            (found.first != nullptr && found.first->last_turn <= in.last_turn)) {
            continue;
        }
        flow* first = nullptr;
        for (auto& [key, of] : in.flows) {
            if (!of.due.empty() && !is_full(of.running, limits.key_max_running) &&
                rate_allows(in, of) <= now &&
                (first == nullptr ||
                 std::pair(of.last_turn, of.number) < std::pair(first->last_turn, first->number))) {
                first = &of;
            }
        }
        if (first != nullptr) {
            found = {&in, first};
        }
    }
    return found;
}

void memory_store::tables::start(queue& in, flow& of, const std::string& node, timestamp now,
                                 claimed& to) {
    entry& next = tasks_.at(of.due.begin()->id);
    take_out(next);
    task_record& record = next.record;
    record.state = task_state::running;
    ++record.run;
    record.node = node;
    record.started_at = now;
    record.progress = 0;
    record.message.clear();
    record.held_by.clear();
    put_in(next, now);
    in.last_turn = of.last_turn = ++turns_;
    step(in.in_step, in.record.limits.rate, now);
    step(of.in_step, in.record.limits.key_rate, now);
    tell(next, now);
    to.tasks.push_back(record);
}

claimed memory_store::tables::claim(std::string_view node, timestamp now, std::size_t limit) {
    claimed given;
    const std::string name(node);
    const auto who = nodes_.find(name);
    if (who == nodes_.end() || who->second.expires_at <= now) {
        return given;  // nothing may run that nobody keeps a lease for
    }
    wake(now);
    while (given.tasks.size() < limit) {
        const auto [in, of] = whose_turn(now);
        if (in == nullptr) {
            break;
        }
        start(*in, *of, name, now, given);
    }
    given.next_at = next_claim(now);
    return given;
}

std::optional<timestamp> memory_store::tables::next_claim(timestamp now) {
    std::optional<timestamp> next;
    const auto consider = [&](timestamp at) {
        next = std::min(next.value_or(timestamp::max()), std::max(at, now));
    };
    for (auto& [name, in] : queues_) {
        const queue_limits& limits = in.record.limits;
        if (in.record.is_paused || is_full(running_in(in), limits.max_running)) {
            continue;
        }
        for (const auto& [key, of] : in.flows) {
            if (!of.due.empty() && !is_full(of.running, limits.key_max_running)) {
                consider(std::max(rate_allows(in), rate_allows(in, of)));
            }
        }
        for (const auto& [due_at, id] : in.later) {
            const flow& of = flow_of(in, tasks_.at(id).record.flow_key);
            if (!is_full(of.running, limits.key_max_running)) {
                consider(std::max({due_at, rate_allows(in), rate_allows(in, of)}));
            }
        }
    }
    return next;
}

}  // namespace weir::service
