// SPDX-License-Identifier: MIT
// Each operation is one function that runs on the database's writer thread, or on a reader thread:
// the database commits the writes that wait at the same time together. It may run a function again
// after a failed commit, so functions change nothing but the tables and return what they found. The
// store tells its observer of changes on the loop, once they are committed.

#include "service/store/follow_ups.hpp"
#include "service/store/sqlite/changes.hpp"
#include "service/store/sqlite/claim.hpp"
#include "service/store/sqlite/file/store_file.hpp"
#include "service/store/sqlite/key_list.hpp"
#include "service/store/sqlite/leases.hpp"
#include "service/store/sqlite/oldest_due.hpp"
#include "service/store/sqlite/purge.hpp"
#include "service/store/sqlite/queries.hpp"
#include "service/store/sqlite/remove_queue.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/schedules.hpp"
#include "service/store/sqlite/settle.hpp"
#include "service/store/sqlite/steps.hpp"
#include "service/store/sqlite/submit.hpp"
#include "service/store/sqlite/task_ends.hpp"
#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/service/sqlite_store.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::service {

namespace {

using namespace detail;

template <class T>
struct outcome {
    outcome() = default;
    T answer{};
    std::vector<task_event> events;
};

class sqlite_store final : public store {
public:
    sqlite_store(std::unique_ptr<sqlite_file> file, std::size_t max_queues)
        : file_(std::move(file)), max_queues_(max_queues) {}

    // ---- submitting

    task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) override {
        return change(now, [this, batch = std::move(batch), now](sqlite::session& session,
                                                                 event_list& events) {
            ledger books(session, now);
            submitter tasks(session, books, ids_, events, now, max_queues_);
            std::vector<submit_result> results;
            results.reserve(batch.size());
            for (const new_task& each : batch) {
                results.push_back(tasks.add(each));
            }
            books.close();
            return results;
        });
    }

    // ---- running

