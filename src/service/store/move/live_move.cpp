// SPDX-License-Identifier: MIT
// Until the end, nothing but the marks in both stores and the notes of changes in the source is
// needed to continue: run() finds out how far the target is, as after a crash.
//
// The switch: writes wait at the gate, the source is fenced in a transaction of its own, and one
// transaction of the target has the last changes and the mark that it has arrived. If its commit
// cannot be confirmed, the target decides: until it answers, neither store takes writes.

#include "service/store/move/live_move.hpp"

#include "service/store/move/lease_check.hpp"
#include "service/store/sql_backends.hpp"

#include <weir/cancel.hpp>
#include <weir/loop.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {

// So few changes are copied while writes wait.
constexpr std::uint64_t last_changes = 3000;
constexpr clock::duration longest_slow_down = 200ms;

[[noreturn]] void refuse_live_move(const std::string& why) {
    throw store_unavailable(why, db::retry_advice::no);
}

std::int64_t random_move_number() {
    std::random_device source;
    return static_cast<std::int64_t>((std::uint64_t{source()} << 31) ^ source()) | 1;
}

task<move_mark> read_mark(sql_backend& store) {
    move_mark mark;
    const sql_work look = [&mark](sql_session& session) { mark = read_move_mark(session); };
    co_await store.read(look);
    co_return mark;
}

task<> write_mark(sql_backend& store, move_mark mark) {
    const sql_work note = [mark](sql_session& session) { write_move_mark(session, mark); };
    co_await store.write(note, sql_commit::synced);
}

task<std::shared_ptr<sql_backend>> open_backend(std::string database, sqlite_store_options sqlite,
                                                postgres_store_options postgres) {
    std::shared_ptr<sql_backend> opened;
    if (is_postgres_url(database)) {
        opened = co_await open_postgres_backend(std::move(database), std::move(postgres));
    } else {
        opened = co_await open_sqlite_backend(std::move(database), sqlite);
    }
    co_return opened;
}

// What is copied as a whole, and the changes of all other tables.
struct last_rows {
    std::vector<row_changes> changes;  // by table
    std::vector<sql_values> nodes;
    std::int64_t pool_turns = 0;
    std::optional<timestamp> steady;  // of this process's node
};

last_rows read_last_rows(sql_session& session, const std::vector<table_layout>& tables,
                         timestamp loop_time, bool is_for_postgres) {
    constexpr std::size_t no_limit = 1'000'000'000;
    last_rows read;
    for (const table_layout& each : tables) {
        row_changes& changes = read.changes.emplace_back();
        if (change_notes::has_notes(each)) {
            changes = change_notes::read(session, each, no_limit, {});
        } else {
            for (const sqlite::row row : session.fetch(each.select_range({}, {}), {})) {
                sql_values& values = changes.rows.emplace_back();
                for (std::size_t i = 0; i < row.size(); ++i) {
                    values.push_back(row[i]);
                }
            }
        }
        for (sql_values& row : changes.rows) {
            if (is_for_postgres) {
                replace_nul(row);
            }
        }
    }
    read.pool_turns =
        session.query("SELECT value FROM meta WHERE name = 'pool_turns'").one<std::int64_t>();
    read.steady = steady_time_of_node(session, loop_time);
    return read;
}

void write_last_rows(sql_session& session, const std::vector<table_layout>& tables,
                     const last_rows& rows) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (change_notes::has_notes(tables[i])) {
            apply_changes(session, tables[i], rows.changes[i]);
            check_changes(session, tables[i], rows.changes[i]);
        } else {
            session.run("DELETE FROM " + tables[i].name, {});
            insert_all(session, tables[i], rows.changes[i].rows);
        }
    }
    session.execute("UPDATE meta SET value = ? WHERE name = 'pool_turns'", rows.pool_turns);
}

// The times of the store stay on the clock that they are on.
void keep_clock(sql_session& session, timestamp steady) {
    session.execute("DELETE FROM meta WHERE name = 'clock_shift'");
    if (const std::optional<timestamp> server = session.server_time()) {
        session.execute("INSERT INTO meta(name, value) VALUES ('clock_shift', ?)",
                        (steady - *server).count());
    }
}

}  // namespace

// ---- before it begins

