// SPDX-License-Identifier: MIT
// Each operation is one function on the tables, which store_calls runs.

#include "service/store/follow_ups.hpp"
#include "service/store/sqlite/changes.hpp"
#include "service/store/sqlite/claim.hpp"
#include "service/store/sqlite/expiry.hpp"
#include "service/store/sqlite/key_list.hpp"
#include "service/store/sqlite/leases.hpp"
#include "service/store/sqlite/oldest_due.hpp"
#include "service/store/sqlite/purge.hpp"
#include "service/store/sqlite/queries.hpp"
#include "service/store/sqlite/queue_settings.hpp"
#include "service/store/sqlite/remove_queue.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/schedules.hpp"
#include "service/store/sqlite/sessions.hpp"
#include "service/store/sqlite/settle.hpp"
#include "service/store/sqlite/sql_store.hpp"
#include "service/store/sqlite/steps.hpp"
#include "service/store/sqlite/store_calls.hpp"
#include "service/store/sqlite/submit.hpp"
#include "service/store/sqlite/task_ends.hpp"
#include "service/store/sqlite/worker_claim.hpp"
#include "service/store/sqlite/workflow/sqlite_workflows.hpp"
#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/service/store.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::service {

namespace {

using namespace detail;

class sql_store final : public store, private store_calls {
public:
    sql_store(std::unique_ptr<sql_backend> backend, std::size_t max_queues)
        : store_calls(std::move(backend)), max_queues_(max_queues), ids_(store_calls::backend()) {}

    // ---- submitting

    task<std::vector<submit_result>> submit(std::vector<new_task> batch, moment now) override {
        submit_call call(std::move(batch), now, is_observed(), ids_, max_queues_);
        co_await backend().write_jointly(call);
        tell_changed(call.events());
        co_return call.take_results();
    }

    // ---- running

    task<claimed> claim(claim_request request) override {
        return change_unsynced(request.now, [this, request, node = std::string(request.node)](
                                                sql_session& session, event_list& events) {
            claim_request own = request;
            own.node = node;
            claimed result;
            result.history = session.history();
            if (own.limit == 0 || (own.history != 0 && own.history != result.history)) {
                return result;
            }
            const std::unique_ptr<sql_answer> node_asked = ask_node(session, node);
            const std::unique_ptr<sql_answer> ripples_asked = ask_ripples(session);
            claim_operation claim(session, own, events);
            claim.look();
            const auto number = node_number(node_asked->take(), own.now.steady);
            if (!number.has_value()) {
                return result;
            }
            const sqlite::rows ripples = ripples_asked->take();
            bool has_more = false;
            if (!ripples.empty()) {
                has_more = continue_ripples(session, ripples, own.now, events, ids_, max_queues_);
                claim.look();
            }
            const std::int64_t history = result.history;
            result = claim.run(*number);
            result.history = history;
            has_more = end_expired(session, claim.expired(), own.now, events) || has_more;
            result.next_at = has_more ? own.now.steady : result.next_at;
            return result;
        });
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return read(
            [node = std::string(node)](sql_session& session) { return runs_on(session, node); });
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment now) override {
        return change(now, [this, node = std::string(node), ended = std::move(ended), now](
                               sql_session& session, event_list& events) {
            std::vector<bool> written(ended.size(), false);
            if (const std::optional<std::int64_t> number = node_number(session, node)) {
                settlement_writer writer(session, node, *number, now, events, ids_, max_queues_);
                written = writer.write_all(ended);
                writer.close();
            }
            return written;
        });
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return change_unsynced(now, [node = std::string(node), notes = std::move(notes)](
                                        sql_session& session, event_list& events) {
            if (const std::optional<std::int64_t> number = node_number(session, node)) {
                write_progress(session, *number, notes, events);
            }
        });
    }

