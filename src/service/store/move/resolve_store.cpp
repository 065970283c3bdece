// SPDX-License-Identifier: MIT
// A process that was killed while it moved its store has left marks in both: see move_marks.hpp.

#include "service/store/move/live_move.hpp"
#include "service/store/sql_backends.hpp"

#include <weir/error.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace weir::service::detail {

namespace {

struct found_marks {
    move_mark mark;
    std::optional<move_target> target;
};

class store_search {
public:
    store_search(std::string database, const movable_store_options& options) : options_(options) {
        found_.database = std::move(database);
        found_.schema = options.postgres.schema;
    }

    task<resolved_store> run() {
        constexpr int most_moves = 20;
        for (int i = 0; i < most_moves; ++i) {
            if (i == 0) {
                found_.backend = co_await open(found_.database, found_.schema);
            } else {
                found_.backend = co_await open_target(found_.database, found_.schema);
            }
            const bool is_found = co_await look();
            if (is_found) {
                co_return found_;
            }
        }
        throw store_unavailable("the store was moved in a circle", db::retry_advice::no);
    }

private:
    task<std::shared_ptr<sql_backend>> open(std::string database, std::string schema) {
        std::shared_ptr<sql_backend> opened;
        if (is_postgres_url(database)) {
            postgres_store_options postgres = options_.postgres;
            postgres.schema = std::move(schema);
            opened = co_await open_postgres_backend(std::move(database), std::move(postgres));
        } else {
            opened = co_await open_sqlite_backend(std::move(database), options_.sqlite);
        }
        co_return opened;
    }

    task<std::shared_ptr<sql_backend>> open_target(std::string database, std::string schema) {
        std::string problem;
        try {
            co_return co_await open(std::move(database), std::move(schema));
        } catch (const store_unavailable& error) {
            if (error.advice() == db::retry_advice::no) {
                throw;
            }
            problem = error.what();
        }
        throw move_undecided(problem);
    }

    // False: to be repeated with another database.
    task<bool> look() {
        std::exception_ptr error;
        bool is_found = true;
        try {
            is_found = co_await decide();
        } catch (...) {
            error = std::current_exception();
        }
        if (error != nullptr || !is_found) {
            co_await found_.backend->close();
        }
        if (error != nullptr) {
            std::rethrow_exception(error);
        }
        if (!is_found) {
            found_.database = next_.database;
            found_.schema = next_.schema.empty() ? options_.postgres.schema : next_.schema;
        }
        co_return is_found;
    }

    task<bool> decide() {
        found_marks marks;
        const bool is_postgres = is_postgres_url(found_.database);
        const sql_work read = [&](sql_session& session) {
            marks.mark = read_move_mark(session);
            marks.target = read_move_target(session, is_postgres, found_.schema);
        };
        co_await found_.backend->read(read);
        const move_phase phase = marks.mark.phase;
        if (marks.target.has_value() && phase == move_phase::copying) {
            found_.next = marks.target;
            co_return true;
        }
        if (marks.target.has_value() && phase == move_phase::moved) {
            next_ = *marks.target;
            note("the store " + shown_store(found_.database) + " was moved to " +
                 shown_store(next_.database) + ", which has its tasks now");
            co_return false;
        }
        if (marks.target.has_value() && phase == move_phase::moving) {
            co_return co_await decide_by_target(marks.mark, *marks.target);
        }
        const std::string name = "the task store " + shown_store(found_.database);
        const sql_work check = [&](sql_session& session) { check_not_moved(session, name); };
        co_await found_.backend->read(check);
        co_return true;
    }

    // The process has ended between the fence and the last mark.
    task<bool> decide_by_target(move_mark mark, move_target target) {
        const std::shared_ptr<sql_backend> to = co_await open_target(
            target.database, target.schema.empty() ? options_.postgres.schema : target.schema);
        std::exception_ptr error;
        move_mark arrived;
        // A write comes after one that the killed process may have left.
        const sql_work look = [&](sql_session& session) {
            arrived = read_move_mark(session);
            if (arrived.phase == move_phase::arriving) {
                write_move_mark(session, arrived);
            }
        };
        try {
            co_await to->write(look, sql_commit::synced);
        } catch (...) {
            error = std::current_exception();
        }
        co_await to->close();
        if (error != nullptr) {
            std::rethrow_exception(error);
        }
        const bool is_undone = arrived == move_mark{move_phase::arriving, mark.number};
        if (!is_undone &&
            (arrived.phase == move_phase::normal || arrived.phase == move_phase::arriving)) {
            throw store_unavailable(
                "the task store " + shown_store(found_.database) + " was being moved to " +
                    shown_store(target.database) +
                    ", which has no part of it now: `weir migrate --abort` returns to the former",
                db::retry_advice::no);
        }
        const bool is_postgres = is_postgres_url(found_.database);
        const sql_work decide = [&](sql_session& session) {
            mark.phase = is_undone ? move_phase::copying : move_phase::moved;
            write_move_mark(session, mark);
            if (is_undone) {
                lower_move_fence(session, is_postgres);
            }
        };
        co_await found_.backend->write(decide, sql_commit::synced);
        if (is_undone) {
            found_.next = std::move(target);
        } else {
            next_ = std::move(target);
        }
        co_return is_undone;
    }

    void note(const std::string& line) const {
        if (options_.log) {
            options_.log(line);
        }
    }

    const movable_store_options& options_;
    resolved_store found_;
    move_target next_;
};

}  // namespace

task<resolved_store> resolve_store(std::string database, const movable_store_options& options) {
    store_search search(std::move(database), options);
    resolved_store found = co_await search.run();
    co_return found;
}

}  // namespace weir::service::detail
