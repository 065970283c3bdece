// SPDX-License-Identifier: MIT
// A query goes to an idle line; if there is none, another connection of the pool becomes a line, up
// to the maximum. Then queries go to the line with the lowest load, unless every line has its
// maximum, or has been working on one query for so long that another would wait behind it. Queries
// that wait here go to the first line that is new or has just answered a query.

#include "db/pg/database_core.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/db/pg/detail/connection_use.hpp>
#include <weir/error.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::pg::detail {

namespace {

// No query is put behind one that has been running for longer.
constexpr std::chrono::milliseconds slow(20);
// Then a line goes back to the pool, which closes connections by age.
constexpr std::chrono::seconds longest_hold(60);

pool_options adapted(pool_options options, const connect_options& server) {
    if (options.name == pool_options().name) {
        options.name = "postgres";
    }
    // The connector's timeout expires first: its error says more.
    options.connect_timeout =
        std::max(options.connect_timeout, server.connect_timeout + std::chrono::seconds(1));
    return options;
}

const database_options& checked(const database_options& options) {
    if (options.shared > options.pool.max) {
        throw invalid_argument("pg::database: shared is " + std::to_string(options.shared) +
                               "; it must be at most pool.max, which is " +
                               std::to_string(options.pool.max));
    }
    if (options.pipeline == 0) {
        throw invalid_argument("pg::database: pipeline is 0; it must be at least 1");
    }
    return options;
}

std::size_t max_lines_of(const database_options& options) {
    constexpr std::size_t largest_default = 16;
    return options.shared != 0 ? options.shared
                               : std::min(options.pool.max - options.pool.max / 4, largest_default);
}

// Before a connection returns to the pool: stopped queries must have ended, and no transaction may
// be open.
task<> reset(std::shared_ptr<session> returned) {
    co_await session::quiet(returned);
    if (!returned->is_open() || returned->is_in_transaction()) {
        throw connection_error("pg: a connection was returned lost, or inside a transaction",
                               db::retry_advice::no);
    }
}

pool_functions<connection> functions(const std::shared_ptr<const connector>& server,
                                     const session_settings& settings) {
    return {.connect = [server, settings] { return open_session(server, settings); },
            .check = [](connection& each) { return each.is_open(); },
            .reset = [](connection& each) { return reset(each.session()); }};
}

}  // namespace

database_core::database_core(const connect_options& server, const database_options& options)
    : counts_(std::make_shared<session_counts>()),
      server_((check(server), std::make_shared<const connector>(server))),
      max_lines_(max_lines_of(checked(options))),
      max_pipelined_(options.pipeline),
      pool_(adapted(options.pool, server), functions(server_, session_settings(server, counts_))) {}

database_core::~database_core() {
    close();
}

// ---- queries

bool database_core::enter(query_call& query) noexcept {
    if (is_closed_ || is_draining_) {
        query.refuse(closed_error());
        return false;
    }
    if (is_all(connection_use::held_around(query.task(), this))) {
        query.refuse(inside_itself_error());
        return false;
    }
    if (waiting_.empty()) {
        if (line* const chosen = choose()) {
            return chosen->session->enter(query);
        }
    }
    waiting_.push_back(query, *this);
    grow();
    return true;
}

void database_core::withdraw(query_call& query) noexcept {
    query_list::remove(query);
}

bool database_core::takes_more(const line& each, clock::time_point now) const noexcept {
    return !each.is_leaving && each.session->is_open() && !each.session->is_cancelling() &&
           each.session->load() < max_pipelined_ && !each.session->is_slow(now, slow);
}

database_core::line* database_core::choose() {
    line* least = nullptr;
    const clock::time_point now = weir::now();
    for (line& each : lines_) {
        if (takes_more(each, now) &&
            (least == nullptr || each.session->load() < least->session->load())) {
            least = &each;
        }
    }
    if (least != nullptr && least->session->load() == 0) {
        return least;
    }
    grow();
    return growing_ == 0 ? least : nullptr;
}

void database_core::give(line& to, std::size_t most) {
    const clock::time_point now = weir::now();
    for (; most > 0 && !waiting_.empty() && takes_more(to, now); --most) {
        to.session->enter(*waiting_.pop_front());
    }
}

void database_core::fail_waiting(const std::exception_ptr& error) noexcept {
    while (query_call* const each = waiting_.pop_front()) {
        each->fail(error);
    }
}

std::exception_ptr database_core::closed_error() const {
    return std::make_exception_ptr(
        connection_error("pg: the database is closed", db::retry_advice::no));
}

std::exception_ptr database_core::inside_itself_error() const {
    return std::make_exception_ptr(invalid_state(
        "pg: the database is used inside a transaction of its own that has the last connection of "
        "the pool, and would wait for that to end; use the transaction that the body was given, or "
        "a larger pool.max"));
}

void database_core::check_not_inside_itself() const {
    if (is_all(connection_use::held_around_current(this))) {
        std::rethrow_exception(inside_itself_error());
    }
}

// ---- lines

void database_core::grow() noexcept {
    const auto staying = static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [](const line& each) { return !each.is_leaving; }));
    if (is_closed_ || staying + growing_ >= max_lines_) {
        return;
    }
    ++growing_;
    try {
        std::erase_if(growers_, [](const handle<void>& each) { return each.done(); });
        growers_.push_back(spawn(add_line(shared_from_this()), {.name = "postgres line"}));
    } catch (...) {  // out of memory, or the loop is ending
        --growing_;
        if (lines_.empty() && growing_ == 0) {
            fail_waiting(std::current_exception());
        }
    }
}