task<> live_move::open() {
    from_ = gate_.current();
    to_ = co_await open_backend(plan_.to, plan_.sqlite, plan_.postgres);
    sql_backend& file = plan_.is_to_postgres() ? *from_ : *to_;
    const sql_work look = [this](sql_session& session) { tables_ = read_layouts(session); };
    co_await file.read(look);
}

task<> live_move::close() {
    gate_.slow_down(clock::duration(0));
    if (to_ != nullptr && !has_ended_) {
        co_await to_->close();
        to_ = nullptr;
    }
}

task<move_report> live_move::check() {
    source_ = co_await read_mark(*from_);
    target_ = co_await read_mark(*to_);
    move_report report;
    const timestamp loop_time = loop_timestamp();
    const sql_work check_source = [&](sql_session& session) {
        check_not_moved(session, "the store");
        check_is_unserved(session, loop_time, true);
        report = {};
        for (const table_layout& each : tables_) {
            report.rows += session.query(each.count_rows()).one<std::uint64_t>();
        }
        for (const sqlite::row each :
             session.query("SELECT state, count(*) FROM tasks GROUP BY state")) {
            report.tasks.at(each.get<std::size_t>(0)) = each.get<std::uint64_t>(1);
        }
    };
    co_await from_->read(check_source);
    if (target_.phase == move_phase::arriving) {
        co_return report;  // of this move, or thrown away
    }
    if (target_.phase != move_phase::normal && target_.phase != move_phase::arrived) {
        refuse_live_move("the target was itself moved to another database: choose an empty one");
    }
    const sql_work check_target = [](sql_session& session) {
        for (const char* const table : {"tasks", "queues", "schedules", "task_groups", "nodes"}) {
            const std::string sql = std::string("SELECT 1 FROM ") + table + " LIMIT 1";
            if (!session.query(sql).empty()) {
                refuse_live_move("the target has " + std::string(table) +
                                 " already: a store is moved to an empty one");
            }
        }
    };
    co_await to_->read(check_target);
    co_return report;
}

task<> live_move::begin() {
    const move_target wanted{plan_.to, plan_.is_to_postgres() ? plan_.postgres.schema : ""};
    const bool is_postgres = plan_.is_from_postgres();
    bool is_continued = false;
    const sql_work look = [&](sql_session& session) {
        is_continued = source_.phase == move_phase::copying &&
                       read_move_target(session, is_postgres, plan_.from_schema) == wanted;
    };
    co_await from_->read(look);
    if (!is_continued) {
        const move_mark mark{move_phase::copying, random_move_number()};
        const sql_work note = [&, mark](sql_session& session) {
            write_move_mark(session, mark);
            write_move_target(session, is_postgres, plan_.from_schema, &wanted);
            notes_.start(session, tables_);
        };
        co_await from_->write(note, sql_commit::synced);
        source_ = mark;
    }
    const move_mark arriving{move_phase::arriving, source_.number};
    if (target_ != arriving) {
        // What it has is of another move. Without a number, it is not yet empty.
        co_await write_mark(*to_, {move_phase::arriving, 0});
        co_await empty_target();
        co_await write_mark(*to_, arriving);
        target_ = arriving;
    }
}

task<> live_move::empty_target() {
    for (const table_layout& each : tables_) {
        bool has_more = true;
        const sql_work remove = [&](sql_session& session) {
            has_more = session.count(each.delete_step()) > 0;
        };
        while (has_more) {
            check_aborted();
            co_await to_->write(remove, sql_commit::unsynced);
        }
    }
}

// ---- while calls go on

void live_move::check_aborted() const {
    if (is_aborted_) {
        throw move_aborted();
    }
}

// Leaves a part of the time to the service.
task<> live_move::pause_after(clock::time_point begun) {
    co_await weir::sleep(std::min<clock::duration>((weir::now() - begun) / 4, 100ms));
}

task<> live_move::copy_tables() {
    state_.what = store_move_state::phase::copying;
    const copy_sides sides{*from_, *to_, plan_.is_to_postgres(), target_};
    for (const table_layout& each : tables_) {
        if (!change_notes::has_notes(each)) {
            continue;
        }
        row_copier copier(sides, each);
        co_await copier.find_place();
        while (!copier.is_complete()) {
            check_aborted();
            const clock::time_point begun = weir::now();
            const std::size_t count = co_await copier.copy_some();
            state_.rows += count;
            co_await pause_after(begun);
        }
    }
}