    task<step_answer> keep_step(std::string_view node, run_key key, step_record step) override {
        return change({}, [node = std::string(node), key, step = std::move(step)](
                              sql_session& session, event_list&) {
            const std::optional<std::int64_t> number = node_number(session, node);
            return number ? detail::keep_step(session, *number, key, step) : step_answer();
        });
    }

    // ---- nodes

    task<heartbeat_answer> heartbeat(node_record node, moment now) override {
        const std::string id = node.id;
        auto renew = [node = std::move(node), now](sql_session& session, event_list&) {
            heartbeat_answer renewed = renew_lease(session, node, now.steady);
            renewed.calendar = session.server_calendar();
            return renewed;
        };
        heartbeat_answer answer = co_await change_own_rows(now, std::move(renew));
        if (!answer.is_alive) {
            co_return answer;
        }
        try {
            auto look = [&id](sql_session& session, event_list&) {
                return runs_to_cancel(session, id);
            };
            answer.cancelling = co_await change_own_rows(now, std::move(look));
        } catch (const store_unavailable&) {
            // The lease is renewed. They are told by the next heartbeat.
        }
        co_return answer;
    }
    task<std::vector<node_record>> nodes() override {
        return read([](sql_session& session) { return read_nodes(session); });
    }
    task<> retire(std::string_view node) override {
        return change({}, [node = std::string(node)](sql_session& session, event_list&) {
            end_lease(session, node);
        });
    }
    task<rescue_result> rescue(moment now, std::uint32_t max_crashes) override {
        constexpr std::size_t batch_size = 500;
        rescue_result all;
        for (;;) {
            auto rescue_some = [this, now, max_crashes](sql_session& session, event_list& events) {
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
                break;
            }
        }
        co_await workflows_.finish(now);
        co_return all;
    }

    // ---- workers

    task<bool> add_worker(worker_record worker, moment now) override {
        return change_sessions<true>(now, [worker = std::move(worker)](session_writer& sessions) {
            return sessions.add(worker);
        });
    }
    task<std::vector<worker_answer>> renew_workers(std::vector<worker_beat> beats,
                                                   moment now) override {
        return change_sessions<false>(now, [beats = std::move(beats)](session_writer& sessions) {
            std::vector<worker_answer> answers;
            for (const worker_beat& each : beats) {
                answers.push_back(sessions.renew(each));
            }
            return answers;
        });
    }
    // A power failure may undo it: the next start of the machine ends all sessions.
    task<worker_claims> claim_for_workers(std::vector<worker_claim> polls, moment now) override {
        return change_unsynced(
            now, [this, polls = std::move(polls), now](sql_session& session, event_list& events) {
                const bool has_more = continue_ripples(session, now, events, ids_, max_queues_);
                worker_claim_operation claim(session, now, events);
                worker_claims result = claim.run(polls);
                if (end_expired(session, claim.expired(), now, events) || has_more) {
                    result.next_at = now.steady;
                }
                return result;
            });
    }
    task<std::vector<settle_answer>> settle_for_worker(std::string_view worker,
                                                       std::vector<settlement> ended,
                                                       moment now) override {
        return change_sessions<true>(
            now, [worker = std::string(worker), ended = std::move(ended)](
                     session_writer& sessions) { return sessions.settle(worker, ended); });
    }
    task<std::vector<std::optional<task_record>>> runs_of_worker(
        std::string_view worker, std::vector<run_key> runs) override {
        return read([worker = std::string(worker), runs = std::move(runs)](sql_session& session) {
            return find_runs(session, worker, runs);
        });
    }
    task<bool> drain_worker(std::string_view worker, moment now) override {
        return change_sessions<true>(now, [worker = std::string(worker)](session_writer& sessions) {
            return sessions.drain(worker);
        });
    }
    task<bool> remove_worker(std::string_view worker, moment now) override {
        return change_sessions<true>(now, [worker = std::string(worker)](session_writer& sessions) {
            return sessions.remove(worker);
        });
    }
    task<std::vector<worker_status>> workers() override {
        return read([](sql_session& session) { return list_workers(session); });
    }
    task<std::vector<worker_kind>> worker_kinds(moment now) override {
        return read([now](sql_session& session) { return list_worker_kinds(session, now.steady); });
    }
    task<bool> forget_worker_kind(std::string_view kind) override {
        return change({}, [kind = std::string(kind)](sql_session& session, event_list&) {
            return session.count("DELETE FROM worker_kinds WHERE kind = ?", kind) > 0;
        });
    }

