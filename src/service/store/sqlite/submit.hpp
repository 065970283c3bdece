// SPDX-License-Identifier: MIT
// submitter: inserts new tasks within one transaction; id_source: the ids that they get.
#pragma once

#include "service/store/sql_backend.hpp"
#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/service/store.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::service::detail {

// Ids larger than all ids before, of this process or another.
class id_source {
public:
    // If the backend is shared, other processes create ids at the same time. Then ids of one
    // millisecond begin at random, so that no two processes create the same, even if one has not
    // seen the last tasks of another, or if those were lost.
    explicit id_source(const sql_backend& backend) noexcept : backend_(&backend) {}
    id_source() = default;  // makes ids for one process

    // previous: the id before in the same transaction; without one, the largest id is read from the
    // tables.
    task_id next(sql_session& session, timestamp now, task_id previous);

private:
    // Ids are not used again, even if the newest tasks are purged.
    std::atomic<std::int64_t> last_{0};
    const sql_backend* backend_ = nullptr;
    bool has_read_ = false;  // the largest id
};

// The tasks that have idempotency keys, as far as one transaction asks for them.
class keyed_tasks {
public:
    struct task {
        std::int64_t id = 0;
        std::string kind;
        std::string queue;
        std::string payload;
    };
    explicit keyed_tasks(sql_session& session) noexcept : session_(session) {}
    void read_ahead(std::span<const std::string_view> keys);
    const task* find(const std::string& key);
    void add(const new_task& made, std::int64_t id);

private:
    sql_session& session_;
    std::unordered_map<std::string, std::optional<task>> known_;  // empty: no task has the key
};

class submitter {
public:
    // keyed: may be null.
    submitter(sql_session& session, ledger& books, id_source& ids, event_list& events, moment now,
              std::size_t max_queues, keyed_tasks* keyed = nullptr)
        : session_(session),
          books_(books),
          ids_(ids),
          events_(events),
          now_(now),
          max_queues_(max_queues),
          keyed_(keyed) {}
    // With its dependencies and group, which have been looked up.
    struct placement {
        std::optional<std::uint32_t> waits;  // empty: it has no dependencies
        std::optional<std::int64_t> payload_from;
        std::optional<std::int64_t> group;
    };
    submit_result add(const new_task& task) { return add(task, {}); }
    submit_result add(const new_task& task, const placement& in);
    // Without a look at keys and max_pending. If max_queues forbids its queue, `instead` gets it,
    // or if that is null the default queue.
    task_id add_follow_up(const new_task& task, queue_row* instead);

private:
    task_id insert(const new_task& task, queue_row& queue, const placement& in);
    std::optional<submit_result> find_duplicate(const new_task& task);

    sql_session& session_;
    ledger& books_;
    id_source& ids_;
    event_list& events_;
    moment now_;
    std::size_t max_queues_;
    keyed_tasks* keyed_;
    task_id last_{};
};

// A call of store::submit(). Calls that wait at the same time read and write the rows of queues and
// flows once.
class submit_call final : public sql_joint_work {
public:
    submit_call(std::vector<new_task> batch, moment now, bool is_observed, id_source& ids,
                std::size_t max_queues)
        : batch_(std::move(batch)),
          now_(now),
          is_observed_(is_observed),
          ids_(ids),
          max_queues_(max_queues) {}
    void run(sql_session& session, std::span<sql_joint_work* const> all) override;
    const std::vector<task_event>& events() const noexcept { return events_; }
    std::vector<submit_result> take_results() noexcept { return std::move(results_); }

private:
    std::vector<new_task> batch_;
    moment now_;
    bool is_observed_;
    id_source& ids_;
    std::size_t max_queues_;
    std::vector<submit_result> results_;
    std::vector<task_event> events_;
};

}  // namespace weir::service::detail
