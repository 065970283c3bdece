// SPDX-License-Identifier: MIT
// store_calls: runs the operations of the store. Each is one function that runs on a thread of the
// database, which commits writes that wait at the same time together. It may run a function again
// after a failed commit, so functions change nothing but the tables and return what they found. The
// observer is told of changes on the loop, once they are committed.
#pragma once

#include "service/store/sql_backend.hpp"
#include "service/store/sqlite/rows/event_list.hpp"

#include <weir/service/store.hpp>
#include <weir/task.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::service::detail {

class store_calls {
public:
    explicit store_calls(std::unique_ptr<sql_backend> backend) noexcept
        : backend_(std::move(backend)) {}
    store_calls(const store_calls&) = delete;
    store_calls& operator=(const store_calls&) = delete;

    // Runs work(session&, event_list&) as a transaction.
    template <class Work>
    auto change(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sql_session&, event_list&>> {
        return commit<sql_commit::synced>(now, std::move(work));
    }
    // A power failure may undo these changes: the rescue after the next start would do so anyway.
    template <class Work>
    auto change_unsynced(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sql_session&, event_list&>> {
        return commit<sql_commit::unsynced>(now, std::move(work));
    }
    // See sql_commit::own_rows.
    template <class Work>
    auto change_own_rows(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sql_session&, event_list&>> {
        return commit<sql_commit::own_rows>(now, std::move(work));
    }
    template <class Work>
    auto read(Work work) -> task<std::invoke_result_t<Work&, sql_session&>> {
        std::optional<std::invoke_result_t<Work&, sql_session&>> answer;
        const sql_work run = [&](sql_session& session) { answer.emplace(work(session)); };
        co_await backend_->read(run);
        co_return std::move(*answer);
    }

    // The same, from a standby if the answer may be one of so long ago, and there is one: its `lag`
    // is set then.
    template <class Work>
    auto read_lagging(Work work) -> task<std::invoke_result_t<Work&, sql_session&>> {
        std::optional<std::invoke_result_t<Work&, sql_session&>> answer;
        const sql_work run = [&](sql_session& session) { answer.emplace(work(session)); };
        const auto lag = co_await backend_->read_lagging(run);
        answer->lag = lag;
        co_return std::move(*answer);
    }

    sql_backend& backend() noexcept { return *backend_; }
    bool is_observed() const noexcept { return observer_ != nullptr; }
    void tell_changed(const std::vector<task_event>& changes) {
        if (observer_ != nullptr && !changes.empty()) {
            observer_->changed(changes);
        }
    }
    void observe(store_observer* observer) noexcept { observer_ = observer; }
    void tell_queue_changed(std::string_view queue) {
        if (observer_ != nullptr) {
            observer_->queue_changed(queue);
        }
    }

private:
    template <sql_commit Kind, class Work>
    auto commit(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sql_session&, event_list&>> {
        using answer_type = std::invoke_result_t<Work&, sql_session&, event_list&>;
        constexpr bool has_answer = !std::is_void_v<answer_type>;
        std::optional<std::conditional_t<has_answer, answer_type, bool>> answer;
        std::vector<task_event> changes;
        const bool is_observed_then = is_observed();
        const sql_work run = [&](sql_session& session) {
            event_list events(is_observed_then, now.at);
            if constexpr (has_answer) {
                answer.emplace(work(session, events));
            } else {
                work(session, events);
            }
            changes = events.take();
        };
        co_await backend_->write(run, Kind);
        tell_changed(changes);
        if constexpr (has_answer) {
            co_return std::move(*answer);
        }
    }

    std::unique_ptr<sql_backend> backend_;
    store_observer* observer_ = nullptr;
};

}  // namespace weir::service::detail
