// SPDX-License-Identifier: MIT
// The mark is two rows of `meta`. The fence is a trigger of SQLite, and in PostgreSQL a constraint
// that no row satisfies and that is not checked for the rows that exist.

#include "service/store/move/move_marks.hpp"

#include "service/store/postgres/pg_dialect.hpp"

#include <weir/service/store.hpp>

namespace weir::service::detail {

namespace {

std::int64_t read_move_number(sql_session& session, std::string_view name) {
    const sqlite::rows found = session.query("SELECT value FROM meta WHERE name = ?", name);
    return found.empty() ? 0 : found[0].get<std::int64_t>(0);
}

}  // namespace

move_mark read_move_mark(sql_session& session) {
    move_mark mark;
    mark.phase = static_cast<move_phase>(read_move_number(session, "move_phase"));
    mark.number = read_move_number(session, "move_number");
    return mark;
}

void write_move_mark(sql_session& session, const move_mark& mark) {
    session.execute("DELETE FROM meta WHERE name IN ('move_phase', 'move_number')");
    if (mark.phase != move_phase::normal) {
        session.execute("INSERT INTO meta(name, value) VALUES ('move_phase', ?)",
                        static_cast<std::int64_t>(mark.phase));
        session.execute("INSERT INTO meta(name, value) VALUES ('move_number', ?)", mark.number);
    }
}

void check_not_moved(sql_session& session, const std::string& name) {
    switch (read_move_mark(session).phase) {
        case move_phase::normal:
        case move_phase::arrived:
        case move_phase::copying:
            return;
        case move_phase::moving:
            throw store_unavailable(
                name +
                    " is being moved to another database: the same `weir migrate` continues, "
                    "with --abort the store stays here",
                db::retry_advice::no);
        case move_phase::moved:
            throw store_unavailable(
                name + " was moved to another database, which has its tasks now: serve that one",
                db::retry_advice::no);
        case move_phase::arriving:
            throw store_unavailable(name +
                                        " has a part of the tasks of another store that is "
                                        "being moved here: the same `weir migrate` continues",
                                    db::retry_advice::no);
    }
}

std::optional<move_target> read_move_target(sql_session& session, bool is_postgres,
                                            const std::string& schema) {
    // The table exists only in a store whose service has moved it.
    const bool has_table =
        is_postgres
            ? session
                  .query("SELECT to_regclass(?) IS NOT NULL", quoted_name(schema) + ".move_target")
                  .one<bool>()
            : !session
                   .query(
                       "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = "
                       "'move_target'")
                   .empty();
    std::optional<move_target> target;
    if (has_table) {
        const sqlite::rows found =
            session.query("SELECT target_database, target_schema FROM move_target");
        if (!found.empty()) {
            target = {found[0].get<std::string>(0), found[0].get<std::string>(1)};
        }
    }
    return target;
}

void write_move_target(sql_session& session, bool is_postgres, const std::string& schema,
                       const move_target* target) {
    session.run("DROP TABLE IF EXISTS " +
                    (is_postgres ? quoted_name(schema) + "." : std::string()) + "move_target",
                {});
    if (target != nullptr) {
        session.run(
            "CREATE TABLE move_target (target_database TEXT NOT NULL, target_schema TEXT NOT NULL)",
            {});
        session.execute("INSERT INTO move_target(target_database, target_schema) VALUES (?, ?)",
                        target->database, target->schema);
    }
}

void check_target(sql_session& session, const move_mark& mark) {
    if (read_move_mark(session) != mark) {
        throw store_unavailable("another move to the same target has begun", db::retry_advice::no);
    }
}

void raise_move_fence(sql_session& session, bool is_postgres) {
    lower_move_fence(session, is_postgres);
    if (is_postgres) {
        session.execute("ALTER TABLE tasks ADD CONSTRAINT store_was_moved CHECK (FALSE) NOT VALID");
        return;
    }
    session.execute(
        "CREATE TRIGGER store_was_moved BEFORE INSERT ON tasks BEGIN SELECT RAISE(ABORT, 'this "
        "task store was moved to another database'); END");
    session.execute(
        "CREATE TRIGGER store_was_moved_too BEFORE UPDATE ON tasks BEGIN SELECT RAISE(ABORT, 'this "
        "task store was moved to another database'); END");
}

void lower_move_fence(sql_session& session, bool is_postgres) {
    if (is_postgres) {
        session.execute("ALTER TABLE tasks DROP CONSTRAINT IF EXISTS store_was_moved");
        return;
    }
    session.execute("DROP TRIGGER IF EXISTS store_was_moved");
    session.execute("DROP TRIGGER IF EXISTS store_was_moved_too");
}

}  // namespace weir::service::detail
