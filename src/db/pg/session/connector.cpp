// SPDX-License-Identifier: MIT
// libpq connects in steps, and says after each one what to wait for. It would resolve host names
// itself, and block meanwhile: so each name is resolved here, and its addresses go into 'hostaddr',
// while 'host' keeps the name, against which certificates and the password file are checked.
//
// libpq has no function for the SQLSTATE of a refused connection, but its verbose messages contain
// it: so they are switched on, and the code is parsed from them.

#include "db/pg/session/connector.hpp"

#include "base/option_checks.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/io/address.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace weir::pg::detail {

namespace {

// libpq's message without its quotations of the URL, which may contain a password.
std::string without_quotations(std::string_view message) {
    std::string kept;
    bool is_inside = false;
    for (const char each : message) {
        if (each == '"') {
            is_inside = !is_inside;
            kept += is_inside ? "\"..." : "\"";
        } else if (!is_inside && each != '\n') {
            kept += each;
        }
    }
    return kept;
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t comma = list.find(',');
        parts.emplace_back(list.substr(0, comma));
        if (comma == std::string_view::npos) {
            return parts;
        }
        list.remove_prefix(comma + 1);
    }
}

std::string joined(const std::vector<std::string>& parts) {
    std::string list;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        list += (i > 0 ? "," : "") + parts[i];
    }
    return list;
}

bool is_code(std::string_view text) {
    return text.size() == 5 && std::all_of(text.begin(), text.end(), [](unsigned char each) {
               return std::isdigit(each) != 0 || std::isupper(each) != 0;
           });
}

// From 'FATAL:  28P01: password ...' and a line with the place in the server's source.
connection_error refusal(const PGconn* connection, const std::string& server) {
    std::string_view rest = PQerrorMessage(connection);
    std::string text;
    std::string code;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string line(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line.starts_with("LOCATION:")) {
            continue;
        }
        const std::size_t at = line.find(":  ");
        if (at != std::string::npos && line.size() > at + 9 && line[at + 8] == ':' &&
            is_code(std::string_view(line).substr(at + 3, 5))) {
            code = line.substr(at + 3, 5);
            line.erase(at + 2, 7);
        }
        line.erase(0, line.find_first_not_of(" \t"));
        text += (text.empty() ? "" : "; ") + line;
    }
    if (text.empty()) {
        text = "no connection to " + server;
    }
    if (code.empty()) {
        return connection_error("pg: " + text, db::retry_advice::yes);
    }
    return connection_error(
        error_fields{.sqlstate = code, .severity = "FATAL", .message = "pg: " + text});
}

const char* environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

void check(const connect_options& options) {
    using weir::detail::throw_bad_option;
    constexpr clock::duration zero{};
    if (options.connect_timeout <= zero) {
        throw_bad_option("pg", "connect_timeout", options.connect_timeout, "more than 0");
    }
    if (options.cancel_timeout <= zero) {
        throw_bad_option("pg", "cancel_timeout", options.cancel_timeout, "more than 0");
    }
    if (options.cancel_after < zero) {
        throw_bad_option("pg", "cancel_after", options.cancel_after, "zero or more");
    }
}

connector::connector(const connect_options& options) : timeout_(options.connect_timeout) {
    const std::string text(options.url);
    if (text.find('\0') != std::string::npos) {
        throw invalid_argument("pg: the url contains a NUL");
    }
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
        PQconninfoParse(text.c_str(), &message), &PQconninfoFree);
    if (parsed == nullptr) {
        const std::string reason =
            message != nullptr ? without_quotations(message) : "out of memory";
        PQfreemem(message);
        throw invalid_argument(
            "pg: the url cannot be parsed: " + reason +
            "; write postgresql://user:password@host:port/database or host=... dbname=...");
    }
    for (const PQconninfoOption* each = parsed.get(); each->keyword != nullptr; ++each) {
        if (each->val != nullptr && *each->val != '\0') {
            settings_.emplace_back(each->keyword, each->val);
        }
    }
    const std::string* const limit = find("connect_timeout");
    if (limit != nullptr && timeout_ == connect_options().connect_timeout &&
        std::atoi(limit->c_str()) > 0) {
        timeout_ = std::chrono::seconds(std::atoi(limit->c_str()));
    }
    const auto set_default = [&](const char* keyword, const char* variable, std::string value) {
        if (find(keyword) == nullptr && (variable == nullptr || environment(variable) == nullptr)) {
            settings_.emplace_back(keyword, std::move(value));
        }
    };
    if (!options.application_name.empty()) {
        std::erase_if(settings_, [](const auto& each) { return each.first == "application_name"; });
        settings_.emplace_back("application_name", options.application_name);
    }
    set_default("gssencmode", "PGGSSENCMODE", "disable");  // it blocks
    set_default("client_encoding", "PGCLIENTENCODING", "UTF8");
    // A server that has vanished is noticed within a minute, not within hours.
    set_default("keepalives_idle", nullptr, "30");
    set_default("keepalives_interval", nullptr, "10");
    set_default("keepalives_count", nullptr, "3");
    set_default("tcp_user_timeout", nullptr, "30000");

    const std::string* const host = find("host");
    const std::string* const address = find("hostaddr");
    const char* const from_environment = environment("PGHOST");
    name_ = host != nullptr               ? *host
            : address != nullptr          ? *address
            : from_environment != nullptr ? from_environment
                                          : "the local socket";
}

