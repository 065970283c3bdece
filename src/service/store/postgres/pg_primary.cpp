// SPDX-License-Identifier: MIT
// All servers of the URL are asked at once, since one that hangs must not delay the others. The
// first primary waits a moment for the others, among which there may be its successor.

#include "service/store/postgres/pg_primary.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/group.hpp>
#include <weir/scope.hpp>
#include <weir/sync/event.hpp>

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace weir::service::detail {

namespace {

constexpr clock::duration time_for_successor = std::chrono::milliseconds(300);

struct pg_candidate {
    std::optional<pg::connection> connection;
    pg_identity is;
    std::exception_ptr error;

    bool is_primary() const noexcept { return connection.has_value() && !is.is_standby; }
};

struct pg_search {
    pg_servers& servers;
    clock::duration connect_timeout;
    std::string application_name;
    std::vector<pg_candidate> all;

    bool is_usable(std::size_t index) const {
        const pg_candidate& each = all.at(index);
        return each.is_primary() && !each.is.history.is_before(servers.newest());
    }
    bool has_usable() const {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (is_usable(i)) {
                return true;
            }
        }
        return false;
    }
};

// The kernel gives up a connection whose peer acknowledges nothing for five seconds, unless the URL
// says otherwise.
std::string with_user_timeout(const std::string& url) {
    if (url.find("tcp_user_timeout") != std::string::npos) {
        return url;
    }
    constexpr const char* setting = "tcp_user_timeout=5000";
    if (url.find("://") == std::string::npos) {
        return url + " " + setting;
    }
    const bool has_more = url.find('?') != std::string::npos && !url.ends_with('?');
    return url + (has_more ? "&" : url.ends_with('?') ? "" : "?") + setting;
}

pg::connection_error standby_error(const std::string& name) {
    return pg::connection_error(
        pg::error_fields{.sqlstate = "25006",
                         .severity = "FATAL",
                         .message = "the PostgreSQL server " + name +
                                    " is a standby, which takes no writes: name the primary, or "
                                    "all servers, in the URL"});
}

pg::connection_error successor_error(const std::string& name, const pg_history& found,
                                     const pg_history& newest) {
    return {"the PostgreSQL server " + name + " is a former primary that has come back: its " +
                "timeline is " + std::to_string(found.timeline) + ", and this store has used " +
                "timeline " + std::to_string(newest.timeline) +
                " of the same database; stop it, or make it a standby of the new primary",
            db::retry_advice::yes};
}

task<pg::rows> ask_identity(pg::connection& server) {
    pg::rows found;
    bool is_told = true;
    try {
        found = co_await server.query(identity_sql(true));
    } catch (const pg::connection_error&) {
        throw;
    } catch (const pg::error&) {
        is_told = false;
    }
    if (!is_told) {
        found = co_await server.query(identity_sql(false));
    }
    co_return found;
}

task<> ask_server(pg_search& search, std::size_t index) {
    pg_candidate& to = search.all[index];
    try {
        pg::connect_options options;
        const std::string url = with_user_timeout(search.servers.url(index));
        options.url = url;
        options.application_name = search.application_name;
        options.connect_timeout = search.connect_timeout;
        pg::connection opened = co_await pg::connect(options);
        const pg::rows found = co_await ask_identity(opened);
        to.is = read_identity(found[0]);
        to.connection.emplace(std::move(opened));
    } catch (const std::exception&) {
        to.error = std::current_exception();
    }
}

task<> ask_all_servers(pg_search& search) {
    event has_answer;
    event all_answered;
    std::size_t left = search.all.size();
    const auto ask = [&](std::size_t index) -> task<> {
        co_await ask_server(search, index);
        has_answer.set();
        if (--left == 0) {
            all_answered.set();
        }
    };
    const auto body = [&](task_group& group) -> task<> {
        for (std::size_t i = 0; i < search.all.size(); ++i) {
            group.spawn(ask(i));
        }
        while (left > 0 && !search.has_usable()) {
            has_answer.clear();
            co_await has_answer.wait();
        }
        if (left > 0) {
            cancel_scope limit(time_for_successor);
            static_cast<void>(co_await limit.run(all_answered.wait()));
            group.cancel();
        }
    };
    co_await with_group(body);
}

[[noreturn]] void throw_answers(const pg_search& search, const pg_history& newest) {
    std::vector<std::exception_ptr> errors;
    for (std::size_t i = 0; i < search.all.size(); ++i) {
        const pg_candidate& each = search.all[i];
        const std::string& name = search.servers.name(i);
        if (each.error != nullptr) {
            errors.push_back(each.error);
        } else if (each.is.is_standby) {
            errors.push_back(std::make_exception_ptr(standby_error(name)));
        } else if (each.connection.has_value()) {
            errors.push_back(
                std::make_exception_ptr(successor_error(name, each.is.history, newest)));
        }
    }
    if (errors.size() == 1) {
        std::rethrow_exception(errors.front());
    }
    std::string text = "no PostgreSQL server of the URL is a primary";
    for (const std::exception_ptr& each : errors) {
        try {
            std::rethrow_exception(each);
        } catch (const std::exception& error) {
            text += "; " + std::string(error.what());
        }
    }
    throw pg::connection_error(text, db::retry_advice::yes);
}

std::size_t choose_primary(const pg_search& search) {
    const std::size_t none = search.all.size();
    std::size_t best = none;
    for (std::size_t i = 0; i < search.all.size(); ++i) {
        if (search.is_usable(i) &&
            (best == none || search.all[best].is.history.is_before(search.all[i].is.history))) {
            best = i;
        }
    }
    if (best == none) {
        throw_answers(search, search.servers.newest());
    }
    return best;
}

}  // namespace

