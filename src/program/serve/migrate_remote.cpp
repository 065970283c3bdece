// SPDX-License-Identifier: MIT
// The service works on whether this command watches or not, and continues after a restart of its
// own; so the command waits for a service that does not answer for a while.

#include "program/serve/migrate_remote.hpp"

#include "program/output/json_output.hpp"
#include "program/output/text.hpp"
#include "program/serve/move_line.hpp"
#include "program/serve/open_store.hpp"
#include "program/tasks/remote.hpp"

#include <weir/http/json.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/time.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

namespace weir::program {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr clock::duration longest_silence = 2min;
constexpr clock::duration look_interval = 200ms;

std::string full_name(const std::string& database) {
    return service::is_postgres_url(database) ? shown_database(database)
                                              : std::filesystem::absolute(database).string();
}

std::uint64_t number_of(const json::value& answer, std::string_view member) {
    return http::optional_member<std::uint64_t>(answer, member).value_or(0);
}

class remote_move {
public:
    explicit remote_move(const migrate_settings& settings)
        : settings_(settings), service_(settings.server), to_(full_name(settings.to)) {}

    task<std::optional<int>> run() {
        json::value found;
        bool is_there = true;
        try {
            found = co_await service_.get("/move");
        } catch (const remote_error&) {
            if (settings_.names_server) {
                throw;
            }
            is_there = false;
        }
        if (!is_there) {
            co_return std::nullopt;
        }
        const std::string from = text_of(found, "database");
        if (from == to_ && !settings_.is_abandoned) {
            co_return report(found, "were moved before");
        }
        if (from != full_name(settings_.database)) {
            if (settings_.names_server && settings_.names_database) {
                throw remote_error("the service at " + settings_.server.url + " has its tasks in " +
                                   from + ", not in " + full_name(settings_.database));
            }
            if (!settings_.names_server) {
                co_return std::nullopt;
            }
        }
        if (settings_.only_check) {
            co_return co_await check(from);
        }
        if (settings_.is_abandoned) {
            found = co_await service_.remove("/move");
        } else if (!is_under_way(found) || text_of(found, "to") != to_) {
            found = co_await service_.post("/move", request());
        }
        found = co_await wait_for_end(std::move(found));
        co_return ended(found);
    }

private:
    static bool is_under_way(const json::value& found) {
        return http::optional_member<bool>(found, "is_under_way").value_or(false);
    }

    std::string request() const {
        // A path is one of the service's machine; it was typed here.
        const std::string to =
            service::is_postgres_url(settings_.to) ? settings_.to : full_name(settings_.to);
        json::object wanted{{"to", to}, {"schema", settings_.schema}};
        return json::serialize(wanted);
    }

    task<int> check(std::string from) {
        const json::value found = co_await service_.post("/move/check", request());
        if (settings_.as_json) {
            json::object facts{{"from", from}, {"to", to_}, {"is_moved", false}};
            facts["rows"] = number_of(found, "rows");
            facts["counts"] = found.at("counts");
            print_json(facts);
            co_return 0;
        }
        std::uint64_t tasks = 0;
        for (const auto& each : found.at("counts").as_object()) {
            tasks += each.value().to_number<std::uint64_t>();
        }
        std::printf("%llu task%s can be moved to %s while the service runs\n",
                    static_cast<unsigned long long>(tasks), tasks == 1 ? "" : "s",
                    shown(to_).c_str());
        co_return 0;
    }

    task<json::value> wait_for_end(json::value found) {
        move_line line;
        clock::time_point heard_at = weir::now();
        while (is_under_way(found)) {
            const std::string error = text_of(found, "error");
            line.show(number_of(found, "rows"), number_of(found, "total"),
                      error.empty() ? text_of(found, "phase") : "waits: " + error);
            co_await weir::sleep(look_interval);
            try {
                found = co_await service_.get("/move");
                heard_at = weir::now();
            } catch (const remote_error& failure) {
                if (failure.status() != 0 || weir::now() - heard_at > longest_silence) {
                    throw;
                }
            }
            if (text_of(found, "database") == to_) {
                break;  // a service that was started again after the end knows no more
            }
        }
        co_return found;
    }

    int ended(const json::value& found) {
        const std::string phase = text_of(found, "phase");
        if (settings_.is_abandoned && phase == "aborted") {
            std::printf("the move was given up; the service goes on with %s\n",
                        shown(text_of(found, "database")).c_str());
            return 0;
        }
        if (phase == "moved" || text_of(found, "database") == to_) {
            return report(found, "were moved");
        }
        const std::string error = text_of(found, "error");
        throw remote_error(std::string("the move ") +
                           (phase == "failed" ? "has failed" : "was given up") +
                           (error.empty() ? "" : ": " + error));
    }

    int report(const json::value& found, const char* what) const {
        const double held = http::optional_member<double>(found, "held_seconds").value_or(0);
        if (settings_.as_json) {
            json::object facts{{"from", full_name(settings_.database)}, {"to", to_}};
            facts["is_moved"] = true;
            facts["rows"] = number_of(found, "rows") / 2;
            facts["held_seconds"] = held;
            print_json(facts);
            return 0;
        }
        std::printf("the tasks of the service %s to %s", what, shown(to_).c_str());
        if (held > 0) {
            std::printf("; writes waited %.2f s", held);
        }
        std::printf("\nFrom now on start it with --database %s%s\n", shown(to_).c_str(),
                    settings_.schema == migrate_settings().schema
                        ? ""
                        : (" --schema " + settings_.schema).c_str());
        return 0;
    }

    const migrate_settings& settings_;
    remote service_;
    std::string to_;
};

}  // namespace

task<std::optional<int>> migrate_remote(const migrate_settings& settings) {
    remote_move move(settings);
    std::optional<int> code = co_await move.run();
    co_return code;
}

}  // namespace weir::program
