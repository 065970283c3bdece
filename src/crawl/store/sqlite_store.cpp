// SPDX-License-Identifier: MIT
// Writes go through the database's writer, one transaction for each batch; reads through a reader,
// which sees all commits before it.

#include "crawl/store/row_texts.hpp"
#include "crawl/store/sqlite_rows.hpp"
#include "crawl/store/sqlite_schema.hpp"
#include "crawl/store/state_lock.hpp"

#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/db/sqlite/database.hpp>

#include <sys/stat.h>

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir::crawl {

namespace {

std::string setting(sqlite::session& on, std::string_view name) {
    const sqlite::rows found = on.query("SELECT value FROM crawl WHERE name = ?", name);
    return found.size() == 0 ? std::string() : found[0][0].as<std::string>();
}

void set_setting(sqlite::session& on, std::string_view name, std::string_view value) {
    on.execute("INSERT OR REPLACE INTO crawl VALUES (?, ?)", name, value);
}

std::int64_t pragma(sqlite::session& on, std::string_view name) {
    return on.query("PRAGMA " + std::string(name))[0][0].as<std::int64_t>();
}

// A new file gets the tables; another database is refused.
void make_tables(sqlite::session& on) {
    const std::int64_t kind = pragma(on, "application_id");
    const std::int64_t tables =
        on.query("SELECT count(*) FROM sqlite_master")[0][0].as<std::int64_t>();
    if (kind == 0 && tables == 0) {
        on.script(detail::schema_script);
        on.script("PRAGMA application_id = " + std::to_string(detail::application_id) +
                  "; PRAGMA user_version = " + std::to_string(detail::schema_version));
        return;
    }
    if (kind != detail::application_id) {
        throw store_error("it is a database, but not one of a crawl");
    }
    const std::int64_t version = pragma(on, "user_version");
    if (version != detail::schema_version) {
        throw store_error("it has version " + std::to_string(version) +
                          " of the tables; this program knows version " +
                          std::to_string(detail::schema_version));
    }
}

saved_crawl read_saved(sqlite::session& on) {
    saved_crawl saved;
    const std::string seed = setting(on, "seed");
    saved.is_new = seed.empty();
    if (saved.is_new) {
        return saved;
    }
    saved.identity = setting(on, "identity");
    saved.seed = detail::seed_of_text(seed);
    saved.last_id = on.query("SELECT coalesce(max(id), 0) FROM urls")[0][0].as<url_id>();
    saved.totals = detail::read_counters(on);
    saved.hosts = detail::read_hosts(on);
    const sqlite::rows outputs = on.query("SELECT name, position FROM outputs");
    for (const sqlite::row row : outputs) {
        saved.positions[row[0].as<std::string>()] = row[1].as<std::string>();
    }
    return saved;
}

// 0: no such file.
std::uint64_t file_number_of(const std::string& path) noexcept {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}

[[noreturn]] void rethrow_as_store_error(const std::string& path) {
    try {
        throw;
    } catch (const sqlite::error& error) {
        const std::string advice =
            error.is_full() ? "; free some space and start the crawl again: it continues"
            : error.is_busy()
                ? "; another program has locked it: let it end and start the crawl again: it "
                  "continues"
                : "";
        throw store_error("the state '" + path + "': " + error.what() + advice);
    } catch (const store_error& error) {
        throw store_error("the state '" + path + "': " + error.what());
    }
}

}  // namespace

struct sqlite_store::parts {
    std::string path;
    std::optional<detail::state_lock> lock;
    std::uint64_t file_number = 0;
    std::optional<sqlite::database> database;

    // What the database gives, with errors that name the file. The functions refer to what the
    // caller's frame holds, and have nothing to destroy.
    template <class Function>
    task<std::invoke_result_t<Function&, sqlite::session&>> write(Function function) {
        static_assert(std::is_trivially_destructible_v<Function>);
        try {
            co_return co_await database->write(function);
        } catch (const std::exception&) {
            rethrow_as_store_error(path);
        }
    }
    template <class Function>
    task<std::invoke_result_t<Function&, sqlite::session&>> read(Function function) {
        static_assert(std::is_trivially_destructible_v<Function>);
        try {
            co_return co_await database->read(function);
        } catch (const std::exception&) {
            rethrow_as_store_error(path);
        }
    }
};

sqlite_store::sqlite_store(std::unique_ptr<parts> opened) noexcept : parts_(std::move(opened)) {}
sqlite_store::~sqlite_store() = default;

task<std::unique_ptr<sqlite_store>> sqlite_store::open_file(std::string path,
                                                            sqlite_store_options options) {
    auto made = std::make_unique<parts>();
    made->path = path;
    if (!options.read_only) {
        made->lock.emplace(path);
    }
    sqlite::open_options how;
    how.readers = 1;
    how.read_only = options.read_only;
    how.create = !options.read_only;
    how.sync = options.is_durable ? sqlite::durability::full : sqlite::durability::normal;
    try {
        made->database = co_await sqlite::open(path, how);
        const auto prepare = [](sqlite::session& on) { make_tables(on); };
        if (!options.read_only) {
            co_await made->database->write(prepare);
        }
    } catch (const std::exception&) {
        rethrow_as_store_error(path);
    }
    made->file_number = file_number_of(path);
    co_return std::unique_ptr<sqlite_store>(new sqlite_store(std::move(made)));
}

task<saved_crawl> sqlite_store::open(std::string identity, bool accept_changes) {
    const auto start = [&identity, accept_changes](sqlite::session& on) {
        saved_crawl saved = read_saved(on);
        if (saved.is_new) {
            saved.seed = hash_seed::random();
            set_setting(on, "seed", detail::seed_text(saved.seed));
        } else if (!accept_changes) {
            check_identity(saved.identity, identity);
        }
        set_setting(on, "identity", identity);
        return saved;
    };
    saved_crawl saved = co_await parts_->write(start);
    co_return saved;
}

task<saved_crawl> sqlite_store::peek() {
    const auto look = [](sqlite::session& on) { return read_saved(on); };
    saved_crawl saved = co_await parts_->read(look);
    co_return saved;
}

task<std::optional<retry_row>> sqlite_store::retry_of(url_id id) {
    const auto look = [id](sqlite::session& on) { return detail::read_retry(on, id); };
    std::optional<retry_row> row = co_await parts_->read(look);
    co_return row;
}

task<> sqlite_store::each_url(std::function<void(const known_url&)> visit) {
    // Two scans and a bit for each URL: a join would look up each of millions of URLs.
    const auto scan = [&visit](sqlite::session& on) {
        const auto last = on.query("SELECT coalesce(max(id), 0) FROM urls")[0][0].as<url_id>();
        std::vector<bool> is_settled(last + 1);
        const auto settle = [&is_settled](const sqlite::row& row) {
            const auto id = row[0].as<url_id>();
            if (id < is_settled.size()) {
                is_settled[id] = true;
            }
            return true;
        };
        on.each("SELECT id FROM pages", {}, settle);
        const auto take = [&visit, &is_settled](const sqlite::row& row) {
            const auto id = row[0].as<url_id>();
            visit({id, static_cast<std::uint64_t>(row[1].as<std::int64_t>()), row[2].as<host_id>(),
                   id >= is_settled.size() || !is_settled[id]});
            return true;
        };
        on.each("SELECT id, fingerprint, host FROM urls ORDER BY id", {}, take);
    };
    co_await parts_->read(scan);
}

task<> sqlite_store::commit(const commit_batch& batch) {
    // SQLite would go on writing to a file that has no name any more.
    if (file_number_of(parts_->path) != parts_->file_number) {
        throw store_error("the state '" + parts_->path +
                          "' was removed or replaced while the crawl was running: put it back, or "
                          "start the crawl with another state");
    }
    const auto write = [&batch](sqlite::session& on) { detail::write_batch(on, batch); };
    co_await parts_->write(write);
}

task<std::vector<url_row>> sqlite_store::pending(pending_query query) {
    const auto find = [&query](sqlite::session& on) {
        std::vector<url_row> rows;
        const sqlite::rows found =
            on.query(std::string(detail::url_columns) +
                         "u.host = ?1 AND (u.priority, u.id) >= (?2, ?3) AND u.id <= ?4 "
                         "ORDER BY u.priority, u.id LIMIT ?5",
                     query.host, query.priority, query.id, query.max_id, query.limit);
        for (const sqlite::row row : found) {
            rows.push_back(detail::url_of(row));
        }
        return rows;
    };
    std::vector<url_row> rows = co_await parts_->read(find);
    co_return rows;
}

task<std::vector<url_row>> sqlite_store::pending_between(url_id first, url_id last) {
    const auto find = [first, last](sqlite::session& on) {
        std::vector<url_row> rows;
        const sqlite::rows found = on.query(
            std::string(detail::url_columns) + "u.id BETWEEN ? AND ? ORDER BY u.id", first, last);
        for (const sqlite::row row : found) {
            rows.push_back(detail::url_of(row));
        }
        return rows;
    };
    std::vector<url_row> rows = co_await parts_->read(find);
    co_return rows;
}

task<hash_seed> sqlite_store::seed() {
    const auto look = [](sqlite::session& on) { return detail::seed_of_text(setting(on, "seed")); };
    const hash_seed seed = co_await parts_->read(look);
    co_return seed;
}

task<std::optional<page_record>> sqlite_store::find(std::string url) {
    const auto look = [&url](sqlite::session& on) -> std::optional<page_record> {
        const std::uint64_t fingerprint =
            seeded_hash<std::string_view>()(url, detail::seed_of_text(setting(on, "seed")));
        const sqlite::rows found =
            on.query(std::string(detail::page_columns) + "WHERE u.fingerprint = ? LIMIT 1",
                     detail::to_column(fingerprint));
        if (found.size() == 0) {
            return std::nullopt;
        }
        return detail::page_of(found[0]);
    };
    std::optional<page_record> page = co_await parts_->read(look);
    co_return page;
}

task<> sqlite_store::each_page(std::function<bool(const page_record&)> visit) {
    const auto scan = [&visit](sqlite::session& on) {
        const auto take = [&visit](const sqlite::row& row) { return visit(detail::page_of(row)); };
        on.each(std::string(detail::page_columns) + "ORDER BY u.id", {}, take);
    };
    co_await parts_->read(scan);
}

task<> sqlite_store::each_link(std::function<bool(const link_row&)> visit) {
    const auto scan = [&visit](sqlite::session& on) {
        const auto take = [&visit](const sqlite::row& row) { return visit(detail::link_of(row)); };
        on.each("SELECT page, target, kind, refusal, line, column, url, fragment FROM links", {},
                take);
    };
    co_await parts_->read(scan);
}

task<> sqlite_store::each_anchors(std::function<bool(url_id, const std::string&)> visit) {
    const auto scan = [&visit](sqlite::session& on) {
        const auto take = [&visit](const sqlite::row& row) {
            return visit(row[0].as<url_id>(), row[1].as<std::string>());
        };
        on.each("SELECT page, names FROM anchors", {}, take);
    };
    co_await parts_->read(scan);
}

task<std::uint64_t> sqlite_store::retry_failed() {
    const auto reset = [](sqlite::session& on) -> std::uint64_t {
        counters totals = detail::read_counters(on);
        const auto count = [&on](const char* condition) {
            return on.query(std::string("SELECT count(*) FROM pages WHERE ") + condition)[0][0]
                .as<std::uint64_t>();
        };
        totals.failed -= count("state = 'failed'");
        totals.skipped -= count("state = 'skipped'");
        // As they were counted: sitemaps are no pages, requested or not.
        totals.unrequested -= count(
            "state <> 'done' AND (attempts = 0 OR "
            "id IN (SELECT id FROM urls WHERE found_as = 'sitemap_file'))");
        const sqlite::changed removed = on.execute("DELETE FROM pages WHERE state <> 'done'");
        on.execute("DELETE FROM retries");
        on.execute("UPDATE hosts SET given_up = '', failures = 0, trips = 0, robots_failures = 0");
        detail::write_counters(on, totals);
        return static_cast<std::uint64_t>(removed.rows);
    };
    const std::uint64_t count = co_await parts_->write(reset);
    co_return count;
}

task<> sqlite_store::close() {
    if (parts_->database) {
        co_await parts_->database->close();
        parts_->database.reset();
        parts_->lock.reset();
    }
}

}  // namespace weir::crawl
