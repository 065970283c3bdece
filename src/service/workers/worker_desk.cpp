// SPDX-License-Identifier: MIT
// A poll is a fiber that waits for an event; the claimer sets it. A poll that ends while a claim
// for it is in flight waits for the answer of the claim, so that no task is claimed for a poll that
// was answered before. If the client has gone, its session still has the task: it gets it by
// repeating the poll, or the store takes it back by the worker's heartbeats, or by the end of its
// lease.
//
// A cancelled task ends the open poll of its worker, which then sends a heartbeat and is told.

#include "service/workers/worker_desk.hpp"

#include "base/quoted.hpp"
#include "service/store/store_texts.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/group.hpp>
#include <weir/loop.hpp>

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {

constexpr clock::duration watch_interval = 1s;
constexpr clock::duration kinds_interval = 15s;  // also if nobody asks
constexpr clock::duration min_kinds_age = 1s;
constexpr clock::duration single_claim_margin = 10s;
constexpr clock::duration look_limit = 10s;  // for the claim for a poll that is in flight

std::string to_hex(std::span<const unsigned char> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char each : bytes) {
        text += digits[each >> 4];
        text += digits[each & 15];
    }
    return text;
}

// The same for the same request of the same client.
std::string id_of_request(std::string_view client, std::string_view request) {
    std::string source(client);
    source += '\n';
    source += request;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
    SHA256(reinterpret_cast<const unsigned char*>(source.data()), source.size(), hash.data());
    return to_hex(std::span(hash).first(16));
}

timestamp::duration to_microseconds(clock::duration time) {
    return std::chrono::ceil<std::chrono::microseconds>(time);
}

}  // namespace

// Takes the poll from the board however its request ends.
class worker_desk::open_poll {
public:
    open_poll(worker_desk& desk, worker_session& session, std::shared_ptr<waiting_poll> poll)
        : desk_(desk), poll_(std::move(poll)) {
        if (const std::shared_ptr<waiting_poll> former = session.open.lock()) {
            former->end(poll_answer::verdict::none);
        }
        session.open = poll_;
        desk_.claimer_.add(poll_, session);
    }
    open_poll(const open_poll&) = delete;
    open_poll& operator=(const open_poll&) = delete;
    ~open_poll() { desk_.claimer_.remove(*poll_); }

private:
    worker_desk& desk_;
    const std::shared_ptr<waiting_poll> poll_;
};

worker_desk::worker_desk(store_client& store, const wall_clock& time, const event_log& log,
                         handler_registry& handlers, settlement_builder& builder,
                         claim_trigger& claims, task_metrics& metrics, tracer& traces,
                         const service_options& options)
    : store_(store),
      time_(time),
      log_(log),
      handlers_(handlers),
      terms_{.lease = options.worker_lease, .heartbeat = options.worker_lease / 3},
      sessions_(store),
      runs_(store, time, log, builder, claims, metrics, traces, options),
      claimer_(store, time, log, sessions_, runs_, options),
      beats_(store, time) {}

task<> worker_desk::run() {
    auto body = [this](task_group& group) -> task<> {
        group.spawn(claimer_.run(), {.name = "service worker claimer"});
        group.spawn(beats_.run(), {.name = "service worker heartbeats"});
        co_await watch();
    };
    co_await with_group(body);
}

void worker_desk::close() {
    is_closed_ = true;
    claimer_.end_all(poll_answer::verdict::none);
}

void worker_desk::begin_use() {
    if (!std::exchange(is_used_, true) && on_first_use_) {
        on_first_use_();
    }
}

// ---- sessions

void worker_desk::check_new(const std::vector<std::string>& kinds) const {
    if (sessions_.size() >= max_sessions) {
        throw too_many_workers("there are " + std::to_string(max_sessions) +
                               " workers, as many as there may be at one server");
    }
    for (const std::string& each : kinds) {
        if (handlers_.find(each) != nullptr) {
            throw invalid_value("kinds", "the kind " + base::quoted(each, 60) +
                                             " has a handler in the service: workers cannot take "
                                             "its tasks");
        }
    }
}

