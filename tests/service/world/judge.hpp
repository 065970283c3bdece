// SPDX-License-Identifier: MIT
// The judge of a world. It hears each change of the store, each start and end of a handler, and
// each answer that a client gets, and knows what must hold between them:
//
// - Each acknowledged task exists, and ends once the faults have stopped.
// - A task is completed once, by a run whose handler has succeeded. No run starts twice.
// - The running tasks of a queue and of a key stay within the limits: those that the store counts,
//   and those that really run, except handlers that ignore their stop.
// - A run that the store has ended has ended: while a handler runs that obeys its stop, its task
//   belongs to it.
// - A cancelled task does not run again, unless a client retries it.
// - An idempotency key makes one task. A slot of a schedule makes at most one.
// - The counts of the store are those of its tasks.
#pragma once

#include "plan.hpp"

#include <weir/service/store.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::testing {

class judge final : public store_observer {
public:
    // Kinds end with their flow key: 'work.a'. The empty key: 'work.'.
    static std::string key_of(std::string_view kind) {
        return std::string(kind.substr(std::min(kind.rfind('.'), kind.size() - 1) + 1));
    }

    // With `is_one_calendar`, the moments of all calls come from one calendar, and in order.
    judge(std::chrono::seconds kept, bool is_one_calendar) noexcept
        : kept_(kept), is_one_calendar_(is_one_calendar) {}

    bool is_failed() const noexcept { return !violation_.empty(); }
    void fail(std::string what);
    void note(std::string line);
    void add_to(verdict& result) const;

    // ---- the store
    void changed(std::span<const task_event> events) noexcept override;
    void queue_changed(std::string_view) noexcept override {}
    // While several may hold: the widest.
    void set_limits(const std::string& queue, queue_limits limits);
    // All tasks and queues. Empty: all is well. They are read one after the other, so only what
    // is wrong several times is wrong.
    std::string check_all(const std::vector<task_record>& tasks,
                          const std::vector<queue_record>& queues);
    // Empty: all have ended.
    std::optional<task_id> unended() const noexcept;

    // ---- clients
    void submitted(const new_task& task, const submit_result& answer);
    void cancel_answered(task_id id, change_result answer);
    void retry_sent(task_id id) { tasks_[id].is_retried = true; }
    task_id any_task(dice& random) const;

    // ---- runs
    void begin(std::size_t process, const task_record& task, bool obeys);
    void succeeded(run_key key) { run_of(key).has_succeeded = true; }
    void end(run_key key);
    void settled(run_key key, task_state state, bool is_written);
    void died(std::size_t process);
    void step_returned(task_id id, const std::string& result);
    std::size_t really_running() const noexcept { return active_.size(); }

private:
    struct run_info {
        bool is_started = false;  // its handler
        bool has_succeeded = false;
    };
    struct entry {
        std::string kind;
        std::string queue;
        std::string key;
        task_view view = task_view::pending;
        std::uint32_t run = 0;
        bool is_known = false;                // the store has told of it
        bool is_retried = false;              // a client has sent a retry
        std::optional<timestamp> started_at;  // first
        timestamp not_before{};               // as its client asked
        timestamp expires_at = timestamp::max();
        std::uint64_t limits_seen = 0;  // the change of limits before its last claim
        std::string step;               // the result that counts
        std::map<std::uint32_t, run_info> runs;
    };
    struct active_run {
        std::size_t process = 0;
        bool obeys = true;
    };
    struct known_limits {
        queue_limits limits;
        std::uint64_t changes = 0;
    };
    using place = std::pair<std::string, std::string>;  // queue and key

    static bool is_running(task_view view) noexcept {
        return view == task_view::running || view == task_view::cancelling;
    }
    static bool is_pending(task_view view) noexcept {
        return state_of(view) == task_state::pending;
    }
    static bool is_ended(task_view view) noexcept { return is_final(state_of(view)); }
    void hear(const task_event& event);
    void started(entry& task, const task_event& event);
    void check_times(task_id id, const entry& task);
    void ended(entry& task, const task_event& event);
    void check_limits(const entry& task, const std::map<place, std::size_t>& running,
                      const std::string& which);
    void count(std::map<place, std::size_t>& running, const entry& task, int change);
    // Made by a submit that was acknowledged.
    void check_made(const new_task& task, task_id id);
    run_info& run_of(run_key key) { return tasks_[key.id].runs[key.run]; }
    void mix(std::uint64_t value) noexcept {
        fingerprint_ = (fingerprint_ ^ value) * 0x100000001b3u;
    }

    const std::chrono::seconds kept_;
    const bool is_one_calendar_;
    std::map<task_id, entry> tasks_;
    std::map<std::string, known_limits> limits_;
    std::map<place, std::size_t> counted_;  // what the store believes; with key "*": the queue
    std::map<place, std::size_t> real_;
    std::map<std::pair<task_id, std::uint32_t>, active_run> active_;
    std::map<std::string, task_id> idempotency_keys_;
    std::map<std::string, task_id> holders_;  // of unique keys
    std::set<std::pair<std::string, timestamp>> slots_;
    std::deque<std::string> notes_;
    std::string violation_;
    std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
    std::uint64_t started_ = 0;
    std::uint64_t made_ = 0;
};

}  // namespace weir::service::testing
