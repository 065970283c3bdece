// SPDX-License-Identifier: MIT
// task_ends: what the ends of tasks cause, within the transaction that ends them: callbacks are
// created, dependents released or cancelled, and groups end. Every operation that ends, restarts or
// removes a task calls it.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/submit.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The columns of `tasks` that read_end_facts() expects.
inline constexpr std::string_view end_columns =
    "callbacks IS NOT NULL, has_children IS NOT NULL, iif(is_detached IS NULL, in_group, NULL)";
inline constexpr std::size_t end_column_count = 3;

// What belongs to a task that ends.
struct end_facts {
    bool has_callbacks = false;
    bool has_children = false;
    std::int64_t group = 0;  // that counts it; 0: none

    bool is_any() const noexcept { return has_callbacks || has_children || group != 0; }
};
end_facts read_end_facts(const sqlite::row& row, std::size_t first_column);

// Work that may take more than one transaction. Its steps are in the order of the ids of tasks.
struct ripple {
    enum class kind : unsigned char {
        ended,      // a task: its dependents are released or cancelled
        removed,    // a task: the same, and dependents that were held
        subtree,    // a task: the tasks that depend on it are cancelled, and those on them
        cancelled,  // a group: its members are cancelled
        checked,    // a group: it may have ended
    };  // a later kind goes first: what a cancel reaches must not run because of an end
    kind what{};
    std::int64_t id = 0;
    dependency_outcome outcome{};  // of the task
    std::int64_t after = 0;        // the last task that was told
};

class task_ends {
public:
    // `books` are those of the operation, which closes them, after these.
    task_ends(sql_session& session, ledger& books, id_source& ids, event_list& events, moment now,
              std::size_t max_queues)
        : session_(session),
          books_(books),
          events_(events),
          now_(now),
          tasks_(session, books, ids, events, now, max_queues) {}

    // A task whose row says that it has ended, and how.
    void add(std::int64_t task, task_state state, const end_facts& facts);
    // A failed or cancelled task that becomes pending again. False: it must not, since a task that
    // it depends on has not completed, or its group is being cancelled. `waits` is the number of
    // its unmet dependencies.
    bool restarts(std::int64_t task, task_state state, std::uint32_t& waits);
    // A task of this state that is removed.
    void removes(std::int64_t task, task_state state, const end_facts& facts);
    // Members that were added to a group.
    void joins(std::int64_t group, std::uint64_t members);
    void seals(std::int64_t group);
    // Continues with this, as far as the transaction has room for it.
    void start(const ripple& work) { work_.push_back(work); }
    // Cancels a pending task.
    void cancel(std::int64_t task, std::string_view error);

    // Does the work; what is too much is left in the tables. The last call, before the books are
    // closed.
    void close();
    // The same without a time: leaves all of it in the tables.
    void postpone();

private:
    struct child_row;
    struct group_change {
        std::int64_t total = 0;
        std::int64_t open = 0;
        std::int64_t failed = 0;
        std::int64_t cancelled = 0;
    };

    void add_follow_ups(std::int64_t task);
    void step(ripple work);
    void tell_children(ripple work);
    void cancel_children(ripple work);
    void cancel_members(ripple work);
    void decide(const child_row& child, std::int64_t parent, failure_policy policy,
                dependency_outcome outcome);
    void release(const child_row& child);
    void cancel(const child_row& child, std::string_view error);
    // Running ones are asked to stop; ended ones stay.
    void cancel_open(const child_row& child);
    // Repeats the work after this task, or ends it.
    void continue_after(ripple work, const std::vector<child_row>& told, std::size_t limit);
    void write_groups();
    void end_if_done(std::int64_t id);
    void create_callback(const group_row& ended);
    void count(std::int64_t group, task_state state, int change);

    sql_session& session_;
    ledger& books_;
    event_list& events_;
    moment now_;
    submitter tasks_;
    std::deque<ripple> work_;
    std::map<std::int64_t, group_change> groups_;
    std::size_t budget_ = 1000;  // dependents and members that this transaction tells
};

// Continues what former transactions have left. True: there is more.
std::unique_ptr<sql_answer> ask_ripples(sql_session& session);
bool continue_ripples(sql_session& session, const sqlite::rows& left, moment now,
                      event_list& events, id_source& ids, std::size_t max_queues);
bool continue_ripples(sql_session& session, moment now, event_list& events, id_source& ids,
                      std::size_t max_queues);
bool has_ripples(sql_session& session);

// The latest 20, the oldest first.
std::vector<task_id> read_follow_ups(sql_session& session, std::int64_t task);

}  // namespace weir::service::detail
