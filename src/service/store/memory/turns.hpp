// SPDX-License-Identifier: MIT
// What a memory_store holds, and the rules of stores as plain functions: each is one transaction.
#pragma once

#include <weir/service/memory_store.hpp>

#include <compare>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir::service {

class memory_store::tables {
public:
    explicit tables(std::size_t max_queues) : max_queues_(max_queues) {}

    std::vector<submit_result> submit(const std::vector<new_task>& fresh, timestamp now);
    claimed claim(std::string_view node, timestamp now, std::size_t limit);
    std::vector<run_key> running_on(const std::string& node) const;
    std::vector<bool> settle(const std::string& node, const std::vector<settlement>& ended,
                             timestamp now);
    void note_progress(const std::string& node, const std::vector<progress_note>& notes,
                       timestamp now);
    heartbeat_answer heartbeat(const node_record& node, timestamp now);
    std::vector<node_record> nodes() const;
    void retire(const std::string& node);
    rescue_result rescue(timestamp now, std::uint32_t max_crashes);
    std::optional<task_detail> find(task_id id) const;
    std::vector<task_record> list(const task_filter& filter, timestamp now) const;
    std::vector<hold> why(task_id id, timestamp now);
    change_result cancel(task_id id, timestamp now);
    change_result retry(task_id id, timestamp now);
    std::size_t redrive(task_filter filter, timestamp now);
    std::vector<queue_record> queues() const;
    void pause(const std::string& name, bool is_paused);
    void limit(const std::string& name, const queue_limits& limits);
    void put_schedule(const schedule& asked, timestamp next_slot);
    bool remove_schedule(const std::string& name);
    std::vector<schedule_record> schedules() const;
    std::optional<submit_result> fire(const std::string& name, timestamp slot, timestamp next_slot,
                                      const std::optional<new_task>& fresh, timestamp now);
    std::size_t purge(const retention& kept, timestamp now);

    // What the last transaction changed, for the observer.
    std::vector<task_event> take_events() { return std::exchange(events_, {}); }
    std::vector<std::string> take_changed_queues() { return std::exchange(changed_queues_, {}); }

private:
    // A rate as GCRA keeps it: the time at which the next one would be in step.
    using exact_time = std::chrono::sys_time<std::chrono::nanoseconds>;

    // The order of turns within a key: the higher priority, then the older.
    struct turn {
        std::int32_t priority = 0;
        task_id id;
        friend std::strong_ordering operator<=>(const turn& a, const turn& b) noexcept {
            const auto by_priority = b.priority <=> a.priority;
            return by_priority != 0 ? by_priority : a.id <=> b.id;
        }
        friend bool operator==(const turn&, const turn&) = default;
    };
    struct entry {
        task_record record;
        std::vector<attempt_record> attempts;
        bool is_due = false;  // which of the sets below has it, if it is pending
    };
    struct flow {
        std::set<turn> due;
        std::uint32_t running = 0;
        std::uint64_t last_turn = 0;
        std::uint64_t number = 0;  // the older first, if their last turn was the same
        exact_time in_step{};
    };
    struct queue {
        queue_record record;
        std::map<std::string, flow> flows;
        std::set<std::pair<timestamp, task_id>> later;  // pending, not yet due
        std::uint64_t last_turn = 0;
        exact_time in_step{};
        std::uint64_t flows_made = 0;
        timestamp used_at{};
    };

    queue& queue_of(const std::string& name);
    static flow& flow_of(queue& in, const std::string& key);
    bool has_room_for(const std::string& queue) const;
    void check_room_for(const std::string& queue) const;
    void purge_unused(const retention& kept, timestamp now);
    // Every change of a record happens between these two, so that sets and counts always agree.
    void take_out(entry& from);
    void put_in(entry& to, timestamp now);
    void end(entry& ended, task_state how, timestamp now);
    void record_attempt(entry& of, attempt_end how, const std::string& error, timestamp now) const;
    void tell(const entry& changed, timestamp now, std::string_view message = {});
    void wake(timestamp now);  // what has fallen due

    submit_result submit_one(const new_task& fresh, timestamp now);
    bool settle_one(const std::string& node, const settlement& ended, timestamp now);
    entry* running(const std::string& node, const run_key& key);
    void start(queue& in, flow& of, const std::string& node, timestamp now, claimed& to);
    std::pair<queue*, flow*> whose_turn(timestamp now);
    std::optional<timestamp> next_claim(timestamp now);
    void run_again(entry& again, timestamp now);

    static exact_time ready_at(exact_time in_step, double rate, std::uint32_t burst) noexcept;
    static void step(exact_time& in_step, double rate, timestamp now) noexcept;
    static bool is_full(std::uint64_t running, std::uint32_t limit) noexcept {
        return limit != 0 && running >= limit;
    }
    static timestamp rate_allows(const queue& in) noexcept;
    static timestamp rate_allows(const queue& in, const flow& of) noexcept;
    static std::uint64_t running_in(const queue& in) noexcept {
        return in.record.count(task_state::running);
    }

    std::map<task_id, entry> tasks_;
    std::map<std::string, task_id> keys_;  // idempotency
    std::map<std::string, queue> queues_;
    std::map<std::string, node_record> nodes_;
    std::map<std::string, timestamp> gone_;  // nodes, since they were found to be
    std::map<std::string, schedule_record> schedules_;
    const std::size_t max_queues_;
    task_id last_id_;
    std::uint64_t turns_ = 0;
    std::vector<task_event> events_;
    std::vector<std::string> changed_queues_;
};

}  // namespace weir::service
