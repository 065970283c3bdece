// SPDX-License-Identifier: MIT
// Live tasks, from submission until their end is stored, are jobs of the engine and answered from
// memory, which has what the store has and progress that is on its way there; all others are
// answered from the store. A submission reserves its id in memory, then inserts the record on a
// fiber of its own, so that a submitter that is cancelled leaves no half of a task. One fiber
// removes old records, by token and revision: a late removal cannot hit a newer task of the same
// id.

#include "flow/jobs/live_task.hpp"
#include "flow/jobs/retention.hpp"

#include <weir/flow/task_manager.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>

#include <algorithm>
#include <charconv>
#include <map>

namespace weir {

namespace detail {

namespace {

constexpr job_engine::identity task_manager_words{"task_manager", "task manager", "task"};

const task_manager_options& checked(const task_manager_options& given) {
    const std::string owner = "task_manager '" + std::string(given.name) + "'";
    check_count(owner, "concurrency", given.concurrency, 1);
    check_count(owner, "most_pending", given.most_pending, 1);
    check_count(owner, "event_history", given.event_history, 1);
    check_count(owner, "store_attempts", given.store_attempts, 1);
    check_not_negative(owner, "keep_for", given.keep_for);
    check_not_negative(owner, "store_retry", given.store_retry);
    return given;
}

// Short, and sorted as the tokens are.
std::string id_from(std::uint64_t token) {
    char digits[16];
    char* const end = std::to_chars(digits, digits + sizeof digits, token, 36).ptr;
    return "t" + std::string(digits, end);
}

}  // namespace

executor& executor_for_blocking(executor* given, std::string_view manager) {
    if (given == nullptr) {
        throw invalid_state("task_manager '" + std::string(manager) +
                            "': a function that is not a coroutine would block the loop, and there "
                            "is no executor to run it; set the option executor");
    }
    return *given;
}

class task_manager_core final : public job_engine, private live_task_owner {
public:
    using core_pointer = std::shared_ptr<task_manager_core>;
    using live_pointer = std::shared_ptr<live_task>;

    explicit task_manager_core(const task_manager_options& options)
        : job_engine(task_manager_words, checked(options).name, options.concurrency,
                     options.observer),
          most_pending_(options.most_pending),
          executor_(options.executor),
          own_store_(options.store == nullptr ? std::make_unique<memory_task_store>() : nullptr),
          store_(options.store == nullptr ? *own_store_ : *options.store, options.store_attempts,
                 options.store_retry, *this),
          journal_(options.wall_clock, options.event_history),
          finished_(options.keep, options.keep_for) {}

    executor* blocking_executor() const noexcept { return executor_; }
    void define(std::string name, task_handler handler);
    task_body body_for(const std::string& name, std::string payload);  // empty: no such handler

    live_pointer make(managed_task initial, task_body body) {
        return std::make_shared<live_task>(std::move(initial), std::move(body),
                                           static_cast<live_task_owner&>(*this), store_, journal_);
    }
    // Accepts it, under its id or a new one, or says why not.
    static task<std::optional<refusal>> submit(core_pointer self, live_pointer fresh);
    static task<std::size_t> recover(core_pointer self);

    live_pointer live(std::string_view id) const {
        return std::static_pointer_cast<live_task>(known(id));
    }
    static task<bool> cancel_and_wait(core_pointer self, std::string id, std::string reason);
    static task<std::optional<managed_task>> get(core_pointer self, std::string id);
    static task<managed_task> wait(core_pointer self, std::string id);
    static task<std::vector<managed_task>> list(core_pointer self, task_query query);
    task_journal& journal() noexcept { return journal_; }
    task_manager_stats stats() const noexcept;

private:
    // In the frame of the fiber that inserts a task, from before it starts: unless the task is
    // accepted, its id becomes unknown again.
    class insertion {
    public:
        insertion(core_pointer manager, live_pointer fresh)
            : manager_(std::move(manager)), fresh_(std::move(fresh)) {
            manager_->admit(fresh_);
        }
        insertion(insertion&&) noexcept = default;
        insertion& operator=(insertion&&) = delete;
        ~insertion() {
            if (manager_ != nullptr) {
                manager_->withdraw(*fresh_);
                fresh_->ended.set();
            }
        }
        task_manager_core& manager() const noexcept { return *manager_; }
        const managed_task& record() const noexcept { return fresh_->record; }
        void accept() {
            const core_pointer manager = std::move(manager_);
            ++manager->counts_.submitted;
            manager->journal_.publish(task_event_kind::submitted, fresh_->record);
            manager->enqueue(fresh_);
        }