// The timeline is the beginning of the name of a WAL file: pg_control_checkpoint() has the former
// one until the first checkpoint after a promotion.
const char* identity_sql(bool with_history) noexcept {
    return with_history
               ? "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), CASE WHEN "
                 "pg_catalog.pg_is_in_recovery() THEN '' ELSE "
                 "pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END, (SELECT "
                 "system_identifier FROM pg_catalog.pg_control_system())"
               : "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), "
                 "''::pg_catalog.text, 0::pg_catalog.int8";
}

pg_identity read_identity(const pg::row& row) {
    pg_identity found;
    found.process = row.get<int>(0);
    found.is_standby = row.get<bool>(1);
    const auto file = row.get<std::string>(2);
    constexpr std::size_t digits = 8;
    if (file.size() > digits) {
        std::from_chars(file.data(), file.data() + digits, found.history.timeline, 16);
    }
    found.history.system = row.get<std::int64_t>(3);
    return found;
}

task<pg_primary> find_primary(pg_servers& servers, clock::duration connect_timeout,
                              std::string application_name) {
    pg_search search{servers, connect_timeout, std::move(application_name), {}};
    search.all.resize(servers.size());
    const std::uint64_t generation = servers.generation();
    const std::optional<std::size_t> known = servers.primary();
    bool is_found = false;
    if (known.has_value()) {
        co_await ask_server(search, *known);
        is_found = search.is_usable(*known);
        if (!is_found) {
            servers.lose(generation);
            search.all[*known] = pg_candidate();
        }
    }
    if (!is_found) {
        co_await ask_all_servers(search);
    }
    const std::size_t chosen = choose_primary(search);
    pg_candidate& best = search.all[chosen];
    const std::optional<std::uint64_t> accepted = servers.accept(chosen, best.is.history);
    if (!accepted.has_value()) {
        throw successor_error(servers.name(chosen), best.is.history, servers.newest());
    }
    pg_primary found{std::move(*best.connection), best.is, *accepted};
    co_return std::move(found);
}

task<pg_primary> find_standby(pg_servers& servers, clock::duration connect_timeout,
                              std::string application_name) {
    pg_search search{servers, connect_timeout, std::move(application_name), {}};
    search.all.resize(servers.size());
    const std::uint64_t generation = servers.generation();
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < search.all.size(); ++i) {
        co_await ask_server(search, i);
        chosen = i;
        if (search.all[i].connection.has_value()) {
            break;
        }
    }
    pg_candidate& best = search.all[chosen];
    if (best.error != nullptr) {
        std::rethrow_exception(best.error);
    }
    pg_primary found{std::move(*best.connection), best.is, generation};
    co_return std::move(found);
}

}  // namespace weir::service::detail