std::string worker_desk::fresh_id() {
    std::array<unsigned char, 16> bytes{};
    std::random_device random;
    for (std::size_t i = 0; i < bytes.size(); i += 4) {
        const unsigned number = random();
        for (std::size_t j = 0; j < 4; ++j) {
            bytes[i + j] = static_cast<unsigned char>(number >> (8 * j));
        }
    }
    return to_hex(bytes);
}

task<std::string> worker_desk::add(new_worker worker) {
    check_new(worker.kinds);
    worker_record record;
    record.name = std::move(worker.name);
    record.kinds = std::move(worker.kinds);
    record.queues = std::move(worker.queues);
    record.sdk = std::move(worker.sdk);
    bool is_added = false;
    while (!is_added) {  // two equal numbers of 128 bits are not expected
        record.id = fresh_id();
        const moment now = time_.moment_now();
        record.started_at = now.at;
        record.expires_at = now.steady + to_microseconds(terms_.lease);
        is_added = co_await store_.write(store_->add_worker(record, now));
    }
    begin_use();
    handlers_.remote().add(record.kinds);
    sessions_.add(record);
    co_return record.id;
}

task<bool> worker_desk::drain(std::string worker) {
    const bool is_known = co_await store_.write(store_->drain_worker(worker, time_.moment_now()));
    tell(worker);
    co_return is_known;
}

task<bool> worker_desk::remove(std::string worker) {
    const bool is_known = co_await store_.write(store_->remove_worker(worker, time_.moment_now()));
    runs_.forget_all_of(worker);
    if (const std::shared_ptr<worker_session> session = sessions_.known(worker)) {
        if (const std::shared_ptr<waiting_poll> open = session->open.lock()) {
            open->end(poll_answer::verdict::gone);
        }
        sessions_.forget(worker);
    }
    co_return is_known;
}

// Ends the open poll, or the next one, so that the worker sends a heartbeat.
void worker_desk::tell(const std::string& worker) {
    const std::shared_ptr<worker_session> session = sessions_.known(worker);
    if (session == nullptr) {
        return;
    }
    const std::shared_ptr<waiting_poll> open = session->open.lock();
    if (open == nullptr || open->is_over() || open->is_in_flight()) {
        session->has_news = true;
    }
    if (open != nullptr) {
        open->end(poll_answer::verdict::none);
    }
}

// ---- polls

task<poll_answer> worker_desk::poll(std::string worker, worker_poll request) {
    if (is_closed_) {
        co_return poll_answer(poll_answer::verdict::draining);
    }
    begin_use();
    const std::shared_ptr<worker_session> session = co_await sessions_.find(worker);
    if (session == nullptr) {
        co_return poll_answer(poll_answer::verdict::gone);
    }
    if (request.number < session->last_poll) {
        co_return poll_answer(poll_answer::verdict::outdated);
    }
    session->last_poll = request.number;
    if (std::exchange(session->has_news, false)) {
        co_return poll_answer(poll_answer::verdict::none);
    }
    const clock::time_point until = weir::detail::after(weir::now(), request.wait);
    const auto waiting = std::make_shared<waiting_poll>(std::move(worker), std::move(request));
    const open_poll guard(*this, *session, waiting);
    co_await wait_until(waiting->done, until);
    waiting->end_after_look(poll_answer::verdict::none);
    co_await wait_until(waiting->done, weir::now() + look_limit);
    session->heard_at = weir::now();
    if (waiting->is_uncertain()) {
        throw store_unavailable("whether tasks were claimed is not known: repeat the poll");
    }
    co_return std::move(waiting->answer);
}