    private:
        core_pointer manager_;
        live_pointer fresh_;
    };

    static task<std::optional<refusal>> insert(insertion self);
    std::size_t pending() const noexcept {
        return unfinished() - std::min(unfinished(), running());
    }

    bool is_too_old(const managed_task& task) {
        return task.finished_at.has_value() &&
               finished_.is_too_old(*task.finished_at, journal_.now());
    }
    void keep(const managed_task& finished);
    void remove_old();
    static task<void> remove_old_records(core_pointer self, activity guard);

    void on_finished(live_task& task) override;
    void on_cancel_queued(const job_pointer& job) override { start(job, false); }
    void on_end(const job_pointer& job) noexcept override;
    void on_left(job_base& job, bool) noexcept override { static_cast<live_task&>(job).body = {}; }
    void on_idle_after_close() override { journal_.close(); }

    std::size_t most_pending_;
    executor* executor_;
    std::unique_ptr<task_store> own_store_;
    store_client store_;
    task_journal journal_;
    std::map<std::string, std::shared_ptr<task_handler>, std::less<>> handlers_;
    retention<managed_task, wall_time> finished_;  // only id, token and revision
    any_handle remover_;
    std::uint64_t last_token_ = 0;
    task_manager_stats counts_;
};

// ---- submitting ---------------------------------------------------------------------------------

task<std::optional<refusal>> task_manager_core::submit(core_pointer self, live_pointer fresh) {
    managed_task& record = fresh->record;
    if (const std::optional<refusal> refused = self->check(record.id)) {
        co_return refused;
    }
    if (self->pending() >= self->most_pending_) {
        co_return self->refuse(refusal_reason::queue_full);
    }
    self->remove_old();
    record.created_at = self->journal_.now();
    // Unique in this process, and, because of the time in it, among earlier ones.
    record.token = self->last_token_ =
        std::max(self->last_token_ + 1,
                 static_cast<std::uint64_t>(record.created_at.time_since_epoch().count()));
    if (record.id.empty()) {
        record.id = fresh->id = id_from(record.token);
    }
    fresh->keep_locals_of_submitter();
    const handle<std::optional<refusal>> inserting = spawn(insert(insertion(self, fresh)));
    co_return co_await shield(inserting);  // a stop of the submitter leaves it running
}

task<std::optional<refusal>> task_manager_core::insert(insertion self) {
    const bool is_inserted = co_await shield(self.manager().store_.insert(self.record()));
    if (!is_inserted) {
        co_return self.manager().refuse(refusal_reason::duplicate);
    }
    self.accept();
    co_return std::nullopt;
}

void task_manager_core::define(std::string name, task_handler handler) {
    handlers_.insert_or_assign(std::move(name), std::make_shared<task_handler>(std::move(handler)));
}

task_body task_manager_core::body_for(const std::string& name, std::string payload) {
    const auto found = handlers_.find(name);
    if (found == handlers_.end()) {
        return {};
    }
    return [handler = found->second, payload = std::move(payload)](task_context& context) mutable {
        return (*handler)(context, std::move(payload));
    };
}

task<std::size_t> task_manager_core::recover(core_pointer self) {
    std::size_t count = 0;
    std::string after;
    for (;;) {
        task_query query;
        query.after = after;
        const std::vector<managed_task> page = co_await self->store_.store().list(query);
        if (page.empty()) {
            co_return count;
        }
        after = page.back().id;
        for (const managed_task& each : page) {
            if (is_final(each.state)) {
                if (self->known(each.id) == nullptr) {
                    self->keep(each);
                }
                continue;
            }
            task_body body = self->body_for(each.name, each.payload);
            if (!body || self->known(each.id) != nullptr || self->is_closed()) {
                continue;
            }
            const live_pointer taken = self->make(each, std::move(body));
            if (each.state == task_state::running) {
                taken->record.state = task_state::pending;
                taken->record.started_at.reset();
                ++taken->record.revision;
                const store_client::write_result written =
                    co_await self->store_.transition(taken->record, task_state::running);
                if (written.status != store_client::write_status::stored) {
                    continue;
                }
            }
            if (self->known(each.id) != nullptr || self->is_closed()) {
                continue;
            }
            self->admit(taken);
            self->enqueue(taken);
            ++count;
        }
    }
}

// ---- ending -------------------------------------------------------------------------------------

void task_manager_core::on_finished(live_task& task) {
    const managed_task& record = task.record;
    task_event_kind kind = task_event_kind::cancelled;
    if (record.state == task_state::completed) {
        ++counts_.completed;
        kind = task_event_kind::completed;
    } else if (record.state == task_state::failed) {
        ++counts_.failed;
        kind = task_event_kind::failed;
        report("failed");
    } else {
        ++counts_.cancelled;
    }
    if (task.is_stored) {
        forget(record.id);
    } else {
        ++counts_.unsaved;  // and it stays known, since the store would answer with an old state
    }
    journal_.publish(kind, record);
    keep(record);
}

void task_manager_core::on_end(const job_pointer& job) noexcept {
    auto& ended = static_cast<live_task&>(*job);
    if (!ended.is_finished) {  // the loop ended first
        ended.record.state = task_state::cancelled;
        ++counts_.cancelled;
        ++counts_.unsaved;
    }
    ended.ended.set();
}

void task_manager_core::keep(const managed_task& finished) {
    managed_task key;
    key.id = finished.id;
    key.token = finished.token;
    key.revision = finished.revision;
    finished_.add(std::move(key), finished.finished_at.value_or(wall_time::max()));
    remove_old();
}

void task_manager_core::remove_old() {
    const bool is_removing = remover_.valid() && !remover_.done();
    if (is_removing || loop::current_or_null() == nullptr || finished_.empty() ||
        !finished_.has_surplus(journal_.now())) {
        return;
    }
    const core_pointer self = std::static_pointer_cast<task_manager_core>(shared_from_this());
    try {
        remover_ = spawn(remove_old_records(self, activity(self)));
    } catch (const misuse&) {
        // The loop takes no more tasks.
    }
}

task<void> task_manager_core::remove_old_records(core_pointer self, activity) {
    while (self->finished_.has_surplus(self->journal_.now())) {
        const managed_task key = self->finished_.oldest();
        const bool is_removed = co_await self->store_.remove(key);
        if (!is_removed) {
            co_return;  // it stays the oldest: the next call tries again
        }
        self->finished_.take_oldest();
        ++self->counts_.removed;
        const live_pointer unsaved = self->live(key.id);
        if (unsaved != nullptr && unsaved->record.token == key.token) {
            self->forget(key.id);
        }
    }
}

task<bool> task_manager_core::cancel_and_wait(core_pointer self, std::string id,
                                              std::string reason) {
    if (const live_pointer live = self->live(id)) {
        if (!self->cancel(*live, reason)) {
            co_return false;
        }
        co_await live->ended.wait();
        co_return live->record.state == task_state::cancelled;
    }
    // Not one of this manager's: an earlier process may have left it in the store.
    std::optional<managed_task> stored = co_await self->store_.store().get(id);
    if (self->known(id) != nullptr) {  // it was submitted meanwhile
        co_return co_await cancel_and_wait(self, id, reason);
    }
    if (!stored.has_value() || stored->state != task_state::pending) {
        co_return false;
    }
    stored->state = task_state::cancelled;
    stored->error = reason;
    stored->finished_at = self->journal_.now();
    ++stored->revision;
    const store_client::write_result written =
        co_await self->store_.transition(*stored, task_state::pending);
    if (written.status != store_client::write_status::stored) {
        co_return false;
    }
    self->keep(*stored);
    co_return true;
}

// ---- reading ------------------------------------------------------------------------------------

task<std::optional<managed_task>> task_manager_core::get(core_pointer self, std::string id) {
    self->remove_old();
    const live_pointer live = self->live(id);
    if (live != nullptr && live->stage != job_stage::entering) {
        co_return live->record;
    }
    std::optional<managed_task> stored = co_await self->store_.store().get(id);
    if (stored.has_value() && self->is_too_old(*stored)) {
        co_return std::nullopt;
    }
    co_return stored;
}

task<managed_task> task_manager_core::wait(core_pointer self, std::string id) {
    if (const live_pointer live = self->live(id)) {
        co_await live->ended.wait();
        if (is_final(live->record.state)) {
            co_return live->record;
        }
        throw unknown_task(id);  // the store did not accept it
    }
    std::optional<managed_task> stored = co_await get(self, id);
    if (!stored.has_value()) {
        throw unknown_task(id);
    }
    if (!is_final(stored->state)) {
        throw invalid_state("task '" + id + "' is " + std::string(to_string(stored->state)) +
                            ", but not in this process: it can be read, not waited for");
    }
    co_return *std::move(stored);
}

task<std::vector<managed_task>> task_manager_core::list(core_pointer self, task_query query) {
    self->remove_old();
    const std::string name(query.name);
    const std::string after(query.after);
    query.name = name;
    query.after = after;
    std::vector<managed_task> found = co_await self->store_.store().list(query);
    std::erase_if(found, [&](const managed_task& each) { return self->is_too_old(each); });
    for (managed_task& each : found) {  // progress that is on its way to the store
        const live_pointer live = self->live(each.id);
        if (live != nullptr && live->record.revision == each.revision) {
            each.progress = live->record.progress;
            each.message = live->record.message;
        }
    }
    co_return found;
}

task_manager_stats task_manager_core::stats() const noexcept {
    task_manager_stats now = counts_;
    now.refused = refused_count();
    now.store_errors = store_.errors();
    now.running = running();
    now.pending = pending();
    now.kept = finished_.size();
    return now;
}

}  // namespace detail

// ---- task_manager -------------------------------------------------------------------------------

unknown_task::unknown_task(std::string_view id)
    : std::runtime_error("there is no task '" + std::string(id) + "', or it is no longer kept") {}

namespace {

using core_pointer = std::shared_ptr<detail::task_manager_core>;
using live_pointer = std::shared_ptr<detail::live_task>;

live_pointer make_task(detail::task_manager_core& core, const task_options& options,
                       detail::task_body body, std::string payload) {
    managed_task initial;
    initial.id = options.id;
    initial.name = options.name;
    initial.payload = std::move(payload);
    return core.make(std::move(initial), std::move(body));
}

task<std::string> enter_or_throw(core_pointer core, live_pointer fresh) {
    const std::optional<refusal> refused = co_await detail::task_manager_core::submit(core, fresh);
    if (refused.has_value()) {
        core->throw_refused(*refused, fresh->record.id);
    }
    co_return fresh->record.id;
}

task<admission<std::string>> enter(core_pointer core, live_pointer fresh) {
    const std::optional<refusal> refused = co_await detail::task_manager_core::submit(core, fresh);
    if (refused.has_value()) {
        co_return *refused;
    }
    co_return fresh->record.id;
}

}  // namespace

task_manager::task_manager(const task_manager_options& options)
    : core_(std::make_shared<detail::task_manager_core>(options)) {}

task_manager::~task_manager() {
    core_->close(shutdown_mode::now);
}

task<std::string> task_manager::submit_body(const task_options& options, detail::task_body body,
                                            std::string payload) {
    return enter_or_throw(core_, make_task(*core_, options, std::move(body), std::move(payload)));
}

task<admission<std::string>> task_manager::offer_body(const task_options& options,
                                                      detail::task_body body) {
    return enter(core_, make_task(*core_, options, std::move(body), {}));
}

task<std::string> task_manager::submit_named(const task_options& options, std::string payload) {
    const std::string name(options.name);
    detail::task_body body = core_->body_for(name, payload);
    if (!body) {
        throw invalid_argument("task_manager '" + core_->name() + "': no handler is defined for '" +
                               name + "'");
    }
    return submit_body(options, std::move(body), std::move(payload));
}

void task_manager::define_handler(std::string name, detail::task_handler handler) {
    core_->define(std::move(name), std::move(handler));
}

executor* task_manager::blocking_executor() const noexcept {
    return core_->blocking_executor();
}

task<std::size_t> task_manager::recover() {
    return detail::task_manager_core::recover(core_);
}

task<bool> task_manager::cancel(std::string id, std::string reason) {
    return detail::task_manager_core::cancel_and_wait(core_, std::move(id), std::move(reason));
}

bool task_manager::request_cancel(std::string_view id, std::string_view reason) {
    const live_pointer live = core_->live(id);
    return live != nullptr && core_->cancel(*live, reason);
}

task<std::optional<managed_task>> task_manager::get(std::string id) {
    return detail::task_manager_core::get(core_, std::move(id));
}

task<managed_task> task_manager::wait(std::string id) {
    return detail::task_manager_core::wait(core_, std::move(id));
}

task<std::vector<managed_task>> task_manager::list(const task_query& query) {
    return detail::task_manager_core::list(core_, query);
}

task_events task_manager::subscribe() {
    return core_->journal().subscribe(std::nullopt);
}

task_events task_manager::subscribe_after(std::uint64_t seen) {
    return core_->journal().subscribe(seen);
}

task<void> task_manager::drain() {
    return detail::job_engine::wait_idle(core_);
}

task<void> task_manager::close(shutdown_mode mode) {
    return detail::job_engine::shutdown(core_, mode);
}

bool task_manager::is_closed() const noexcept {
    return core_->is_closed();
}

const std::string& task_manager::name() const noexcept {
    return core_->name();
}

void task_manager::throw_failure(const managed_task& ended) {
    if (ended.state == task_state::cancelled) {
        throw cancelled(ended.error);
    }
    if (ended.exception != nullptr) {
        std::rethrow_exception(ended.exception);
    }
    throw task_failed(ended.error);
}

void task_manager::throw_other_type(const managed_task& ended) {
    throw invalid_argument("the result of task '" + ended.id +
                           "' has another type than the one requested");
}

task_manager_stats task_manager::stats() const noexcept {
    return core_->stats();
}

void task_manager::write_metrics(metric_writer& to) const {
    const task_manager_stats now = stats();
    const metric_label name{"name", core_->name()};
    const auto count = [&](std::string_view outcome, std::uint64_t value) {
        to.counter("weir_task_manager_tasks_total", "Tasks by outcome.",
                   {name, {"outcome", outcome}}, static_cast<double>(value));
    };
    count("completed", now.completed);
    count("failed", now.failed);
    count("cancelled", now.cancelled);
    count("refused", now.refused);
    to.counter("weir_task_manager_submitted_total", "Tasks that were accepted.", {name},
               static_cast<double>(now.submitted));
    to.counter("weir_task_manager_store_errors_total", "Calls of the store that failed.", {name},
               static_cast<double>(now.store_errors));
    to.gauge("weir_task_manager_pending", "Tasks that wait for a worker.", {name},
             static_cast<double>(now.pending));
    to.gauge("weir_task_manager_running", "Tasks that run.", {name},
             static_cast<double>(now.running));
    to.gauge("weir_task_manager_kept", "Finished tasks that are kept.", {name},
             static_cast<double>(now.kept));
}

}  // namespace weir