const std::string* connector::find(std::string_view keyword) const noexcept {
    for (const auto& each : settings_) {
        if (each.first == keyword) {
            return &each.second;
        }
    }
    return nullptr;
}

task<connector::settings> connector::resolved() const {
    settings all = settings_;
    const std::string* const host = find("host");
    const char* const from_environment = environment("PGHOST");
    if (find("hostaddr") != nullptr || environment("PGHOSTADDR") != nullptr ||
        (host == nullptr && from_environment == nullptr)) {
        co_return all;
    }
    const std::vector<std::string> hosts = split(host != nullptr ? *host : from_environment);
    const std::string* const port_setting = find("port");
    const char* const port_variable = environment("PGPORT");
    const std::vector<std::string> ports = split(port_setting != nullptr    ? *port_setting
                                                 : port_variable != nullptr ? port_variable
                                                                            : "");
    if (ports.size() != 1 && ports.size() != hosts.size()) {
        co_return all;  // libpq reports the error
    }
    std::vector<std::string> names;
    std::vector<std::string> addresses;
    std::vector<std::string> numbers;
    std::string failures;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        const std::string& port = ports.size() == 1 ? ports[0] : ports[i];
        const auto add = [&](std::string address) {
            names.push_back(hosts[i]);
            addresses.push_back(std::move(address));
            numbers.push_back(port);
        };
        if (hosts[i].empty() || hosts[i].front() == '/' || hosts[i].front() == '@') {
            add("");  // a Unix socket
            continue;
        }
        std::vector<io::address> found;
        try {
            found = co_await dns::resolve(hosts[i], std::uint16_t{0});
        } catch (const std::exception& error) {
            failures += (failures.empty() ? "" : "; ") + std::string(error.what());
        }
        for (const io::address& each : found) {
            add(each.host());
        }
    }
    if (names.empty()) {
        throw connection_error("pg: " + failures, db::retry_advice::yes);
    }
    std::erase_if(all,
                  [](const auto& each) { return each.first == "host" || each.first == "port"; });
    all.emplace_back("host", joined(names));
    all.emplace_back("hostaddr", joined(addresses));
    all.emplace_back("port", joined(numbers));
    co_return all;
}

task<connection_ptr> connector::connect() const {
    const settings all = co_await resolved();
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& each : all) {
        keywords.push_back(each.first.c_str());
        values.push_back(each.second.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_ptr opened(PQconnectStartParams(keywords.data(), values.data(), 0));
    if (opened == nullptr) {
        throw std::bad_alloc();
    }
    PQsetNoticeReceiver(opened.get(), ignore_notice, nullptr);
    PQsetErrorVerbosity(opened.get(), PQERRORS_VERBOSE);
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
    while (PQstatus(opened.get()) != CONNECTION_BAD && wanted != PGRES_POLLING_FAILED) {
        if (wanted == PGRES_POLLING_OK) {
            PQsetErrorVerbosity(opened.get(), PQERRORS_DEFAULT);
            co_return std::move(opened);
        }
        if (wanted == PGRES_POLLING_READING) {
            co_await wait_readable(PQsocket(opened.get()));
        } else {
            co_await wait_writable(PQsocket(opened.get()));
        }
        wanted = PQconnectPoll(opened.get());
    }
    throw refusal(opened.get(), name_);
}

task<opened_connection> connector::connect_and_set_up() const {
    connection_ptr opened = co_await connect();
    opened_connection ready = co_await set_up(std::move(opened), name_);
    co_return std::move(ready);
}

task<opened_connection> connector::open() const {
    try {
        opened_connection opened = co_await timeout(timeout_, connect_and_set_up());
        co_return std::move(opened);
    } catch (const timed_out&) {
        throw connection_error(
            "pg: no connection to " + name_ + " within " +
                std::to_string(
                    std::chrono::duration_cast<std::chrono::milliseconds>(timeout_).count()) +
                " ms",
            db::retry_advice::yes);
    }
}

}  // namespace weir::pg::detail
