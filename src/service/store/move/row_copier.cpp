// SPDX-License-Identifier: MIT
// What the source has committed without the disk may be undone by a power failure, together with
// the note of the change. So a row is written to the target after a durable commit of the source
// that came after the row was read.

#include "service/store/move/row_copier.hpp"

#include "service/store/postgres/pg_dialect.hpp"

#include <weir/error.hpp>
#include <weir/service/store.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

// The same for the same key of either database.
std::string key_text(const sql_values& key) {
    std::string text;
    for (const sqlite::value& each : key) {
        if (const std::int64_t* const number = each.integer()) {
            text += "i" + std::to_string(*number) + ";";
        } else if (const std::string* const words = each.text()) {
            text += "t" + std::to_string(words->size()) + ":" + *words;
        } else {
            text += "n;";
        }
    }
    return text;
}

std::size_t bytes_of(const std::vector<sql_values>& rows) noexcept {
    std::size_t bytes = 0;
    for (const sql_values& row : rows) {
        for (const sqlite::value& each : row) {
            bytes += each.text() != nullptr ? each.text()->size() : 8;
        }
    }
    return bytes;
}

[[noreturn]] void throw_differs(const table_layout& table, const std::string& key) {
    throw store_unavailable("a row of the table " + table.name + " (" + key +
                                ") is not the same in the target: something else writes to it",
                            db::retry_advice::no);
}

}  // namespace

void replace_nul(sql_values& row) {
    for (sqlite::value& value : row) {
        const std::string* const text = value.text();
        if (text == nullptr || text->find('\0') == std::string::npos) {
            continue;
        }
        std::string replaced;
        for (const char each : *text) {
            each == '\0' ? replaced.append("\xEF\xBF\xBD") : replaced.append(1, each);
        }
        value = sqlite::value(std::move(replaced));
    }
}

void continue_numbers(sql_session& session, const std::vector<table_layout>& tables,
                      const std::string& schema) {
    for (const table_layout& each : tables) {
        if (each.has_own_numbers) {
            const std::string& column = each.columns[each.key.front()];
            session.query("SELECT setval(pg_get_serial_sequence('" + quoted_name(schema) + "." +
                          each.name + "', '" + column + "'), (SELECT max(" + column + ") FROM " +
                          each.name + "))");
        }
    }
}

void insert_all(sql_session& target, const table_layout& table,
                const std::vector<sql_values>& rows) {
    constexpr std::size_t most_values = 2000;  // in one statement
    const std::size_t together = std::max<std::size_t>(1, most_values / table.columns.size());
    const std::string many = table.insert_rows(together);
    const std::string one = table.insert_row();
    std::size_t at = 0;
    for (; at + together <= rows.size(); at += together) {
        sql_values values;
        values.reserve(together * table.columns.size());
        for (std::size_t i = at; i < at + together; ++i) {
            values.insert(values.end(), rows[i].begin(), rows[i].end());
        }
        target.run(many, std::move(values));
    }
    for (; at < rows.size(); ++at) {
        target.run(one, rows[at]);
    }
}

void apply_changes(sql_session& target, const table_layout& table, const row_changes& changes) {
    const std::string remove = table.delete_row();
    for (const sql_values& each : changes.keys) {
        target.run(remove, each);
    }
    insert_all(target, table, changes.rows);
}

void check_changes(sql_session& target, const table_layout& table, const row_changes& changes) {
    std::map<std::string, const sql_values*> expected;
    for (const sql_values& each : changes.rows) {
        expected.emplace(key_text(table.key_of(each)), &each);
    }
    const std::string sql = table.select_row();
    constexpr std::size_t together = 500;
    for (std::size_t begin = 0; begin < changes.keys.size(); begin += together) {
        const std::size_t end = std::min(begin + together, changes.keys.size());
        std::vector<std::unique_ptr<sql_answer>> answers;
        for (std::size_t i = begin; i < end; ++i) {
            answers.push_back(target.start(sql, changes.keys[i]));
        }
        for (std::size_t i = begin; i < end; ++i) {
            const sqlite::rows found = answers[i - begin]->take();
            const std::string key = key_text(changes.keys[i]);
            const auto wanted = expected.find(key);
            sql_values row;
            for (std::size_t column = 0; !found.empty() && column < found[0].size(); ++column) {
                row.push_back(found[0][column]);
            }
            if (wanted == expected.end() ? !found.empty() : row != *wanted->second) {
                throw_differs(table, key);
            }
        }
    }
}

task<> row_copier::find_place() {
    last_.clear();
    const sql_work look = [this](sql_session& session) {
        const sqlite::rows found = session.query(table_.select_last_key());
        last_.clear();
        for (std::size_t i = 0; !found.empty() && i < found[0].size(); ++i) {
            last_.push_back(found[0][i]);
        }
    };
    co_await sides_.to.read(look);
}

void row_copier::adapt_step(const std::vector<sql_values>& rows) noexcept {
    constexpr std::size_t most_bytes = 4 << 20;
    const std::size_t bytes = bytes_of(rows);
    if (bytes > most_bytes) {
        step_ = std::max<std::size_t>(10, step_ / 4);
    } else if (bytes < most_bytes / 8) {
        step_ = std::min(copy_step, 2 * step_);
    }
}