task<worker_news> worker_desk::heartbeat(std::string worker, worker_heartbeat beat) {
    std::vector<run_key> keys;
    keys.reserve(beat.running.size());
    for (const reported_run& each : beat.running) {
        keys.push_back(each.key);
    }
    co_await runs_.learn(worker, std::move(keys));
    worker_beat sent;
    sent.worker = worker;
    sent.free = beat.free;
    sent.polled_at = time_.steady() - to_microseconds(beat.poll_age);
    sent.answered_poll = beat.answered_poll;
    if (const std::shared_ptr<worker_session> session = sessions_.known(worker)) {
        session->heard_at = weir::now();
        session->has_news = false;  // news from now on may not be part of the answer
    }
    const worker_answer answer = co_await renew(std::move(sent), beat.running, terms_.lease);
    worker_news news;
    news.is_alive = answer.is_alive;
    news.is_draining = answer.is_draining;
    news.cancel = answer.cancelling;
    news.lost = answer.lost;
    co_return news;
}

task<worker_answer> worker_desk::renew(worker_beat beat, std::span<const reported_run> running,
                                       clock::duration lease) {
    const std::string worker = beat.worker;
    beat.expires_at = time_.steady() + to_microseconds(lease);
    for (const reported_run& each : running) {
        beat.running.push_back(each.key);
        if (each.progress.has_value() || !each.message.empty()) {
            progress_note& note = beat.progress.emplace_back();
            note.key = each.key;
            note.progress = each.progress.value_or(0);
            note.message =
                storable_text(runs_.shown_message(each.key, each.message), max_message_bytes);
        }
    }
    worker_answer answer = co_await beats_.renew(std::move(beat));
    if (!answer.is_alive) {
        runs_.forget_all_of(worker);
        sessions_.forget(worker);
    }
    for (const std::vector<run_key>* const gone : {&answer.lost, &answer.given_back}) {
        for (const run_key& each : *gone) {
            runs_.forget(worker, each);
        }
    }
    for (const run_key& each : answer.cancelling) {
        runs_.note_cancelling(each.id);
    }
    co_return answer;
}

task<std::vector<result_verdict>> worker_desk::settle(std::string worker,
                                                      std::vector<worker_result> results) {
    return runs_.settle(std::move(worker), std::move(results));
}

task<step_answer> worker_desk::keep_step(std::string worker, run_key key, step_record step) {
    step.kept_at = time_.now();
    step_answer answer = co_await store_.write(store_->keep_step(worker, key, std::move(step)));
    co_return answer;
}

// ---- single tasks

task<worker_desk::claimed_one> worker_desk::claim_one(single_claim request) {
    std::vector<std::string> kinds(1, request.kind);
    check_new(kinds);
    claimed_one claimed;
    if (is_closed_) {
        claimed.is_draining = true;
        co_return claimed;
    }
    const bool is_repeatable = !request.request_id.empty();
    worker_record record;
    record.id = is_repeatable ? id_of_request(request.name, request.request_id) : fresh_id();
    record.name = std::move(request.name);
    record.kinds = std::move(kinds);
    record.queues = std::move(request.queues);
    record.sdk = "claim";
    const moment now = time_.moment_now();
    record.started_at = now.at;
    record.expires_at = now.steady + to_microseconds(request.wait + single_claim_margin);
    co_await store_.write(store_->add_worker(record, now));  // false: the request is repeated
    begin_use();
    handlers_.remote().add(record.kinds);
    sessions_.add(record);
    claimed.worker = record.id;
    worker_poll wanted;
    wanted.number = 1;
    wanted.wait = request.wait;
    wanted.is_client_connected = std::move(request.is_client_connected);
    poll_answer answer = co_await poll(record.id, std::move(wanted));
    if (answer.what == poll_answer::verdict::claimed) {
        claimed.task = std::move(answer.tasks.at(0));
        std::vector<reported_run> running(1);
        running[0].key = {claimed.task->task.id, claimed.task->task.run};
        worker_beat first;
        first.worker = record.id;
        co_await renew(std::move(first), running, request.lease);
    } else {
        claimed.is_draining = answer.what == poll_answer::verdict::draining;
        // A repeated request, at this server or another one, waits in the same session, or has got
        // its task there: that session ends by its lease.
        if (!is_repeatable) {
            co_await remove(record.id);
        }
    }
    co_return claimed;
}