task<> database_core::add_line(std::shared_ptr<database_core> self) {
    struct end_guard {
        database_core& core;
        std::exception_ptr error;
        ~end_guard() {
            --core.growing_;
            if (core.lines_.empty() && core.growing_ == 0) {
                core.fail_waiting(error != nullptr ? error : core.closed_error());
            }
            if (core.is_draining_ && core.is_idle()) {
                core.idle_.set();
            }
        }
    };
    end_guard guard{*self, nullptr};
    try {
        lease<connection> leased = co_await self->pool_.acquire();
        // A connection that was lost before it has an owner would tell no one.
        while (!leased->is_open() && !self->is_closed_) {
            leased.invalidate();
            leased = co_await self->pool_.acquire();
        }
        if (self->is_closed_) {
            co_return;
        }
        session* const on = leased->session().get();
        line& added = self->lines_.emplace_back(line{std::move(leased), on, now()});
        on->set_owner(self.get());
        // Its share of the waiting queries: other lines are being added.
        self->give(added, (self->waiting_.size() + self->growing_ - 1) / self->growing_);
        if (self->is_draining_) {
            self->has_room(*on, false);
        }
    } catch (const std::exception&) {
        guard.error = std::current_exception();
    }
}

void database_core::release(std::list<line>::iterator gone) noexcept {
    gone->session->set_owner(nullptr);
    lines_.erase(gone);
    if (is_draining_ && is_idle()) {
        idle_.set();
    }
}

void database_core::has_room(session& from, bool has_answered) noexcept {
    const auto at = std::find_if(lines_.begin(), lines_.end(),
                                 [&](const line& each) { return each.session == &from; });
    if (at == lines_.end()) {
        return;
    }
    if (!waiting_.empty() && (from.load() == 0 || has_answered)) {
        give(*at, waiting_.size());
    }
    if (from.is_quiet() && waiting_.empty() &&
        (at->is_leaving || is_draining_ || now() - at->since > longest_hold)) {
        release(at);
    } else if (from.is_quiet() && at->is_leaving) {
        release(at);
        grow();
    }
}

void database_core::was_lost(session& from, query_list& unsent) noexcept {
    for (auto each = lines_.begin(); each != lines_.end(); ++each) {
        if (each->session == &from) {
            each->leased.invalidate();
            lines_.erase(each);
            break;
        }
    }
    if (is_closed_) {
        return;
    }
    waiting_.prepend(unsent, *this);
    while (!waiting_.empty()) {
        line* const other = choose();
        if (other == nullptr) {
            break;
        }
        other->session->enter(*waiting_.pop_front());
    }
    if (is_draining_ && is_idle()) {
        idle_.set();
    }
}

void database_core::make_room() {
    const pool_stats pooled = pool_.stats();
    if (pooled.idle > 0 || pooled.size() + pooled.connecting + pooled.closing < pooled.max) {
        return;
    }
    line* least = nullptr;
    for (line& each : lines_) {
        if (!each.is_leaving &&
            (least == nullptr || each.session->load() < least->session->load())) {
            least = &each;
        }
    }
    if (least != nullptr) {
        least->is_leaving = true;
        has_room(*least->session, false);
    }
}

// ---- the end

task<> database_core::drain(std::shared_ptr<database_core> self) {
    self->is_draining_ = true;
    for (auto each = self->lines_.begin(); each != self->lines_.end();) {
        session& on = *(each++)->session;
        self->has_room(on, false);
    }
    while (!self->is_idle()) {
        self->idle_.clear();
        co_await self->idle_.wait();
    }
}

void database_core::close() noexcept {
    if (std::exchange(is_closed_, true)) {
        return;
    }
    fail_waiting(closed_error());
    // Without an owner, a session that ends calls nothing back.
    for (line& each : lines_) {
        each.session->set_owner(nullptr);
        each.leased.invalidate();
        each.leased->close();
    }
    lines_.clear();
    for (const handle<void>& each : growers_) {
        each.cancel();
    }
    idle_.set();
}

database_stats database_core::stats() const noexcept {
    database_stats all;
    all.pool = pool_.stats();
    all.lines = lines_.size();
    all.waiting = waiting_.size();
    for (const line& each : lines_) {
        all.under_way += each.session->load();
    }
    all.queries = counts_->queries;
    all.batches = counts_->batches;
    all.prepared = counts_->prepared;
    all.cancels = counts_->cancels;
    all.resent = counts_->resent;
    all.lost = counts_->lost;
    return all;
}

void database_core::write_metrics(metric_writer& to) const {
    pool_.write_metrics(to);
    const database_stats all = stats();
    const metric_writer::labels labels = {{"name", pool_.name()}};
    const auto count = [](std::uint64_t number) { return static_cast<double>(number); };
    to.counter("weir_pg_queries_total", "Queries sent.", labels, count(all.queries));
    to.counter("weir_pg_batches_total", "Batches in which queries were sent.", labels,
               count(all.batches));
    to.counter("weir_pg_cancels_total", "Requests to cancel a query.", labels, count(all.cancels));
    to.counter("weir_pg_resent_total",
               "Queries sent again, after a cancellation or a changed table.", labels,
               count(all.resent));
    to.counter("weir_pg_lost_total", "Queries whose connection was lost.", labels, count(all.lost));
    to.gauge("weir_pg_lines", "Connections shared by single queries.", labels, count(all.lines));
    to.gauge("weir_pg_waiting", "Single queries that wait for a connection.", labels,
             count(all.waiting));
    to.gauge("weir_pg_under_way", "Single queries on a shared connection.", labels,
             count(all.under_way));
}

}  // namespace weir::pg::detail
