// SPDX-License-Identifier: MIT
// Each call is one function on the thread of the writer, or of a reader: the database groups
// waiting functions into one commit. A function may be called again after a commit that failed, so
// it starts from the beginning each time and returns all its results. The observer is notified
// here, on the loop, once the changes are durable.

#include "service/store/sqlite/file/store_file.hpp"
#include "service/store/sqlite/task_rows.hpp"

#include <weir/error.hpp>
#include <weir/service/sqlite_store.hpp>

namespace weir::service {

namespace {

using namespace detail;

template <class T>
struct work_result {
    work_result() = default;
    T answer{};
    std::vector<task_event> events;
};

class sqlite_store final : public store {
public:
    sqlite_store(std::unique_ptr<sqlite_file> opened, std::size_t max_queues)
        : file_(std::move(opened)), max_queues_(max_queues) {}

    task<std::vector<submit_result>> submit(std::vector<new_task> fresh, timestamp now) override {
        return change(
            now, [this, fresh = std::move(fresh), now](sqlite::session& on, event_list& events) {
                ledger books(on, now);
                submitter to(on, books, ids_, events, now, max_queues_);
                std::vector<submit_result> results;
                results.reserve(fresh.size());
                for (const new_task& each : fresh) {
                    results.push_back(to.add(each));
                }
                books.close();
                return results;
            });
    }

    task<claimed> claim(claim_request request) override {
        return change_unsynced(request.now, [request, node = std::string(request.node)](
                                                sqlite::session& on, event_list& events) {
            claim_request own = request;
            own.node = node;
            return claim_tasks(on, own, events);
        });
    }
    task<std::vector<run_key>> running_on(std::string_view node) override {
        return ask([node = std::string(node)](sqlite::session& on) { return runs_of(on, node); });
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   timestamp now) override {
        return change(now, [node = std::string(node), ended = std::move(ended), now](
                               sqlite::session& on, event_list& events) {
            return settle_tasks(on, node, ended, now, events);
        });
    }
    task<> note_progress(std::string_view node, std::vector<progress_note> notes,
                         timestamp now) override {
        return change_unsynced(now, [node = std::string(node), notes = std::move(notes)](
                                        sqlite::session& on, event_list& events) {
            detail::note_progress(on, node, notes, events);
        });
    }

    task<heartbeat_answer> heartbeat(node_record node, timestamp now) override {
        return change_unsynced(now,
                               [node = std::move(node), now](sqlite::session& on, event_list&) {
                                   return keep_lease(on, node, now);
                               });
    }
    task<std::vector<node_record>> nodes() override {
        return ask([](sqlite::session& on) { return list_nodes(on); });
    }
    task<> retire(std::string_view node) override {
        return change({}, [node = std::string(node)](sqlite::session& on, event_list&) {
            end_lease(on, node);
        });
    }
    task<rescue_result> rescue(timestamp now, std::uint32_t max_crashes) override {
        constexpr std::size_t at_once = 500;
        rescue_result all;
        for (;;) {
            auto some = [now, max_crashes](sqlite::session& on, event_list& events) {
                return rescue_tasks(on, now, max_crashes, at_once, events);
            };
            const rescue_step step = co_await change(now, some);
            all.returned += step.done.returned;
            all.failed += step.done.failed;
            all.cancelled += step.done.cancelled;
            if (step.is_all) {
                co_return all;
            }
        }
    }

    task<std::optional<task_detail>> find(task_id id) override {
        return ask([id](sqlite::session& on) { return find_task(on, id); });
    }
    task<std::vector<task_record>> list(task_filter filter, timestamp now) override {
        return ask([filter = std::move(filter), now](sqlite::session& on) {
            return list_tasks(on, filter, now);
        });
    }
    task<std::vector<hold>> why(task_id id, timestamp now) override {
        return ask([id, now](sqlite::session& on) { return explain(on, id, now); });
    }
    task<change_result> cancel(task_id id, timestamp now) override {
        return change(now, [id, now](sqlite::session& on, event_list& events) {
            return cancel_task(on, id, now, events);
        });
    }
    task<change_result> retry(task_id id, timestamp now) override {
        return change(now, [id, now](sqlite::session& on, event_list& events) {
            return retry_task(on, id, now, events);
        });
    }
    task<std::size_t> redrive(task_filter filter, timestamp now) override {
        constexpr std::size_t at_once = 1000;
        filter.state = task_state::failed;
        std::size_t all = 0;
        const std::size_t limit = filter.limit;
        while (all < limit) {
            filter.limit = std::min(at_once, limit - all);
            auto some = [&](sqlite::session& on, event_list& events) {
                return redrive_tasks(on, filter, now, events);
            };
            const std::size_t done = co_await change(now, some);
            all += done;
            if (done < filter.limit) {
                break;
            }
        }
        co_return all;
    }

