// SPDX-License-Identifier: MIT
// libpq connects by steps, and says after each what to wait for. It would look up names itself, and
// block meanwhile: so each name is replaced by its addresses before, in 'hostaddr', while 'host'
// keeps the name, against which certificates and the password file are checked.
//
// libpq keeps the SQLSTATE of a refused connection to itself; in verbose messages it is there, so
// they are asked for, and the code is taken out again.

#include "db/pg/session/connector.hpp"

#include <weir/db/pg/error.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/io/address.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/timeout.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace weir::pg::detail {

void finish_connection::operator()(pg_conn* open) const noexcept {
    PQfinish(open);
}

namespace {

// What libpq says about a text quotes parts of it: a password, perhaps.
std::string without_quotations(std::string_view said) {
    std::string made;
    bool is_inside = false;
    for (const char each : said) {
        if (each == '"') {
            is_inside = !is_inside;
            made += is_inside ? "\"..." : "\"";
        } else if (!is_inside && each != '\n') {
            made += each;
        }
    }
    return made;
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

// 'FATAL:  28P01: password ...' and a line on where in the server's source.
connection_error refusal(const PGconn* connection, const std::string& where) {
    std::string_view said = PQerrorMessage(connection);
    std::string text;
    std::string code;
    while (!said.empty()) {
        const std::size_t end = std::min(said.find('\n'), said.size());
        std::string line(said.substr(0, end));
        said.remove_prefix(std::min(end + 1, said.size()));
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
        text = "pg: no connection to " + where;
    }
    if (code.empty()) {
        return connection_error("pg: " + text, db::retry_advice::yes);
    }
    return connection_error(
        error_fields{.sqlstate = code, .severity = "FATAL", .message = "pg: " + text});
}

void ignore(void*, const PGresult*) {}

const char* environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

endpoint::endpoint(const connect_options& options) : timeout_(options.connect_timeout) {
    const std::string text(options.url);
    if (text.find('\0') != std::string::npos) {
        throw invalid_argument("pg: there is a NUL in the url");
    }
    char* complaint = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
        PQconninfoParse(text.c_str(), &complaint), &PQconninfoFree);
    if (parsed == nullptr) {
        const std::string why =
            complaint != nullptr ? without_quotations(complaint) : "there is no memory";
        PQfreemem(complaint);
        throw invalid_argument(
            "pg: the url cannot be read: " + why +
            "; write postgresql://user:password@host:port/database or host=... dbname=...");
    }
    for (const PQconninfoOption* each = parsed.get(); each->keyword != nullptr; ++each) {
        if (each->val != nullptr && *each->val != '\0') {
            given_.emplace_back(each->keyword, each->val);
        }
    }
    const std::string* const limit = find("connect_timeout");
    if (limit != nullptr && timeout_ == connect_options().connect_timeout &&
        std::atoi(limit->c_str()) > 0) {
        timeout_ = std::chrono::seconds(std::atoi(limit->c_str()));
    }
    const auto by_default = [&](const char* keyword, const char* variable, std::string value) {
        if (find(keyword) == nullptr && (variable == nullptr || environment(variable) == nullptr)) {
            given_.emplace_back(keyword, std::move(value));
        }
    };
    if (!options.application_name.empty()) {
        std::erase_if(given_, [](const auto& each) { return each.first == "application_name"; });
        given_.emplace_back("application_name", options.application_name);
    }
    by_default("gssencmode", "PGGSSENCMODE", "disable");  // it would block
    by_default("client_encoding", "PGCLIENTENCODING", "UTF8");
    // A server that has vanished is noticed within a minute, not within hours.
    by_default("keepalives_idle", nullptr, "30");
    by_default("keepalives_interval", nullptr, "10");
    by_default("keepalives_count", nullptr, "3");
    by_default("tcp_user_timeout", nullptr, "30000");

    const std::string* const host = find("host");
    const std::string* const address = find("hostaddr");
    const char* const said = environment("PGHOST");
    where_ = host != nullptr      ? *host
             : address != nullptr ? *address
             : said != nullptr    ? said
                                  : "the local socket";
}

const std::string* endpoint::find(std::string_view keyword) const noexcept {
    for (const auto& each : given_) {
        if (each.first == keyword) {
            return &each.second;
        }
    }
    return nullptr;
}

task<endpoint::settings> endpoint::resolved() const {
    settings all = given_;
    const std::string* const given = find("host");
    const char* const said = environment("PGHOST");
    if (find("hostaddr") != nullptr || environment("PGHOSTADDR") != nullptr ||
        (given == nullptr && said == nullptr)) {
        co_return all;
    }
    const std::vector<std::string> hosts = split(given != nullptr ? *given : said);
    const std::string* const given_port = find("port");
    const char* const said_port = environment("PGPORT");
    const std::vector<std::string> ports = split(given_port != nullptr  ? *given_port
                                                 : said_port != nullptr ? said_port
                                                                        : "");
    if (ports.size() != 1 && ports.size() != hosts.size()) {
        co_return all;  // libpq says what is wrong
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
            add("");  // a socket in a folder
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

task<connection_ptr> endpoint::begin() const {
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
    PQsetNoticeReceiver(opened.get(), ignore, nullptr);
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
    throw refusal(opened.get(), where_);
}

task<connection_ptr> endpoint::open() const {
    try {
        connection_ptr opened = co_await timeout(timeout_, begin());
        co_return std::move(opened);
    } catch (const timed_out&) {
        throw connection_error(
            "pg: no connection to " + where_ + " within " +
                std::to_string(
                    std::chrono::duration_cast<std::chrono::milliseconds>(timeout_).count()) +
                " ms",
            db::retry_advice::yes);
    }
}

}  // namespace weir::pg::detail
