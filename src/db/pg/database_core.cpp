// SPDX-License-Identifier: MIT
// A query goes to a line that has nothing to do; if there is none, another line is got from the
// pool, up to the number that may be shared. Then it goes behind the others on the line with the
// fewest, unless every line has as many as it may have, or works on one query for so long already
// that it would be bad luck to stand behind it. What waits here, for a new line or for these, goes
// to the first one that is new, or has just answered something.

#include "db/pg/database_core.hpp"

#include "db/pg/values/server_error.hpp"

#include <weir/error.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::pg::detail {

namespace {

constexpr std::chrono::milliseconds slow(20);  // nobody is put behind a query that runs for longer
constexpr std::chrono::seconds longest_hold(60);  // then the pool gets it back, to see to its age

pool_options adapted(pool_options given, const connect_options& where) {
    if (given.name == pool_options().name) {
        given.name = "postgres";
    }
    // Ours says more when it is over.
    given.connect_timeout =
        std::max(given.connect_timeout, where.connect_timeout + std::chrono::seconds(1));
    return given;
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

std::size_t shared_of(const database_options& options) {
    constexpr std::size_t most = 16;
    const std::size_t usual = std::min(options.pool.max - options.pool.max / 4, most);
    return options.shared != 0 ? options.shared : usual;
}

// Back from a lease: what was stopped on it must have ended, and transactions with it.
task<> reset(std::shared_ptr<session> on) {
    co_await session::quiet(on);
    if (!on->is_open() || on->is_in_transaction()) {
        throw connection_error("pg: a connection came back lost, or inside a transaction",
                               db::retry_advice::no);
    }
}

pool_functions<connection> functions(const std::shared_ptr<const endpoint>& at,
                                     const session_settings& settings) {
    return {.connect = [at, settings] { return open_session(at, settings); },
            .check = [](connection& each) { return each.is_open(); },
            .reset = [](connection& each) { return reset(each.opened()); }};
}

}  // namespace

lines::lines(const connect_options& where, const database_options& options)
    : counts_(std::make_shared<session_counts>()),
      at_((check(where), std::make_shared<const endpoint>(where))),
      shared_(shared_of(checked(options))),
      pipeline_(options.pipeline),
      pool_(adapted(options.pool, where), functions(at_, session_settings(where, counts_))) {}

lines::~lines() {
    close();
}

// ---- queries
// -----------------------------------------------------------------------------------------

bool lines::enter(query_call& asked) noexcept {
    if (is_closed_ || is_draining_) {
        asked.failure_ = closed_error();
        return false;
    }
    if (waiting_.empty()) {
        if (line* const free = choose()) {
            return free->on->enter(asked);
        }
    }
    waiting_.push_back(asked);
    grow();
    return true;
}

bool lines::takes_more(const line& each, clock::time_point at) const noexcept {
    return !each.is_leaving && each.on->is_open() && !each.on->is_holding() &&
           each.on->load() < pipeline_ && !each.on->is_slow(at, slow);
}

lines::line* lines::choose() {
    line* least = nullptr;
    const clock::time_point at = now();
    for (line& each : lines_) {
        if (takes_more(each, at) && (least == nullptr || each.on->load() < least->on->load())) {
            least = &each;
        }
    }
    if (least != nullptr && least->on->load() == 0) {
        return least;
    }
    grow();
    return growing_ == 0 ? least : nullptr;
}

void lines::give(line& to, std::size_t most) {
    const clock::time_point at = now();
    for (; most > 0 && !waiting_.empty() && takes_more(to, at); --most) {
        to.on->enter(*waiting_.pop_front());
    }
}

void lines::fail_waiting(const std::exception_ptr& why) noexcept {
    while (query_call* const each = waiting_.pop_front()) {
        each->fail(why);
    }
}

std::exception_ptr lines::closed_error() const {
    return std::make_exception_ptr(
        connection_error("pg: the database is closed", db::retry_advice::no));
}

// ---- lines
// -------------------------------------------------------------------------------------------

void lines::grow() noexcept {
    const auto staying = static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [](const line& each) { return !each.is_leaving; }));
    if (is_closed_ || staying + growing_ >= shared_) {
        return;
    }
    ++growing_;
    try {
        std::erase_if(growers_, [](const handle<void>& each) { return each.done(); });
        growers_.push_back(spawn(add_line(shared_from_this()), {.name = "postgres line"}));
    } catch (...) {  // no memory, or the loop is ending
        --growing_;
        if (lines_.empty() && growing_ == 0) {
            fail_waiting(std::current_exception());
        }
    }
}

