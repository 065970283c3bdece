// SPDX-License-Identifier: MIT
// Skips through the index of the lines (see file/schema.cpp), so that no other index has to be kept
// up to date for this. A line of due tasks is in the order of priority and age: of each priority,
// the search reads the first tasks. It reads several, since the first may be an old task that was
// retried and has become due only now. Lines of tasks that wait for a time are in the order of that
// time: their first task counts if its time has come and no claim has moved it yet. Other lines are
// skipped at once.

#include "service/store/sqlite/oldest_due.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>

namespace weir::service::detail {

namespace {

constexpr std::size_t max_due_places = 2000;  // lines and priorities within them
constexpr std::size_t tasks_per_place = 16;

class due_search {
public:
    due_search(sql_session& session, moment now) noexcept : session_(session), now_(now) {}

    void run() {
        constexpr std::int64_t last_rank = std::numeric_limits<std::int64_t>::max();
        line_position at{std::numeric_limits<std::int64_t>::min(), 0};
        for (std::size_t i = 0; i < max_due_places; ++i) {
            const sqlite::rows next = session_.query(
                "SELECT line, rank FROM tasks INDEXED BY tasks_line WHERE (line, rank) > (?, ?) "
                "ORDER BY line, rank LIMIT 1",
                at.line, at.rank);
            if (next.empty()) {
                return;
            }
            at = {next[0].get<std::int64_t>(0), next[0].get<std::int64_t>(1)};
            const std::int64_t number = at.line / 8;
            if (at.line == due_line(number) || at.line == branch_line(number)) {
                read_due(at);
                continue;
            }
            if (at.line == later_line(number) && time_of(at.rank) <= now_.at) {
                consider(number, time_of(at.rank));
            } else if (at.line == backoff_line(number) && time_of(at.rank) <= now_.steady) {
                consider(number, now_.calendar_of(time_of(at.rank)));
            }
            at.rank = last_rank;
        }
    }

    std::vector<due_queue> take() const {
        std::vector<due_queue> all;
        for (const auto& [queue, since] : oldest_) {
            const sqlite::rows found =
                session_.query("SELECT name FROM queues WHERE id = ?", queue);
            if (!found.empty()) {
                due_queue& added = all.emplace_back();
                added.name = found[0].get<std::string>(0);
                added.since = since;
            }
        }
        return all;
    }

private:
    void read_due(line_position at) {
        const sqlite::rows first = session_.query(
            "SELECT queue, max(due_at, created_at) FROM tasks INDEXED BY tasks_line WHERE line = ? "
            "AND rank = ? ORDER BY id LIMIT ?",
            at.line, at.rank, tasks_per_place);
        for (const sqlite::row each : first) {
            consider(each.get<std::int64_t>(0), time_of(each.get<std::int64_t>(1)));
        }
    }
    void consider(std::int64_t queue, timestamp since) {
        const auto [found, is_new] = oldest_.try_emplace(queue, since);
        found->second = std::min(found->second, since);
    }

    sql_session& session_;
    moment now_;
    std::unordered_map<std::int64_t, timestamp> oldest_;
};

}  // namespace

std::vector<due_queue> find_oldest_due(sql_session& session, moment now) {
    due_search search(session, now);
    search.run();
    return search.take();
}

}  // namespace weir::service::detail
