// SPDX-License-Identifier: MIT
// The source is fenced first, in the transaction that sees that no process serves it. Then each
// table is copied in steps; each step is read back from the target and compared. A target that has
// only a part of the rows is emptied and filled again, since steps that were committed without the
// disk may be lost. The target counts from the transaction that marks it as arrived; whatever is
// interrupted after it only has to mark the source.

#include "service/store/move/change_notes.hpp"
#include "service/store/move/lease_check.hpp"
#include "service/store/move/move_marks.hpp"
#include "service/store/move/row_copier.hpp"
#include "service/store/move/table_layout.hpp"
#include "service/store/sql_backends.hpp"

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/service/move_store.hpp>

#include <chrono>
#include <random>
#include <utility>

namespace weir::service {

namespace {

using detail::copy_step;
using detail::move_mark;
using detail::move_phase;
using detail::sql_backend;
using detail::sql_commit;
using detail::sql_session;
using detail::sql_values;
using detail::table_layout;

[[noreturn]] void refuse_move(const std::string& why) {
    throw store_unavailable(why, db::retry_advice::no);
}

std::int64_t new_move_number() {
    std::random_device source;
    return static_cast<std::int64_t>((std::uint64_t{source()} << 31) ^ source()) | 1;
}

class store_move {
public:
    store_move(std::string from, std::string to, move_options options)
        : from_name_(std::move(from)), to_name_(std::move(to)), options_(std::move(options)) {
        if (is_postgres_url(from_name_) == is_postgres_url(to_name_)) {
            throw invalid_argument(
                "move_store: one of the databases must be a SQLite file and the other one the URL "
                "of a PostgreSQL database");
        }
    }

    task<> open() {
        from_ = co_await open_one(from_name_);
        to_ = co_await open_one(to_name_);
        sql_backend& file = is_postgres_url(to_name_) ? *from_ : *to_;
        const detail::sql_work look = [this](sql_session& session) {
            tables_ = detail::read_layouts(session);
        };
        co_await file.read(look);
        source_ = co_await mark_of(*from_);
        target_ = co_await mark_of(*to_);
    }

    task<move_report> run() {
        move_report report;
        if (is_complete()) {
            report.was_complete = true;
        } else {
            co_await check_can_begin();
            if (!options_.only_check) {
                co_await begin();
                co_await copy_all();
                co_await mark(*to_, {move_phase::arrived, source_.number});
            }
        }
        if (!options_.only_check && source_.phase != move_phase::moved) {
            co_await mark(*from_, {move_phase::moved, source_.number});
        }
        co_await count_tasks(report);
        co_return report;
    }

    task<> abandon() {
        if (source_.phase != move_phase::moving && source_.phase != move_phase::copying) {
            refuse_move("no move of this store is under way");
        }
        if (is_complete()) {
            refuse_move("the move is complete: the target has the tasks now");
        }
        const bool is_postgres = is_postgres_url(from_name_);
        const detail::sql_work undo = [this, is_postgres](sql_session& session) {
            forget_live_move(session);
            detail::lower_move_fence(session, is_postgres);
            detail::write_move_mark(session, {});
        };
        co_await from_->write(undo, sql_commit::synced);
    }

    task<> close() {
        if (from_ != nullptr) {
            co_await from_->close();
        }
        if (to_ != nullptr) {
            co_await to_->close();
        }
    }

private:
    task<std::unique_ptr<sql_backend>> open_one(const std::string& name) {
        std::unique_ptr<sql_backend> opened;
        if (is_postgres_url(name)) {
            opened = co_await detail::open_postgres_backend(name, options_.postgres);
        } else {
            opened = co_await detail::open_sqlite_backend(name, {});
        }
        co_return opened;
    }

    task<move_mark> mark_of(sql_backend& store) {
        move_mark mark;
        const detail::sql_work look = [&mark](sql_session& session) {
            mark = detail::read_move_mark(session);
        };
        co_await store.read(look);
        co_return mark;
    }

    task<> mark(sql_backend& store, move_mark mark) {
        const detail::sql_work note = [mark](sql_session& session) {
            detail::write_move_mark(session, mark);
        };
        co_await store.write(note, sql_commit::synced);
        if (&store == from_.get()) {
            source_ = mark;
        }
    }

    // What a service has left that was moving the store itself.
    void forget_live_move(sql_session& session) const {
        const bool is_postgres = is_postgres_url(from_name_);
        const std::string& schema = options_.postgres.schema;
        detail::change_notes(is_postgres ? schema : "").stop(session, tables_);
        detail::write_move_target(session, is_postgres, schema, nullptr);
    }

    bool is_complete() const noexcept {
        return (source_.phase == move_phase::moving || source_.phase == move_phase::moved) &&
               target_ == move_mark{move_phase::arrived, source_.number};
    }

    // A source that is fenced was free when its move began.
    void check_is_free(sql_session& session, timestamp loop_time) {
        if (source_.phase != move_phase::moving && !options_.ignores_leases) {
            detail::check_is_unserved(session, loop_time, false);
        }
    }

    task<> check_can_begin() {
        if (source_.phase == move_phase::moved || source_.phase == move_phase::arriving) {
            const detail::sql_work refuse = [](sql_session& session) {
                detail::check_not_moved(session, "the store");
            };
            co_await from_->read(refuse);
        }
        const timestamp loop_time = detail::loop_timestamp();
        const detail::sql_work check_source = [this, loop_time](sql_session& session) {
            check_is_free(session, loop_time);
            total_ = 0;
            for (const table_layout& each : tables_) {
                total_ += session.query(each.count_rows()).one<std::uint64_t>();
            }
        };
        co_await from_->read(check_source);
        if (target_.phase == move_phase::arriving) {
            co_return;  // what it has is thrown away
        }
        if (target_.phase == move_phase::moving || target_.phase == move_phase::moved) {
            refuse_move("the target was itself moved to another database: choose an empty one");
        }
        const detail::sql_work check_target = [](sql_session& session) {
            for (const char* const table : {"tasks", "queues", "schedules", "task_groups"}) {
                const std::string sql = std::string("SELECT 1 FROM ") + table + " LIMIT 1";
                if (!session.query(sql).empty()) {
                    refuse_move("the target has " + std::string(table) +
                                " already: a store is moved to an empty one");
                }
            }
        };
        co_await to_->read(check_target);
    }