task<> lines::add_line(std::shared_ptr<lines> own) {
    struct at_the_end {
        lines& of;
        std::exception_ptr why;
        ~at_the_end() {
            --of.growing_;
            if (of.lines_.empty() && of.growing_ == 0) {
                of.fail_waiting(why != nullptr ? why : of.closed_error());
            }
            if (of.is_draining_ && of.is_idle()) {
                of.idle_.set();
            }
        }
    };
    at_the_end tells{*own, nullptr};
    try {
        lease<connection> got = co_await own->pool_.acquire();
        while (!got->is_open() && !own->is_closed_) {  // lost on the way here: nobody would be told
            got.invalidate();
            got = co_await own->pool_.acquire();
        }
        if (own->is_closed_) {
            co_return;
        }
        session* const on = got->opened().get();
        line& added = own->lines_.emplace_back(line{std::move(got), on, now()});
        on->set_owner(own.get());
        // Its share: others are on their way.
        own->give(added, (own->waiting_.size() + own->growing_ - 1) / own->growing_);
        if (own->is_draining_) {
            own->has_room(*on);
        }
    } catch (const std::exception&) {
        tells.why = std::current_exception();
    }
}

void lines::release(std::list<line>::iterator gone) noexcept {
    gone->on->set_owner(nullptr);
    lines_.erase(gone);
    if (is_draining_ && is_idle()) {
        idle_.set();
    }
}

void lines::has_room(session& from) noexcept {
    const auto at = std::find_if(lines_.begin(), lines_.end(),
                                 [&](const line& each) { return each.on == &from; });
    if (at == lines_.end()) {
        return;
    }
    if (!waiting_.empty() && (from.load() == 0 || from.has_answered())) {
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

void lines::was_lost(session& from, query_list& unsent) noexcept {
    for (auto each = lines_.begin(); each != lines_.end(); ++each) {
        if (each->on == &from) {
            each->held.invalidate();
            lines_.erase(each);
            break;
        }
    }
    if (is_closed_) {
        return;
    }
    waiting_.prepend(unsent);
    while (!waiting_.empty()) {
        line* const other = choose();
        if (other == nullptr) {
            break;
        }
        other->on->enter(*waiting_.pop_front());
    }
    if (is_draining_ && is_idle()) {
        idle_.set();
    }
}

void lines::make_room() {
    const pool_stats now_there = pool_.stats();
    if (now_there.idle > 0 ||
        now_there.size() + now_there.connecting + now_there.closing < now_there.max) {
        return;
    }
    line* least = nullptr;
    for (line& each : lines_) {
        if (!each.is_leaving && (least == nullptr || each.on->load() < least->on->load())) {
            least = &each;
        }
    }
    if (least != nullptr) {
        least->is_leaving = true;
        has_room(*least->on);
    }
}

// ---- the end
// -----------------------------------------------------------------------------------------

task<> lines::drain(std::shared_ptr<lines> own) {
    own->is_draining_ = true;
    for (auto each = own->lines_.begin(); each != own->lines_.end();) {
        session& on = *(each++)->on;
        own->has_room(on);
    }
    while (!own->is_idle()) {
        own->idle_.clear();
        co_await own->idle_.wait();
    }
}

void lines::close() noexcept {
    if (std::exchange(is_closed_, true)) {
        return;
    }
    fail_waiting(closed_error());
    // Gone before it ends, so that it cannot tell.
    for (line& each : lines_) {
        each.on->set_owner(nullptr);
        each.held.invalidate();
        each.held->close();
    }
    lines_.clear();
    for (const handle<void>& each : growers_) {
        each.cancel();
    }
    idle_.set();
}

database_stats lines::stats() const noexcept {
    database_stats all;
    all.pool = pool_.stats();
    all.lines = lines_.size();
    all.waiting = waiting_.size();
    for (const line& each : lines_) {
        all.under_way += each.on->load();
    }
    all.queries = counts_->queries;
    all.batches = counts_->batches;
    all.prepared = counts_->prepared;
    all.cancels = counts_->cancels;
    all.resent = counts_->resent;
    all.lost = counts_->lost;
    return all;
}

void lines::write_metrics(metric_writer& to) const {
    pool_.write_metrics(to);
    const database_stats all = stats();
    const metric_writer::labels with = {{"name", pool_.name()}};
    const auto count = [](std::uint64_t number) { return static_cast<double>(number); };
    to.counter("weir_pg_queries_total", "Queries sent.", with, count(all.queries));
    to.counter("weir_pg_batches_total", "Steps in which they were sent.", with, count(all.batches));
    to.counter("weir_pg_cancels_total", "Requests to cancel a query.", with, count(all.cancels));
    to.counter("weir_pg_resent_total", "Queries undone by what others did, and sent again.", with,
               count(all.resent));
    to.counter("weir_pg_lost_total", "Queries whose connection was lost.", with, count(all.lost));
    to.gauge("weir_pg_lines", "Connections shared by single queries.", with, count(all.lines));
    to.gauge("weir_pg_waiting", "Single queries that wait for a connection.", with,
             count(all.waiting));
    to.gauge("weir_pg_under_way", "Single queries that have a connection.", with,
             count(all.under_way));
}

}  // namespace weir::pg::detail