task<std::vector<std::uint64_t>> live_move::count_notes() {
    std::vector<std::uint64_t> counts;
    const sql_work count = [&](sql_session& session) {
        counts.clear();
        for (const table_layout& each : tables_) {
            counts.push_back(change_notes::has_notes(each) ? change_notes::count(session, each)
                                                           : 0);
        }
    };
    co_await from_->read(count);
    co_return counts;
}

// Each round has fewer changes, since it takes less time; if not, writes have to wait a moment. A
// round has no more of each table than there was when it began: some rows, such as those of queues,
// change as fast as they are copied.
task<> live_move::follow_changes() {
    state_.what = store_move_state::phase::following;
    const copy_sides sides{*from_, *to_, plan_.is_to_postgres(), target_};
    clock::duration slow_down(0);
    std::vector<std::uint64_t> notes = co_await count_notes();
    std::uint64_t left = std::accumulate(notes.begin(), notes.end(), std::uint64_t{0});
    while (left > 0) {
        for (std::size_t i = 0; i < tables_.size(); ++i) {
            row_copier copier(sides, tables_[i]);
            copier.follow_all_rows();
            std::uint64_t copied = 0;
            std::size_t count = 1;
            while (count > 0 && copied < notes[i]) {
                check_aborted();
                count = co_await copier.follow_some();
                copied += count;
            }
        }
        notes = co_await count_notes();
        const std::uint64_t former =
            std::exchange(left, std::accumulate(notes.begin(), notes.end(), std::uint64_t{0}));
        if (left <= last_changes) {
            break;
        }
        if (left > former / 2) {
            slow_down = std::min<clock::duration>(2 * slow_down + 1ms, longest_slow_down);
            gate_.slow_down(slow_down);
        }
    }
}

task<> live_move::compare_tables() {
    state_.what = store_move_state::phase::comparing;
    const copy_sides sides{*from_, *to_, plan_.is_to_postgres(), target_};
    for (const table_layout& each : tables_) {
        row_copier copier(sides, each);
        std::size_t count = 1;
        while (count > 0) {
            check_aborted();
            const clock::time_point begun = weir::now();
            count = co_await copier.compare_some();
            state_.rows += count;
            co_await pause_after(begun);
        }
    }
}

task<> live_move::run() {
    const move_report report = co_await check();
    state_.total = 2 * report.rows;
    state_.rows = 0;
    co_await begin();
    co_await copy_tables();
    co_await follow_changes();
    co_await compare_tables();
    co_await follow_changes();
    check_aborted();
    co_await switch_over();
    co_await finish();
}

// ---- the switch

task<> live_move::switch_over() {
    state_.what = store_move_state::phase::switching;
    const clock::time_point begun = weir::now();
    gate_.slow_down(clock::duration(0));
    may_be_committed_ = false;
    may_be_fenced_ = false;
    auto end = [this]() -> task<> {
        co_await gate_.hold();
        co_await raise_fence();
        co_await end_in_target();
    };
    std::exception_ptr failure;
    try {
        co_await shield(end());
    } catch (const std::exception&) {
        failure = std::current_exception();
    }
    if (failure != nullptr) {
        co_await end_or_undo(failure);
    }
    has_ended_ = true;
    gate_.replace(to_);
    gate_.release();
    state_.held = weir::now() - begun;
}

task<> live_move::raise_fence() {
    const move_mark copying{move_phase::copying, source_.number};
    const move_mark moving{move_phase::moving, source_.number};
    const bool is_postgres = plan_.is_from_postgres();
    const sql_work fence = [=](sql_session& session) {
        if (read_move_mark(session) != copying) {
            refuse_live_move("the move was given up by another process");
        }
        write_move_mark(session, moving);
        raise_move_fence(session, is_postgres);
    };
    may_be_fenced_ = true;
    co_await from_->write(fence, sql_commit::synced);
}