    task<> begin() {
        if (source_.phase != move_phase::moving) {
            const timestamp loop_time = detail::loop_timestamp();
            const bool is_postgres = is_postgres_url(from_name_);
            const move_mark mark{move_phase::moving, new_move_number()};
            const detail::sql_work fence = [=, this](sql_session& session) {
                check_is_free(session, loop_time);
                forget_live_move(session);
                detail::write_move_mark(session, mark);
                detail::raise_move_fence(session, is_postgres);
            };
            co_await from_->write(fence, sql_commit::synced);
            source_ = mark;
        }
        target_ = {move_phase::arriving, source_.number};
        co_await mark(*to_, target_);
        for (const table_layout& each : tables_) {
            co_await empty(each);
        }
    }

    task<> empty(const table_layout& table) {
        bool has_more = true;
        const detail::sql_work remove = [&](sql_session& session) {
            has_more = session.count(table.delete_step()) > 0;
        };
        while (has_more) {
            co_await to_->write(remove, sql_commit::unsynced);
        }
    }

    task<> copy_all() {
        move_progress progress;
        progress.total = total_;
        for (const table_layout& each : tables_) {
            progress.table = each.name;
            co_await copy(each, progress);
        }
        const detail::sql_work read_turns = [this](sql_session& session) {
            turns_ = session.query("SELECT value FROM meta WHERE name = 'pool_turns'")
                         .one<std::int64_t>();
        };
        co_await from_->read(read_turns);
        const detail::sql_work finish = [this](sql_session& session) {
            session.execute("UPDATE meta SET value = ? WHERE name = 'pool_turns'", turns_);
            if (is_postgres_url(to_name_)) {
                detail::continue_numbers(session, tables_, options_.postgres.schema);
            }
        };
        co_await to_->write(finish, sql_commit::synced);
    }

    task<> copy(const table_layout& table, move_progress& progress) {
        sql_values last;  // the key of the last row that was copied
        std::size_t count = copy_step;
        while (count == copy_step) {
            const std::vector<sql_values> rows = co_await read_step(*from_, table, last);
            count = rows.size();
            if (count == 0) {
                co_return;
            }
            co_await write_step(table, rows);
            const std::vector<sql_values> arrived = co_await read_step(*to_, table, last);
            if (arrived != rows) {
                refuse_move("a row of the table " + table.name +
                            " is not the same in the target: something else writes to it");
            }
            last.clear();
            for (const std::size_t each : table.key) {
                last.push_back(rows.back()[each]);
            }
            progress.rows += count;
            if (options_.on_progress) {
                options_.on_progress(progress);
            }
        }
    }

    task<std::vector<sql_values>> read_step(sql_backend& store, const table_layout& table,
                                            const sql_values& after) {
        std::vector<sql_values> rows;
        const bool is_for_postgres = is_postgres_url(to_name_);
        const detail::sql_work read = [&](sql_session& session) {
            rows.clear();
            for (const sqlite::row each : session.fetch(table.select_step(after.empty()), after)) {
                sql_values& row = rows.emplace_back();
                for (std::size_t i = 0; i < each.size(); ++i) {
                    row.push_back(each[i]);
                }
                if (is_for_postgres) {
                    detail::replace_nul(row);
                }
            }
        };
        co_await store.read(read);
        co_return rows;
    }

    task<> write_step(const table_layout& table, const std::vector<sql_values>& rows) {
        const detail::sql_work write = [&](sql_session& session) {
            detail::check_target(session, target_);
            detail::insert_all(session, table, rows);
        };
        co_await to_->write(write, sql_commit::unsynced);
    }

    task<> count_tasks(move_report& report) {
        report.rows = total_;
        const detail::sql_work count = [&report](sql_session& session) {
            for (const sqlite::row each :
                 session.query("SELECT state, count(*) FROM tasks GROUP BY state")) {
                report.tasks.at(each.get<std::size_t>(0)) = each.get<std::uint64_t>(1);
            }
        };
        co_await from_->read(count);
    }

    std::string from_name_;
    std::string to_name_;
    move_options options_;
    std::unique_ptr<sql_backend> from_;
    std::unique_ptr<sql_backend> to_;
    std::vector<table_layout> tables_;
    move_mark source_;
    move_mark target_;
    std::uint64_t total_ = 0;
    std::int64_t turns_ = 0;
};

task<move_report> open_and_run(store_move& move) {
    co_await move.open();
    move_report report = co_await move.run();
    co_return report;
}

task<> open_and_abandon(store_move& move) {
    co_await move.open();
    co_await move.abandon();
}

}  // namespace

task<move_report> move_store(std::string from, std::string to, move_options options) {
    store_move move(std::move(from), std::move(to), std::move(options));
    auto close = [&move] { return move.close(); };
    move_report report = co_await finally(open_and_run(move), close);
    co_return report;
}

task<> abandon_move(std::string from, std::string to, move_options options) {
    store_move move(std::move(from), std::move(to), std::move(options));
    auto close = [&move] { return move.close(); };
    co_await finally(open_and_abandon(move), close);
}

}  // namespace weir::service