    task<claimed> claim(claim_request request) override {
        return change_unsynced(request.now, [request, node = std::string(request.node)](
                                                sqlite::session& session, event_list& events) {
            claim_request own = request;
            own.node = node;
            const std::optional<std::int64_t> number = node_number(session, node, own.now.steady);
            if (!number.has_value() || own.limit == 0) {
                return claimed();
            }
            return claim_operation(session, own, *number, events).run();
        });
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return read([node = std::string(node)](sqlite::session& session) {
            return read_runs(
                session.query("SELECT id, run FROM tasks WHERE line = (SELECT 8 * number + 2 FROM "
                              "nodes WHERE nodes.id = ?)",
                              node));
        });
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override {
        return change(now, [this, node = std::string(node), ended = std::move(ended), now](
                               sqlite::session& session, event_list& events) {
            std::vector<bool> written(ended.size(), false);
            if (const std::optional<std::int64_t> number = node_number(session, node)) {
                settlement_writer writer(session, node, *number, now, events, ids_, max_queues_);
                for (std::size_t i = 0; i < ended.size(); ++i) {
                    written[i] = writer.write(ended[i]);
                }
                writer.close();
            }
            return written;
        });
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return change_unsynced(now, [node = std::string(node), notes = std::move(notes)](
                                        sqlite::session& session, event_list& events) {
            const std::optional<std::int64_t> number = node_number(session, node);
            if (!number.has_value()) {
                return;
            }
            for (const progress_note& each : notes) {
                const sqlite::changed noted = session.execute(
                    "UPDATE tasks SET progress = ?, message = ? WHERE id = ? AND state = 1 AND run "
                    "= ? AND node = ?",
                    each.progress, null_if_empty(each.message), each.key.id.number(), each.key.run,
                    *number);
                if (noted.rows > 0) {
                    events.add(session, each.key.id.number());
                }
            }
        });
    }

    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override {
        return change({}, [node = std::string(node), key, step = std::move(step)](
                              sqlite::session& session, event_list&) {
            const std::optional<std::int64_t> number = node_number(session, node);
            return number ? detail::keep_step(session, *number, key, step) : step_answer();
        });
    }

    // ---- nodes

    task<heartbeat_answer> heartbeat(node_record node, moment now) override {
        return change_unsynced(
            now, [node = std::move(node), now](sqlite::session& session, event_list&) {
                return renew_lease(session, node, now.steady);
            });
    }
    task<std::vector<node_record>> nodes() override {
        return read([](sqlite::session& session) { return read_nodes(session); });
    }
    task<> retire(std::string_view node) override {
        return change({}, [node = std::string(node)](sqlite::session& session, event_list&) {
            session.execute(
                "UPDATE nodes SET expires_at = 0, is_gone = is_gone OR NOT EXISTS(SELECT 1 FROM "
                "tasks WHERE line = 8 * number + 2) WHERE id = ?",
                node);
        });
    }
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override {
        constexpr std::size_t batch_size = 500;
        rescue_result all;
        for (;;) {
            auto rescue_some = [this, now, max_crashes](sqlite::session& session,
                                                        event_list& events) {
                return rescue_tasks(session, now, max_crashes, batch_size, events, ids_,
                                    max_queues_);
            };
            const rescue_batch batch = co_await change(now, rescue_some);
            all.returned += batch.result.returned;
            all.failed += batch.result.failed;
            all.cancelled += batch.result.cancelled;
            all.failed_tasks.insert(all.failed_tasks.end(), batch.result.failed_tasks.begin(),
                                    batch.result.failed_tasks.end());
            if (batch.is_last) {
                co_return all;
            }
        }
    }

    // ---- requests of clients

    task<std::optional<task_detail>> find(task_id id) override {
        return read([id](sqlite::session& session) {
            static const std::string sql = "SELECT " + std::string(task_columns) +
                                           std::string(task_names) + " FROM tasks WHERE id = ?";
            std::optional<task_detail> result;
            const sqlite::rows found = session.query(sql, id.number());
            if (!found.empty()) {
                result.emplace();
                result->task = read_named_task(found[0]);
                read_steps(session, result->task);
                result->attempts = read_attempts(session, id.number());
                if (has_follow_ups(result->task)) {
                    result->callbacks = read_follow_ups(session, id.number());
                }
            }
            return result;
        });
    }
    task<task_page> list(task_filter filter, timestamp now) override {
        return read([filter = std::move(filter), now](sqlite::session& session) {
            return search_tasks(session, filter, now);
        });
    }
    task<std::vector<hold>> why(task_id id, moment now) override {
        return read([id, now](sqlite::session& session) { return find_holds(session, id, now); });
    }
    task<change_result> cancel(task_id id, moment now) override {
        return change(now, [this, id, now](sqlite::session& session, event_list& events) {
            return task_changes(session, now, events, ids_, max_queues_).cancel(id);
        });
    }
    task<change_result> retry(task_id id, moment now) override {
        return change(now, [this, id, now](sqlite::session& session, event_list& events) {
            return task_changes(session, now, events, ids_, max_queues_).retry(id);
        });
    }
    task<std::size_t> redrive(task_filter filter, moment now) override {
        constexpr std::size_t batch_size = 500;
        filter.state = task_state::failed;
        std::size_t all = 0;
        const std::size_t limit = filter.limit;
        failed_tasks found;
        found.searched_to.emplace();
        while (all < limit && found.searched_to.has_value()) {
            filter.limit = std::min(batch_size, limit - all);
            auto search = [&](sqlite::session& session) {
                return search_failed(session, filter, *found.searched_to, now.at);
            };
            found = co_await read(search);
            auto restart = [&](sqlite::session& session, event_list& events) {
                return task_changes(session, now, events, ids_, max_queues_)
                    .restart_failed(found.ids);
            };
            if (!found.ids.empty()) {
                all += co_await change(now, restart);
            }
        }
        co_return all;
    }

    task<change_result> remove_task(task_id id, moment now) override {
        return change(now, [id, now](sqlite::session& session, event_list&) {
            task_remover tasks(session, now);
            const change_result result = tasks.remove_ended(id.number());
            tasks.close();
            return result;
        });
    }
    task<std::vector<change_result>> change_tasks(bulk_change wanted, moment now) override {
        return change(now, [this, wanted = std::move(wanted), now](sqlite::session& session,
                                                                   event_list& events) {
            return task_changes(session, now, events, ids_, max_queues_).change_all(wanted);
        });
    }
    task<change_result> edit(task_id id, task_edit edit, moment now) override {
        return change(now, [this, id, edit = std::move(edit), now](sqlite::session& session,
                                                                   event_list& events) {
            return task_changes(session, now, events, ids_, max_queues_).edit(id, edit);
        });
    }

    // ---- queues

    task<std::vector<queue_record>> queues() override {
        return read([](sqlite::session& session) {
            static const std::string sql =
                "SELECT " + std::string(queue_columns) + " FROM queues ORDER BY name";
            const sqlite::rows found = session.query(sql);
            std::vector<queue_record> queues;
            for (const sqlite::row each : found) {
                queues.push_back(read_queue(each));
            }
            return queues;
        });
    }
    task<std::vector<due_queue>> oldest_due(moment now) override {
        return read([now](sqlite::session& session) { return find_oldest_due(session, now); });
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        return change_queue(std::string(queue),
                            [is_paused](sqlite::session& session, std::string_view name) {
                                session.execute(
                                    "INSERT INTO queues(name, is_paused) VALUES (?1, ?2) ON "
                                    "CONFLICT(name) DO UPDATE SET is_paused = ?2",
                                    name, is_paused);
                            });
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        return change_queue(
            std::string(queue), [limits](sqlite::session& session, std::string_view name) {
                session.execute(
                    "INSERT INTO queues(name, max_pending, max_running, rate, burst, "
                    "key_max_running, key_rate, key_burst) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                    "ON CONFLICT(name) DO UPDATE SET max_pending = ?2, max_running = ?3, rate = "
                    "?4, burst = ?5, key_max_running = ?6, key_rate = ?7, key_burst = ?8",
                    name, limits.max_pending, limits.max_running, limits.rate, limits.burst,
                    limits.key_max_running, limits.key_rate, limits.key_burst);
                // Flows that their rate still holds back become ready, too: the next claim checks.
                session.execute(
                    "UPDATE flows SET place = CASE WHEN due = 0 AND ready_branches = 0 THEN 0 WHEN "
                    "is_paused THEN 4 WHEN coalesce(own_max_running, ?2) > 0 AND running >= "
                    "coalesce(own_max_running, ?2) THEN 2 ELSE 1 END WHERE queue = (SELECT id FROM "
                    "queues WHERE name = ?1) AND place != 0",
                    name, limits.key_max_running);
            });
    }

    task<key_settings> change_key(std::string_view queue, std::string_view key, key_change change,
                                  moment now) override {
        const std::string queue_name(queue);
        const std::string key_name(key);
        auto write = [&](sqlite::session& session, event_list&) {
            return detail::change_key(session, queue_name, key_name, change, now, max_queues_);
        };
        const key_settings changed = co_await this->change(now, write);
        if (observer_ != nullptr) {
            observer_->queue_changed(queue_name);
        }
        co_return changed;
    }
    task<std::vector<key_record>> keys(std::string_view queue, key_query query) override {
        return read([queue = std::string(queue), query = std::move(query)](
                        sqlite::session& session) { return list_keys(session, queue, query); });
    }

    task<queue_removal> remove_queue(std::string_view queue, bool with_pending) override {
        const std::string name(queue);
        queue_remover remover(name, with_pending);
        auto begin = [&](sqlite::session& session) { return remover.begin(session); };
        bool has_more = co_await read(begin);
        while (has_more) {
            auto find = [&](sqlite::session& session) { return remover.find(session); };
            const std::vector<std::int64_t> ids = co_await read(find);
            auto remove = [&](sqlite::session& session, event_list&) {
                return remover.remove(session, ids);
            };
            if (!ids.empty()) {
                remover.count(co_await change({}, remove));
            }
            has_more = !remover.is_at_end();
        }
        auto finish = [&](sqlite::session& session, event_list&) {
            return remover.finish(session);
        };
        const queue_removal result = co_await change({}, finish);
        if (observer_ != nullptr && result.what == queue_removal::verdict::removed) {
            observer_->queue_changed(name);
        }
        co_return result;
    }

    // ---- destinations

    task<> limit_destinations(std::string_view kind, destination_limits limits) override {
        return change({}, [kind = std::string(kind), limits](sqlite::session& session,
                                                             event_list&) {
            const sqlite::changed written = session.execute(
                "INSERT INTO destination_kinds(kind_name, max_running, rate, burst, open_after, "
                "open_for) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(kind_name) DO UPDATE SET "
                "max_running = ?2, rate = ?3, burst = ?4, open_after = ?5, open_for = ?6 WHERE "
                "(max_running, rate, burst, open_after, open_for) != (?2, ?3, ?4, ?5, ?6)",
                kind, limits.max_running, limits.rate, limits.burst, limits.open_after,
                limits.open_for.count());
            if (written.rows > 0) {
                // All that hold tasks back become ready: the next claim checks each.
                session.execute(
                    "UPDATE destinations SET place = 1 WHERE place != 0 AND kind = (SELECT id FROM "
                    "destination_kinds WHERE kind_name = ?)",
                    kind);
            }
        });
    }
    task<std::vector<destination_record>> destinations(std::size_t limit, timestamp now) override {
        return read([limit, now](sqlite::session& session) {
            return list_destinations(session, limit, now);
        });
    }

    task<std::vector<endpoint_record>> disabled_endpoints() override {
        return read([](sqlite::session& session) { return list_disabled_endpoints(session); });
    }
    task<bool> enable_endpoint(std::string_view kind, std::string_view name) override {
        return change({}, [kind = std::string(kind), name = std::string(name)](
                              sqlite::session& session, event_list&) {
            return session
                       .execute("DELETE FROM disabled_endpoints WHERE kind = ? AND name = ?", kind,
                                name)
                       .rows > 0;
        });
    }

    // ---- schedules

    task<> put_schedule(schedule plan, timestamp next_slot) override {
        return change({},
                      [plan = std::move(plan), next_slot](sqlite::session& session, event_list&) {
                          detail::put_schedule(session, plan, next_slot);
                      });
    }
    task<bool> remove_schedule(std::string_view name) override {
        return change({}, [name = std::string(name)](sqlite::session& session, event_list&) {
            return session.execute("DELETE FROM schedules WHERE name = ?", name).rows > 0;
        });
    }
    task<std::vector<schedule_record>> schedules() override {
        return read([](sqlite::session& session) { return read_schedules(session); });
    }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override {
        return change(now, [this, name = std::string(name), slot, next_slot, task = std::move(task),
                            now](sqlite::session& session, event_list& events) {
            return schedule_writer(session, now, events, ids_, max_queues_)
                .fire(name, slot, next_slot, task);
        });
    }
    task<std::optional<submit_result>> run_schedule(std::string_view name, new_task task,
                                                    moment now) override {
        return change(now, [this, name = std::string(name), task = std::move(task), now](
                               sqlite::session& session, event_list& events) {
            return schedule_writer(session, now, events, ids_, max_queues_).run(name, task);
        });
    }
    task<bool> pause_schedule(std::string_view name, bool is_paused, timestamp next_slot) override {
        return change({}, [name = std::string(name), is_paused, next_slot](sqlite::session& session,
                                                                           event_list&) {
            return detail::pause_schedule(session, name, is_paused, next_slot);
        });
    }

    // ---- maintenance

    task<std::size_t> purge(retention kept, moment now) override {
        return change_unsynced(now, [kept, now](sqlite::session& session, event_list&) {
            return purge_batch(session, kept, now);
        });
    }
    task<> probe(moment now) override {
        co_await try_claim(now);
        auto count = [](sqlite::session& session, event_list&) {
            session.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
        };
        co_await change({}, count);
    }
    task<> close() override { return file_->close(); }
    void observe(store_observer* observer) noexcept override { observer_ = observer; }

private:
    // Claims a task, for no node, and takes that back.
    task<> try_claim(moment now) {
        struct taken_back {};
        auto claim_and_fail = [now](sqlite::session& session, event_list&) {
            claim_request request;
            request.now = now;
            event_list unused(false, now.at);
            constexpr std::int64_t no_node = 0;
            static_cast<void>(claim_operation(session, request, no_node, unused).run());
            throw taken_back();
        };
        try {
            co_await change_unsynced(now, claim_and_fail);
        } catch (const taken_back&) {
        }
    }

    // Runs work(session&, event_list&) as a transaction.
    template <class Work>
    auto change(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        return commit<true>(now, std::move(work));
    }
    // A power failure may undo these changes: the rescue after the next start would do so anyway.
    template <class Work>
    auto change_unsynced(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        return commit<false>(now, std::move(work));
    }
    template <bool IsSynced, class Work>
    auto commit(moment now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        using answer_type = std::invoke_result_t<Work&, sqlite::session&, event_list&>;
        constexpr bool has_answer = !std::is_void_v<answer_type>;
        const bool is_observed = observer_ != nullptr;
        auto run = [&](sqlite::session& session) {
            event_list events(is_observed, now.at);
            outcome<std::conditional_t<has_answer, answer_type, bool>> result;
            if constexpr (has_answer) {
                result.answer = work(session, events);
            } else {
                work(session, events);
            }
            result.events = events.take();
            return result;
        };
        std::optional<std::invoke_result_t<decltype(run)&, sqlite::session&>> done;
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> database = file_->database();
        try {
            if constexpr (IsSynced) {
                done.emplace(co_await database->write(run));
            } else {
                done.emplace(co_await database->write_unsynced(run));
            }
        } catch (const sqlite::error& error) {
            file_->failed(error);
        }
        if (observer_ != nullptr && !done->events.empty()) {
            observer_->changed(done->events);
        }
        if constexpr (has_answer) {
            co_return std::move(done->answer);
        }
    }

    // Runs work(session&, name) on a queue that exists or that max_queues allows.
    template <class Work>
    task<> change_queue(std::string name, Work work) {
        auto check_and_work = [&](sqlite::session& session, event_list&) {
            if (session.query("SELECT 1 FROM queues WHERE name = ?", name).empty() &&
                !has_room_for_queue(session, name, max_queues_)) {
                throw_too_many_queues(name, max_queues_);
            }
            work(session, name);
        };
        co_await change({}, check_and_work);
        if (observer_ != nullptr) {
            observer_->queue_changed(name);
        }
    }

    template <class Work>
    auto read(Work work) -> task<std::invoke_result_t<Work&, sqlite::session&>> {
        std::optional<std::invoke_result_t<Work&, sqlite::session&>> answer;
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> database = file_->database();
        try {
            auto run = [&](sqlite::session& session) { return work(session); };
            answer.emplace(co_await database->read(run));
        } catch (const sqlite::error& error) {
            file_->failed(error);
        }
        co_return std::move(*answer);
    }

    std::unique_ptr<sqlite_file> file_;
    const std::size_t max_queues_;
    id_source ids_;  // used by the writer thread
    store_observer* observer_ = nullptr;
};

}  // namespace

task<std::unique_ptr<store>> open_sqlite_store(std::string path, sqlite_store_options options) {
    if (options.max_queues == 0) {
        throw invalid_argument("open_sqlite_store: max_queues is 0; it must be 1 or more");
    }
    if (options.cache_megabytes == 0 || options.cache_megabytes > 100'000) {
        throw invalid_argument("open_sqlite_store: cache_megabytes is " +
                               std::to_string(options.cache_megabytes) +
                               "; it must be 1 to 100000");
    }
    std::unique_ptr<sqlite_file> file = co_await sqlite_file::open(std::move(path), options);
    std::unique_ptr<store> opened =
        std::make_unique<sqlite_store>(std::move(file), options.max_queues);
    co_return opened;
}

}  // namespace weir::service
