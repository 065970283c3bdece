// SPDX-License-Identifier: MIT
// Writers of a store exclude each other, so the numbers of notes are in the order of the commits:
// whoever sees a note has seen all before it.

#include "service/store/move/change_notes.hpp"

#include "service/store/postgres/pg_dialect.hpp"

namespace weir::service::detail {

namespace {

std::string note_table(const table_layout& table) {
    return "noted_" + table.name;
}

std::vector<sql_values> all_values(const sqlite::rows& found) {
    std::vector<sql_values> all;
    all.reserve(found.size());
    for (const sqlite::row each : found) {
        sql_values& values = all.emplace_back();
        for (std::size_t i = 0; i < each.size(); ++i) {
            values.push_back(each[i]);
        }
    }
    return all;
}

}  // namespace

void change_notes::start(sql_session& session, const std::vector<table_layout>& tables) const {
    stop(session, tables);
    for (const table_layout& each : tables) {
        if (has_notes(each)) {
            schema_.empty() ? start_in_sqlite(session, each) : start_in_postgres(session, each);
        }
    }
}

void change_notes::start_in_sqlite(sql_session& session, const table_layout& table) const {
    const std::string keys = table.key_list();
    const std::string note = "INSERT INTO " + note_table(table) + "(" + keys + ") VALUES (";
    session.run("CREATE TABLE " + note_table(table) + "(seq INTEGER PRIMARY KEY, " + keys + ")",
                {});
    const auto add = [&](const char* name, const std::string& when, const char* row) {
        session.run("CREATE TRIGGER " + std::string(name) + table.name + " AFTER " + when + " ON " +
                        table.name + " BEGIN " + note + table.key_list(row) + "); END",
                    {});
    };
    add("note_new_", "INSERT", "NEW.");
    add("note_changed_", "UPDATE", "NEW.");
    add("note_moved_", "UPDATE OF " + keys, "OLD.");
    add("note_removed_", "DELETE", "OLD.");
}

void change_notes::start_in_postgres(sql_session& session, const table_layout& table) const {
    const std::string keys = table.key_list();
    const std::string schema = quoted_name(schema_);
    const std::string notes = schema + "." + note_table(table);
    const std::string function = schema + ".note_" + table.name + "()";
    session.run("CREATE TABLE " + note_table(table) + " AS SELECT " + keys + " FROM " + table.name +
                    " LIMIT 0",
                {});
    session.run(
        "ALTER TABLE " + notes + " ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        {});
    const std::string insert = "INSERT INTO " + notes + "(" + keys + ") SELECT " + keys + " FROM ";
    session.run("CREATE FUNCTION " + function +
                    " RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS "
                    "'BEGIN IF TG_OP = ''INSERT'' THEN " +
                    insert + "new_rows; ELSIF TG_OP = ''DELETE'' THEN " + insert +
                    "old_rows; ELSE " + insert + "new_rows UNION SELECT " + keys +
                    " FROM old_rows; END IF; RETURN NULL; END'",
                {});
    const auto add = [&](const char* name, const char* when, const char* rows) {
        session.run("CREATE TRIGGER " + std::string(name) + table.name + " AFTER " + when + " ON " +
                        schema + "." + table.name + " REFERENCING " + rows +
                        " FOR EACH STATEMENT EXECUTE FUNCTION " + function,
                    {});
    };
    add("note_new_", "INSERT", "NEW TABLE AS new_rows");
    add("note_changed_", "UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows");
    add("note_removed_", "DELETE", "OLD TABLE AS old_rows");
}

void change_notes::stop(sql_session& session, const std::vector<table_layout>& tables) const {
    for (const table_layout& each : tables) {
        if (!has_notes(each)) {
            continue;
        }
        if (schema_.empty()) {
            for (const char* const name :
                 {"note_new_", "note_changed_", "note_moved_", "note_removed_"}) {
                session.run("DROP TRIGGER IF EXISTS " + std::string(name) + each.name, {});
            }
            session.run("DROP TABLE IF EXISTS " + note_table(each), {});
            continue;
        }
        const std::string schema = quoted_name(schema_);
        session.run("DROP FUNCTION IF EXISTS " + schema + ".note_" + each.name + "() CASCADE", {});
        session.run("DROP TABLE IF EXISTS " + schema + "." + note_table(each), {});
    }
}

row_changes change_notes::read(sql_session& session, const table_layout& table, std::size_t limit,
                               const sql_values& mark) {
    row_changes found;
    const std::string notes = note_table(table);
    const sqlite::rows oldest = session.query("SELECT max(seq), count(*) FROM (SELECT seq FROM " +
                                                  notes + " ORDER BY seq LIMIT ?) AS oldest",
                                              limit);
    found.upto = oldest[0].get<std::optional<std::int64_t>>(0).value_or(0);
    found.notes = oldest[0].get<std::size_t>(1);
    if (found.upto == 0) {
        return found;
    }
    const std::string keys = table.key_list();
    const std::string noted = "SELECT DISTINCT " + keys + " FROM " + notes + " WHERE seq <= ?";
    found.keys = all_values(session.query(noted, found.upto));
    sql_values parameters;
    parameters.emplace_back(found.upto);
    parameters.insert(parameters.end(), mark.begin(), mark.end());
    found.rows = all_values(session.fetch(
        "SELECT " + table.column_list() + " FROM " + table.name + " WHERE (" + keys + ") IN (" +
            noted + ")" +
            (mark.empty()
                 ? ""
                 : " AND (" + keys + ") <= (" + table_layout::placeholders(mark.size()) + ")"),
        std::move(parameters)));
    return found;
}

std::vector<sql_values> change_notes::noted_keys(sql_session& session, const table_layout& table) {
    return all_values(
        session.query("SELECT DISTINCT " + table.key_list() + " FROM " + note_table(table)));
}

void change_notes::forget(sql_session& session, const table_layout& table, std::int64_t upto) {
    session.execute("DELETE FROM " + note_table(table) + " WHERE seq <= ?", upto);
}

std::uint64_t change_notes::count(sql_session& session, const table_layout& table) {
    return session.query("SELECT count(*) FROM " + note_table(table)).one<std::uint64_t>();
}

}  // namespace weir::service::detail
