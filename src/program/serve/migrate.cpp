// SPDX-License-Identifier: MIT
// weir migrate: moves the tasks of a service between a file and PostgreSQL. A service that runs is
// asked to do so itself; if none does, this process moves them.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/text.hpp"
#include "program/serve/migrate_remote.hpp"
#include "program/serve/move_line.hpp"
#include "program/serve/open_store.hpp"

#include <weir/run.hpp>
#include <weir/service/move_store.hpp>
#include <weir/service/task.hpp>

#include <boost/json/object.hpp>

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace weir::program {

namespace {

namespace json = boost::json;

void print_report(const migrate_settings& settings, const service::move_report& report) {
    const std::string to = shown_database(settings.to);
    if (settings.as_json) {
        json::object counts;
        for (std::size_t state = 0; state < report.tasks.size(); ++state) {
            counts[to_string(static_cast<service::task_state>(state))] = report.tasks[state];
        }
        json::object facts{{"from", shown_database(settings.database)}, {"to", to}};
        facts["is_moved"] = !settings.only_check;
        facts["rows"] = report.rows;
        facts["counts"] = std::move(counts);
        print_json(facts);
        return;
    }
    const std::uint64_t tasks =
        std::accumulate(report.tasks.begin(), report.tasks.end(), std::uint64_t{0});
    const char* const what = settings.only_check   ? "can be moved"
                             : report.was_complete ? "were moved before"
                                                   : "were moved";
    std::printf("%llu task%s %s to %s\n", static_cast<unsigned long long>(tasks),
                tasks == 1 ? "" : "s", what, shown(to).c_str());
    if (!settings.only_check) {
        std::printf("Serve it: weir serve --database %s%s\n", shown(to).c_str(),
                    settings.schema == migrate_settings().schema
                        ? ""
                        : (" --schema " + settings.schema).c_str());
    }
}

task<int> migrate(const migrate_settings& settings) {
    const std::optional<int> code = co_await migrate_remote(settings);
    if (code.has_value()) {
        co_return *code;
    }
    std::error_code error;
    if (!service::is_postgres_url(settings.database) &&
        !std::filesystem::exists(settings.database, error)) {
        throw std::runtime_error("the task store " + settings.database +
                                 " does not exist; --database names the one to move");
    }
    service::move_options options;
    options.postgres.schema = settings.schema;
    options.only_check = settings.only_check;
    if (settings.is_abandoned) {
        co_await service::abandon_move(settings.database, settings.to, options);
        std::printf("%s can be served again\n", shown(shown_database(settings.database)).c_str());
        co_return 0;
    }
    service::move_report report;
    {
        move_line line;
        options.on_progress = [&line](const service::move_progress& progress) {
            line.show(progress.rows, progress.total, std::string(progress.table));
        };
        report = co_await service::move_store(settings.database, settings.to, options);
    }
    print_report(settings, report);
    co_return 0;
}

}  // namespace

void add_options(options& to, migrate_settings& settings) {
    to.text({"to,--to", "TO", "Where to: the URL of a PostgreSQL database, or a new file", "",
             false, true},
            settings.to);
    to.set_variables(true);
    to.text({"-d,--database", "FILE", "Database of the service; without it that of [serve]", ""},
            settings.database);
    to.text({"--schema", "NAME", "Schema of the tables in PostgreSQL", ""}, settings.schema);
    add_options(to, settings.server);
    to.set_variables(false);
    to.flag({"--check", "", "Say whether it can be moved, and move nothing", ""},
            settings.only_check);
    to.flag({"--abort", "", "Give up a move: the tasks stay where they are", ""},
            settings.is_abandoned);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_migrate(const migrate_settings& settings) {
    return weir::run(migrate(settings));
}

}  // namespace weir::program
