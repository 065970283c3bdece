// SPDX-License-Identifier: MIT
// Each transaction locks the same row first, in a statement of its own: what it reads afterwards is
// what the transactions before it have committed, of all nodes. So writes of several nodes exclude
// each other as those of SQLite do, none can exceed a limit, and since there is only one lock,
// there is no deadlock. The wait for the lock is bounded by lock_timeout. Writes that come during
// the wait join the transaction.
//
// A transaction notes its number in the table of writers. If the answer to its COMMIT is lost, the
// writer connects again, takes the lock, for which it waits until the former transaction has ended,
// and looks whether that number is there. If it is, the results count; if not, all is performed
// again. So a lost answer neither loses a task nor creates it twice.

#include "service/store/postgres/pg_writer.hpp"

#include "service/store/postgres/pg_schema.hpp"
#include "service/store/sqlite/file/schema.hpp"

#include <weir/base/random.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace weir::service::detail {

namespace {

constexpr int most_attempts = 3;
constexpr std::size_t most_together = 500;

std::string random_name() {
    std::random_device source;
    std::string name;
    for (int i = 0; i < 4; ++i) {
        name += std::to_string(source()) + (i < 3 ? "-" : "");
    }
    return name;
}

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Whether the same transaction may succeed now: it has changed nothing.
bool is_worth_repeating(const pg::error& error) noexcept {
    const std::string_view state = error.sqlstate();
    // 23505: two nodes have created the same id, or the same queue.
    return state == "40001" || state == "40P01" || state == "57P01" || state == "57P02" ||
           state == "57P03" || state == "25006" || state == "23505" || state.starts_with("08") ||
           state.empty();
}

}  // namespace

pg_writer::pg_writer(const pg_settings& settings, pg_write_line& line)
    : settings_(settings), line_(line), link_(settings, "writer"), id_(random_name()) {}

void pg_writer::begin() {
    link_.begin_writing();
    link_.query("SELECT value FROM meta WHERE name = 'lock' FOR UPDATE");
    link_.execute(
        "INSERT INTO writers(id, number, at, version) VALUES (?1, ?2, ?3, ?4) ON CONFLICT(id) DO "
        "UPDATE SET number = ?2, at = ?3",
        id_, number_, unix_seconds(), newest_schema());
}

bool pg_writer::was_committed(std::int64_t number, bool is_synced) {
    for (int attempt = 1;; ++attempt) {
        try {
            link_.open();
            link_.begin_writing();
            link_.execute("SELECT value FROM meta WHERE name = 'lock' FOR UPDATE");
            const sqlite::rows found = link_.query("SELECT number FROM writers WHERE id = ?", id_);
            const bool is_there = !found.empty() && found[0].get<std::int64_t>(0) == number;
            if (is_there && is_synced) {
                // A crash of the server may have ended its wait for a standby. This COMMIT waits
                // for the same one, which then has both.
                link_.execute("UPDATE writers SET at = ?2 WHERE id = ?1", id_, unix_seconds());
                link_.commit();
            } else {
                link_.roll_back();
            }
            return is_there;
        } catch (const commit_unknown&) {
            link_.close();
            throw;
        } catch (const pg::error&) {
            link_.close();
            if (attempt == most_attempts) {
                throw;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50 * attempt));
        }
    }
}

void pg_writer::perform_once(batch& taken, bool may_join) {
    ++number_;
    bool is_synced = true;
    try {
        begin();
        if (may_join) {
            line_.take(taken, most_together);
        }
        is_synced = std::ranges::any_of(taken, &pg_write::is_synced);
        std::vector<sql_joint_work*> joint;
        for (const pg_write* const each : taken) {
            if (each->joint != nullptr) {
                joint.push_back(each->joint);
            } else {
                (*each->work)(link_);
                link_.perform_rows();
            }
        }
        if (!joint.empty()) {
            joint.front()->run(link_, joint);
        }
        link_.commit(is_synced);
    } catch (const commit_unknown&) {
        link_.close();
        if (!was_committed(number_, is_synced)) {
            throw pg::connection_error("the connection was lost during COMMIT",
                                       db::retry_advice::yes);
        }
    } catch (...) {
        link_.roll_back();
        throw;
    }
}

void pg_writer::perform_all(batch& taken, bool may_join) {
    for (int attempt = 1;; ++attempt) {
        link_.open();  // a server that cannot be reached is left to the callers to try again
        try {
            perform_once(taken, may_join);
            return;
        } catch (const commit_unknown&) {
            throw;  // it may be committed: only those who asked for it can find out
        } catch (const pg::error& error) {
            if (attempt == most_attempts || !is_worth_repeating(error)) {
                throw;
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * attempt));
    }
}

// Of the exception that is being handled.
std::exception_ptr pg_writer::told_error() const noexcept {
    try {
        try {
            throw;
        } catch (const pg::error& error) {
            throw_as_unavailable(error, settings_.options.schema);
        }
    } catch (...) {
        return std::current_exception();
    }
}

void pg_writer::perform_alone(pg_write& one) noexcept {
    try {
        batch only(1, &one);
        perform_all(only, false);
    } catch (...) {
        one.error = told_error();
    }
}

void pg_writer::perform(batch& taken) noexcept {
    try {
        perform_all(taken, true);
    } catch (const pg::connection_error&) {
        // Alone, they would only wait longer.
        for (pg_write* const each : taken) {
            each->error = told_error();
        }
    } catch (...) {
        // One of them has thrown, and all were rolled back.
        if (taken.size() == 1) {
            taken.front()->error = told_error();
            return;
        }
        for (pg_write* const each : taken) {
            perform_alone(*each);
        }
    }
}

void pg_writer::perform_waiting() noexcept {
    batch taken;
    line_.take(taken, most_together);
    if (!taken.empty()) {
        perform(taken);
        line_.finish(taken);
    }
}

}  // namespace weir::service::detail