    // ---- requests of clients

    task<std::optional<task_detail>> find(task_id id) override {
        return read([id](sql_session& session) {
            static const std::string sql = "SELECT " + std::string(task_columns) +
                                           std::string(task_names) + " FROM tasks WHERE id = ?";
            std::optional<task_detail> result;
            const sqlite::rows found = session.query(sql, id.number());
            if (!found.empty()) {
                result.emplace();
                result->task = read_named_task(found[0]);
                read_steps(session, result->task);
                read_parents(session, result->task);
                result->attempts = read_attempts(session, id.number());
                result->children = read_children(session, id.number());
                if (has_follow_ups(result->task)) {
                    result->callbacks = read_follow_ups(session, id.number());
                }
            }
            return result;
        });
    }
    task<task_page> list(task_filter filter, timestamp now) override {
        const bool may_lag = filter.may_lag && newest_of(filter) <= now - backend().most_lag();
        const auto search = [filter = std::move(filter), now](sql_session& session) {
            return search_tasks(session, filter, now);
        };
        return may_lag ? read_lagging(search) : read(search);
    }
    task<std::vector<hold>> why(task_id id, moment now) override {
        return read([id, now](sql_session& session) { return find_holds(session, id, now); });
    }
    task<change_result> cancel(task_id id, moment now) override {
        return change(now, [this, id, now](sql_session& session, event_list& events) {
            return task_changes(session, now, events, ids_, max_queues_).cancel(id);
        });
    }
    task<change_result> retry(task_id id, moment now) override {
        return change(now, [this, id, now](sql_session& session, event_list& events) {
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
            auto search = [&](sql_session& session) {
                return search_failed(session, filter, *found.searched_to, now.at);
            };
            found = co_await read(search);
            auto restart = [&](sql_session& session, event_list& events) {
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
        return change(now, [this, id, now](sql_session& session, event_list& events) {
            bulk_change wanted;
            wanted.action = task_action::remove;
            wanted.ids.push_back(id);
            return task_changes(session, now, events, ids_, max_queues_).change_all(wanted).at(0);
        });
    }
    task<std::vector<change_result>> change_tasks(bulk_change wanted, moment now) override {
        return change(
            now, [this, wanted = std::move(wanted), now](sql_session& session, event_list& events) {
                return task_changes(session, now, events, ids_, max_queues_).change_all(wanted);
            });
    }
    task<change_result> edit(task_id id, task_edit edit, moment now) override {
        return change(
            now, [this, id, edit = std::move(edit), now](sql_session& session, event_list& events) {
                return task_changes(session, now, events, ids_, max_queues_).edit(id, edit);
            });
    }

    // ---- queues

    task<std::vector<queue_record>> queues() override {
        return read([](sql_session& session) { return list_queues(session); });
    }
    task<std::vector<due_queue>> oldest_due(moment now) override {
        return read([now](sql_session& session) { return find_oldest_due(session, now); });
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        return change_queue(std::string(queue),
                            [is_paused](sql_session& session, std::string_view name) {
                                session.execute(
                                    "INSERT INTO queues(name, is_paused) VALUES (?1, ?2) ON "
                                    "CONFLICT(name) DO UPDATE SET is_paused = ?2",
                                    name, is_paused);
                            });
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        return change_queue(std::string(queue),
                            [limits](sql_session& session, std::string_view name) {
                                limit_queue(session, name, limits);
                            });
    }

    task<key_settings> change_key(std::string_view queue, std::string_view key, key_change change,
                                  moment now) override {
        const std::string queue_name(queue);
        const std::string key_name(key);
        auto write = [&](sql_session& session, event_list&) {
            return detail::change_key(session, queue_name, key_name, change, now, max_queues_);
        };
        const key_settings changed = co_await this->change(now, write);
        tell_queue_changed(queue_name);
        co_return changed;
    }
    task<std::vector<key_record>> keys(std::string_view queue, key_query query) override {
        return read([queue = std::string(queue), query = std::move(query)](sql_session& session) {
            return list_keys(session, queue, query);
        });
    }

    task<queue_removal> remove_queue(std::string_view queue, bool with_pending) override {
        const std::string name(queue);
        queue_remover remover(name, with_pending);
        auto begin = [&](sql_session& session) { return remover.begin(session); };
        bool has_more = co_await read(begin);
        while (has_more) {
            auto find = [&](sql_session& session) { return remover.find(session); };
            const std::vector<std::int64_t> ids = co_await read(find);
            auto remove = [&](sql_session& session, event_list&) {
                return remover.remove(session, ids);
            };
            if (!ids.empty()) {
                remover.count(co_await change({}, remove));
            }
            has_more = !remover.is_at_end();
        }
        auto finish = [&](sql_session& session, event_list&) { return remover.finish(session); };
        const queue_removal result = co_await change({}, finish);
        if (result.what == queue_removal::verdict::removed) {
            tell_queue_changed(name);
        }
        co_return result;
    }

    // ---- destinations

    task<> limit_destinations(std::string_view kind, destination_limits limits) override {
        return change({}, [kind = std::string(kind), limits](sql_session& session, event_list&) {
            limit_destinations_of(session, kind, limits);
        });
    }
    task<std::vector<destination_record>> destinations(std::size_t limit, timestamp now) override {
        return read(
            [limit, now](sql_session& session) { return list_destinations(session, limit, now); });
    }

    task<std::vector<endpoint_record>> disabled_endpoints() override {
        return read([](sql_session& session) { return list_disabled_endpoints(session); });
    }
    task<bool> enable_endpoint(std::string_view kind, std::string_view name) override {
        return change({}, [kind = std::string(kind), name = std::string(name)](sql_session& session,
                                                                               event_list&) {
            return session.count("DELETE FROM disabled_endpoints WHERE kind = ? AND name = ?", kind,
                                 name) > 0;
        });
    }

    // ---- schedules

    task<> put_schedule(schedule plan, timestamp next_slot) override {
        return change({}, [plan = std::move(plan), next_slot](sql_session& session, event_list&) {
            detail::put_schedule(session, plan, next_slot);
        });
    }
    task<bool> remove_schedule(std::string_view name) override {
        return change({}, [name = std::string(name)](sql_session& session, event_list&) {
            return session.count("DELETE FROM schedules WHERE name = ?", name) > 0;
        });
    }
    task<std::vector<schedule_record>> schedules() override {
        return read([](sql_session& session) { return read_schedules(session); });
    }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> task,
                                            moment now) override {
        return change(now, [this, name = std::string(name), slot, next_slot, task = std::move(task),
                            now](sql_session& session, event_list& events) {
            return schedule_writer(session, now, events, ids_, max_queues_)
                .fire(name, slot, next_slot, task);
        });
    }
    task<std::optional<submit_result>> run_schedule(std::string_view name, new_task task,
                                                    moment now) override {
        return change(now, [this, name = std::string(name), task = std::move(task), now](
                               sql_session& session, event_list& events) {
            return schedule_writer(session, now, events, ids_, max_queues_).run(name, task);
        });
    }
    task<bool> pause_schedule(std::string_view name, bool is_paused, timestamp next_slot) override {
        return change({}, [name = std::string(name), is_paused, next_slot](sql_session& session,
                                                                           event_list&) {
            return detail::pause_schedule(session, name, is_paused, next_slot);
        });
    }

    // ---- maintenance

    task<std::size_t> expire(moment now) override {
        constexpr std::size_t batch_size = 500;
        auto look = [now](sql_session& session) { return has_expiries(session, now.at); };
        auto end_some = [this, now](sql_session& session, event_list& events) {
            expiry_batch batch = take_expiries(session, now.at, batch_size);
            end_expired(session, batch.expired, now, events);
            return batch;
        };
        std::size_t all = 0;
        bool has_more = co_await read(look);
        while (has_more) {
            const expiry_batch batch = co_await change(now, end_some);
            all += batch.expired.size();
            has_more = !batch.is_last;
        }
        co_return all;
    }
    task<std::size_t> purge(retention kept, moment now) override {
        return change_unsynced(now, [this, kept, now](sql_session& session, event_list& events) {
            return purge_batch(session, kept, now, events, ids_, max_queues_);
        });
    }
    task<> probe(moment now) override {
        co_await try_claim(now);
        auto count = [](sql_session& session, event_list&) {
            session.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
        };
        co_await change({}, count);
    }
    task<std::optional<old_transaction>> oldest_transaction() override {
        return read([](sql_session& session) { return session.oldest_transaction(); });
    }
    task<> close() override { return backend().close(); }
    node_channel* channel() noexcept override { return backend().channel(); }
    void observe(store_observer* observer) noexcept override { store_calls::observe(observer); }
    workflow_store& workflows() noexcept override { return workflows_; }

private:
    // False: there are none.
    bool end_expired(sql_session& session, const std::vector<expired_task>& tasks, moment now,
                     event_list& events) {
        if (!tasks.empty()) {
            detail::end_expired(session, tasks, now, events, ids_, max_queues_);
        }
        return !tasks.empty();
    }

    // Claims a task, for no node, and takes that back.
    task<> try_claim(moment now) {
        struct taken_back {};
        auto claim_and_fail = [now](sql_session& session, event_list&) {
            claim_request request;
            request.now = now;
            event_list unused(false, now.at);
            constexpr std::int64_t no_node = 0;
            static_cast<void>(claim_operation(session, request, unused).run(no_node));
            throw taken_back();
        };
        try {
            co_await change_unsynced(now, claim_and_fail);
        } catch (const taken_back&) {
        }
    }

    // Runs work(session_writer&) as a transaction.
    template <bool IsSynced, class Work>
    auto change_sessions(moment now, Work work)
        -> task<std::invoke_result_t<Work&, session_writer&>> {
        auto run = [this, now, work = std::move(work)](sql_session& session, event_list& events) {
            session_writer sessions(session, now, events, ids_, max_queues_);
            return work(sessions);
        };
        if constexpr (IsSynced) {
            return change(now, std::move(run));
        } else {
            return change_unsynced(now, std::move(run));
        }
    }

    // Runs work(session&, name) on a queue that exists or that max_queues allows.
    template <class Work>
    task<> change_queue(std::string name, Work work) {
        auto check_and_work = [&](sql_session& session, event_list&) {
            if (session.query("SELECT 1 FROM queues WHERE name = ?", name).empty() &&
                !has_room_for_queue(session, name, max_queues_)) {
                throw_too_many_queues(name, max_queues_);
            }
            work(session, name);
        };
        co_await change({}, check_and_work);
        tell_queue_changed(name);
    }

    const std::size_t max_queues_;
    id_source ids_;  // used by the writer thread
    sqlite_workflows workflows_{*this, ids_, max_queues_};
};

}  // namespace

namespace detail {

std::unique_ptr<store> make_sql_store(std::unique_ptr<sql_backend> backend,
                                      std::size_t max_queues) {
    return std::make_unique<sql_store>(std::move(backend), max_queues);
}

}  // namespace detail

}  // namespace weir::service