task<std::vector<sql_values>> row_copier::read_rows(sql_backend& from, const sql_values& after,
                                                    const sql_values& upto, std::size_t limit) {
    std::vector<sql_values> rows;
    sql_values parameters = after;
    parameters.insert(parameters.end(), upto.begin(), upto.end());
    const std::string sql = table_.select_range(after, upto) +
                            (limit > 0 ? " LIMIT " + std::to_string(limit) : std::string());
    const sql_work read = [&](sql_session& session) {
        rows.clear();
        for (const sqlite::row each : session.fetch(sql, parameters)) {
            sql_values& row = rows.emplace_back();
            row.reserve(each.size());
            for (std::size_t i = 0; i < each.size(); ++i) {
                row.push_back(each[i]);
            }
            if (sides_.is_for_postgres) {
                replace_nul(row);
            }
        }
    };
    co_await from.read(read);
    co_return rows;
}

task<> row_copier::make_durable() {
    const sql_work touch = [](sql_session& session) {
        session.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
    };
    co_await sides_.from.write(touch, sql_commit::synced);
}

task<> row_copier::add_rows(const std::vector<sql_values>& rows) {
    const sql_work add = [&](sql_session& session) {
        check_target(session, sides_.target);
        insert_all(session, table_, rows);
    };
    co_await sides_.to.write(add, sql_commit::unsynced);
}

task<std::size_t> row_copier::copy_some() {
    // A row may have the unique value of another one that the target still has, and that is gone in
    // the source. Then the notes tell so.
    for (bool is_repeated = false;; is_repeated = true) {
        const std::size_t limit = step_;
        const std::vector<sql_values> rows = co_await read_rows(sides_.from, last_, {}, limit);
        if (rows.empty()) {
            is_complete_ = true;
            co_return 0;
        }
        adapt_step(rows);
        co_await make_durable();
        std::exception_ptr error;
        try {
            co_await add_rows(rows);
        } catch (const store_unavailable&) {
            throw;
        } catch (const db::error&) {
            error = std::current_exception();
        }
        if (error == nullptr) {
            last_ = table_.key_of(rows.back());
            is_complete_ = rows.size() < limit;
            co_return rows.size();
        }
        if (is_repeated || !change_notes::has_notes(table_)) {
            std::rethrow_exception(error);
        }
        // As many as there are now: others may come as fast as they are copied.
        constexpr int most_steps = 100;
        std::size_t count = 1;
        for (int i = 0; i < most_steps && count > 0; ++i) {
            count = co_await follow_some();
        }
    }
}

task<std::size_t> row_copier::follow_some() {
    if (!change_notes::has_notes(table_)) {
        co_return 0;
    }
    row_changes changes;
    const bool is_all = is_complete_;
    const sql_work look = [&](sql_session& session) {
        changes = change_notes::read(session, table_, step_, is_all ? sql_values() : last_);
        if (!is_all && last_.empty()) {
            changes.rows.clear();
        }
    };
    co_await sides_.from.read(look);
    if (changes.upto == 0) {
        co_return 0;
    }
    for (sql_values& each : changes.rows) {
        if (sides_.is_for_postgres) {
            replace_nul(each);
        }
    }
    adapt_step(changes.rows);
    co_await make_durable();
    const sql_work apply = [&](sql_session& session) {
        check_target(session, sides_.target);
        apply_changes(session, table_, changes);
    };
    // Durable before the notes are gone.
    co_await sides_.to.write(apply, sql_commit::synced);
    const sql_work forget = [&](sql_session& session) {
        change_notes::forget(session, table_, changes.upto);
    };
    co_await sides_.from.write(forget, sql_commit::unsynced);
    co_return changes.notes;
}

task<std::size_t> row_copier::compare_some() {
    if (!change_notes::has_notes(table_)) {
        co_return 0;
    }
    const std::size_t limit = step_;
    const std::vector<sql_values> rows = co_await read_rows(sides_.from, compared_, {}, limit);
    const bool is_last = rows.size() < limit;
    const sql_values upto = is_last ? sql_values() : table_.key_of(rows.back());
    const std::vector<sql_values> arrived = co_await read_rows(sides_.to, compared_, upto, 0);
    adapt_step(rows);
    if (arrived != rows) {
        std::map<std::string, const sql_values*> expected;
        for (const sql_values& each : rows) {
            expected.emplace(key_text(table_.key_of(each)), &each);
        }
        std::vector<sql_values> different;
        for (const sql_values& each : arrived) {
            const auto found = expected.find(key_text(table_.key_of(each)));
            if (found == expected.end() || *found->second != each) {
                different.push_back(table_.key_of(each));
            }
            if (found != expected.end()) {
                expected.erase(found);
            }
        }
        for (const auto& [key, row] : expected) {
            different.push_back(table_.key_of(*row));
        }
        co_await check_noted(different);
    }
    if (!rows.empty()) {
        compared_ = table_.key_of(rows.back());
    }
    co_return is_last ? 0 : rows.size();
}

// Notes that came after the rows were read excuse a row as well: it is copied again.
task<> row_copier::check_noted(const std::vector<sql_values>& keys) {
    std::set<std::string> noted;
    const sql_work look = [&](sql_session& session) {
        noted.clear();
        for (const sql_values& each : change_notes::noted_keys(session, table_)) {
            noted.insert(key_text(each));
        }
    };
    co_await sides_.from.read(look);
    for (const sql_values& each : keys) {
        if (const std::string key = key_text(each); !noted.contains(key)) {
            throw_differs(table_, key);
        }
    }
}

}  // namespace weir::service::detail