task<> live_move::end_in_target() {
    const clock::time_point begun = weir::now();
    const timestamp loop_time = loop_timestamp();
    const auto read_at = std::chrono::steady_clock::now();
    const bool is_for_postgres = plan_.is_to_postgres();
    last_rows rows;
    const sql_work look = [&](sql_session& session) {
        rows = read_last_rows(session, tables_, loop_time, is_for_postgres);
    };
    co_await from_->read(look);
    if (weir::now() - begun > store_gate::hold_limit) {
        throw store_unavailable("the last changes are too many for a moment without writes");
    }
    const sql_work write = [&](sql_session& session) {
        check_target(session, target_);
        write_last_rows(session, tables_, rows);
        if (rows.steady.has_value()) {
            const timestamp steady = *rows.steady + std::chrono::floor<std::chrono::microseconds>(
                                                        std::chrono::steady_clock::now() - read_at);
            // The time of the switch does not count.
            session.execute(
                "UPDATE nodes SET expires_at = expires_at + ? WHERE is_gone = 0 AND expires_at > ?",
                std::chrono::floor<std::chrono::microseconds>(store_gate::hold_limit).count(),
                steady.time_since_epoch().count());
            keep_clock(session, steady);
        }
        if (is_for_postgres) {
            continue_numbers(session, tables_, plan_.postgres.schema);
        }
        write_move_mark(session, {move_phase::arrived, target_.number});
        may_be_committed_ = true;
    };
    co_await to_->write(write, sql_commit::synced);
}

// Returns if the target has arrived all the same.
task<> live_move::end_or_undo(std::exception_ptr failure) {
    constexpr clock::duration pause = 300ms;
    bool is_decided = !may_be_committed_;
    while (!is_decided) {
        bool has_ended = false;
        try {
            has_ended = co_await shield(has_arrived());
            is_decided = true;
        } catch (const db::error& error) {
            state_.error =
                std::string("whether the target has taken over is unknown: ") + error.what();
        }
        if (has_ended) {
            co_return;
        }
        if (!is_decided) {
            co_await weir::sleep(pause);
        }
    }
    while (may_be_fenced_) {
        try {
            co_await shield(lower_fence());
        } catch (const db::error& error) {
            state_.error = error.what();
        }
        if (may_be_fenced_) {
            co_await weir::sleep(pause);
        }
    }
    gate_.release();
    std::rethrow_exception(failure);
}

// A write comes after the transaction whose commit was not confirmed.
task<bool> live_move::has_arrived() {
    bool is_there = false;
    const sql_work look = [&](sql_session& session) {
        is_there = read_move_mark(session) == move_mark{move_phase::arrived, target_.number};
        if (!is_there) {
            check_target(session, target_);
            write_move_mark(session, target_);
        }
    };
    co_await to_->write(look, sql_commit::synced);
    co_return is_there;
}

task<> live_move::lower_fence() {
    const move_mark copying{move_phase::copying, source_.number};
    const bool is_postgres = plan_.is_from_postgres();
    const sql_work lower = [=](sql_session& session) {
        if (read_move_mark(session).number == copying.number) {
            lower_move_fence(session, is_postgres);
            write_move_mark(session, copying);
        }
    };
    co_await from_->write(lower, sql_commit::synced);
    may_be_fenced_ = false;
}

// If this does not happen, opening the source again does it.
task<> live_move::finish() {
    const move_mark moved{move_phase::moved, source_.number};
    const sql_work mark = [&](sql_session& session) {
        write_move_mark(session, moved);
        notes_.stop(session, tables_);
    };
    std::string problem;
    try {
        co_await from_->write(mark, sql_commit::synced);
    } catch (const db::error& error) {
        problem = error.what();
    }
    if (!problem.empty() && plan_.log) {
        plan_.log("the former store could not be marked as moved: " + problem);
    }
    while (from_.use_count() > 1) {  // by calls that read
        co_await weir::sleep(10ms);
    }
    co_await from_->close();
    from_ = nullptr;
}

task<> live_move::abandon() {
    gate_.slow_down(clock::duration(0));
    const bool is_postgres = plan_.is_from_postgres();
    const sql_work undo = [&](sql_session& session) {
        if (read_move_mark(session).phase == move_phase::copying) {
            notes_.stop(session, tables_);
            write_move_target(session, is_postgres, plan_.from_schema, nullptr);
            write_move_mark(session, {});
        }
    };
    co_await gate_.current()->write(undo, sql_commit::synced);
}

}  // namespace weir::service::detail