task<worker_news> worker_desk::extend(std::string worker, reported_run run, clock::duration lease) {
    std::vector<run_key> keys(1, run.key);
    co_await runs_.learn(worker, std::move(keys));
    std::vector<reported_run> running;
    running.push_back(std::move(run));
    worker_beat beat;
    beat.worker = std::move(worker);
    const worker_answer answer = co_await renew(std::move(beat), running, lease);
    worker_news news;
    news.is_alive = answer.is_alive;
    news.cancel = answer.cancelling;
    news.lost = answer.lost;
    co_return news;
}

// ---- lists

task<worker_overview> worker_desk::overview() {
    worker_overview found;
    found.workers = co_await store_.call(store_->workers());
    found.kinds = co_await store_.call(store_->worker_kinds(time_.moment_now()));
    found.now = time_.moment_now();
    co_return found;
}

task<bool> worker_desk::forget_kind(std::string kind) {
    const bool was_known = co_await store_.write(store_->forget_worker_kind(kind));
    handlers_.remote().remove(kind);
    co_return was_known;
}

bool worker_desk::may_learn(const std::string& kind) const {
    const bool is_known = handlers_.find(kind) != nullptr || handlers_.remote().contains(kind);
    return !is_known && (kinds_read_at_ == clock::time_point::min() ||
                         weir::now() >= kinds_read_at_ + min_kinds_age);
}

task<> worker_desk::learn_kinds() {
    return read_kinds();
}

task<> worker_desk::read_kinds() {
    kinds_read_at_ = weir::now();
    const std::vector<worker_kind> found =
        co_await store_.call(store_->worker_kinds(time_.moment_now()));
    std::vector<std::string> registered;
    for (const worker_kind& each : found) {
        if (each.is_known) {
            registered.push_back(each.kind);
        }
    }
    handlers_.remote().set_registered(registered);
    warn_unserved(found);
}

void worker_desk::warn_unserved(std::span<const worker_kind> kinds) {
    std::set<std::string> unserved;
    for (const worker_kind& each : kinds) {
        if (each.due > 0 && each.workers == 0) {
            unserved.insert(each.kind);
            if (!unserved_.contains(each.kind)) {
                log_.write(log_level::warning, "no worker takes tasks of the kind " +
                                                   base::quoted(each.kind, 100) + ": " +
                                                   std::to_string(each.due) + " wait");
            }
        }
    }
    unserved_ = std::move(unserved);
}

task<> worker_desk::watch() {
    for (;;) {
        try {
            if (kinds_read_at_ == clock::time_point::min() ||
                weir::now() >= kinds_read_at_ + kinds_interval) {
                co_await read_kinds();
            }
            auto told = [this](const std::string& worker) { tell(worker); };
            co_await runs_.end_overdue(told);
        } catch (const std::exception&) {
            // The store_client has logged it if the store is unavailable.
        }
        sessions_.forget_silent(weir::now() - 3 * terms_.lease);
        co_await sleep(watch_interval);
    }
}

// ---- news of the store

void worker_desk::changed(std::span<const task_event> events) noexcept {
    if (sessions_.size() == 0) {
        return;
    }
    claimer_.tasks_changed(events);
    for (const task_event& each : events) {
        if (each.view == task_view::cancelling) {
            if (const std::string* const worker = runs_.note_cancelling(each.id)) {
                tell(*worker);
            }
        }
    }
}

void worker_desk::queue_changed(std::string_view) noexcept {
    claimer_.queue_changed();
}

void worker_desk::write_metrics(metric_writer& to) const {
    to.gauge("weir_worker_polls", "Polls of workers that wait here.", {},
             static_cast<double>(claimer_.waiting()));
    to.gauge("weir_worker_sessions", "Sessions of workers that have called here lately.", {},
             static_cast<double>(sessions_.size()));
}

}  // namespace weir::service::detail