    task<std::vector<queue_record>> queues() override {
        return ask([](sqlite::session& on) { return list_queues(on); });
    }
    task<> pause(std::string_view queue, bool is_paused) override {
        const std::string name(queue);
        auto pauses = [&](sqlite::session& on, event_list&) {
            check_room_for(on, name, max_queues_);
            pause_queue(on, name, is_paused);
        };
        co_await change({}, pauses);
        tell_queue(name);
    }
    task<> limit(std::string_view queue, queue_limits limits) override {
        const std::string name(queue);
        auto limiting = [&](sqlite::session& on, event_list&) {
            check_room_for(on, name, max_queues_);
            limit_queue(on, name, limits);
        };
        co_await change({}, limiting);
        tell_queue(name);
    }

    task<> put_schedule(schedule request, timestamp next_slot) override {
        return change({},
                      [request = std::move(request), next_slot](sqlite::session& on, event_list&) {
                          detail::put_schedule(on, request, next_slot);
                      });
    }
    task<bool> remove_schedule(std::string_view name) override {
        return change({}, [name = std::string(name)](sqlite::session& on, event_list&) {
            return detail::remove_schedule(on, name);
        });
    }
    task<std::vector<schedule_record>> schedules() override {
        return ask([](sqlite::session& on) { return list_schedules(on); });
    }
    task<std::optional<submit_result>> fire(std::string_view name, timestamp slot,
                                            timestamp next_slot, std::optional<new_task> fresh,
                                            timestamp now) override {
        return change(now, [this, name = std::string(name), slot, next_slot,
                            fresh = std::move(fresh),
                            now](sqlite::session& on, event_list& events) {
            return fire_schedule(on, name, slot, next_slot, fresh, now, ids_, events, max_queues_);
        });
    }

    task<std::size_t> purge(retention kept, timestamp now) override {
        return change_unsynced(now, [kept, now](sqlite::session& on, event_list&) {
            return purge_tasks(on, kept, now);
        });
    }
    task<> probe() override {
        return change({}, [](sqlite::session& on, event_list&) {
            on.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
        });
    }
    task<> close() override { return file_->close(); }
    void observe(store_observer* observer) noexcept override { observer_ = observer; }

private:
    // Runs work(session&, event_list&) as a transaction.
    template <class Work>
    auto change(timestamp now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        return change_by<true>(now, std::move(work));
    }
    // The same for changes that a machine crash may undo, since the next node to start would undo
    // them anyway.
    template <class Work>
    auto change_unsynced(timestamp now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        return change_by<false>(now, std::move(work));
    }
    template <bool IsSynced, class Work>
    auto change_by(timestamp now, Work work)
        -> task<std::invoke_result_t<Work&, sqlite::session&, event_list&>> {
        using answer_type = std::invoke_result_t<Work&, sqlite::session&, event_list&>;
        constexpr bool has_answer = !std::is_void_v<answer_type>;
        const bool is_observed = observer_ != nullptr;
        auto performs = [&](sqlite::session& on) {
            event_list events(is_observed, now);
            work_result<std::conditional_t<has_answer, answer_type, bool>> result;
            if constexpr (has_answer) {
                result.answer = work(on, events);
            } else {
                work(on, events);
            }
            result.events = events.take();
            return result;
        };
        std::optional<std::invoke_result_t<decltype(performs)&, sqlite::session&>> done;
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> on = file_->database();
        try {
            if constexpr (IsSynced) {
                done.emplace(co_await on->write(performs));
            } else {
                done.emplace(co_await on->write_unsynced(performs));
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

    template <class Work>
    auto ask(Work work) -> task<std::invoke_result_t<Work&, sqlite::session&>> {
        using answer_type = std::invoke_result_t<Work&, sqlite::session&>;
        std::optional<answer_type> answer;
        if (file_->is_lost()) {
            co_await file_->find_again();
        }
        const std::shared_ptr<sqlite::database> on = file_->database();
        try {
            auto performs = [&](sqlite::session& reader) { return work(reader); };
            answer.emplace(co_await on->read(performs));
        } catch (const sqlite::error& error) {
            file_->failed(error);
        }
        co_return std::move(*answer);
    }

    void tell_queue(std::string_view name) noexcept {
        if (observer_ != nullptr) {
            observer_->queue_changed(name);
        }
    }

    std::unique_ptr<sqlite_file> file_;
    const std::size_t max_queues_;
    id_source ids_;  // the writer's
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
