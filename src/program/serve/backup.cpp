// SPDX-License-Identifier: MIT
// weir backup: copies the database of a service, which may be running. It works on the file, with
// the rights of its user. The API has no such request, which would let its clients write files.

#include "program/command_line/commands.hpp"
#include "program/output/json_output.hpp"
#include "program/output/text.hpp"

#include <weir/run.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/service/task.hpp>

#include <boost/json/object.hpp>

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>

namespace weir::program {

namespace {

namespace json = boost::json;

task<int> back_up(const backup_settings& settings) {
    if (service::is_postgres_url(settings.database)) {
        throw std::runtime_error(
            "weir backup copies files; for a PostgreSQL database use pg_dump, with the schema of "
            "the store");
    }
    std::error_code error;
    if (!settings.is_replacing && std::filesystem::exists(settings.file, error)) {
        throw std::runtime_error("the backup " + settings.file +
                                 " exists already; --force replaces it");
    }
    const service::sqlite_file_facts copy = co_await service::back_up_sqlite_store(
        settings.database, settings.file, settings.is_replacing);
    const std::uintmax_t size = std::filesystem::file_size(settings.file, error);
    if (settings.as_json) {
        json::object counts;
        for (std::size_t state = 0; state < copy.tasks.size(); ++state) {
            counts[to_string(static_cast<service::task_state>(state))] = copy.tasks[state];
        }
        json::object facts{{"database", settings.database}, {"file", settings.file}};
        facts["bytes"] = size;
        facts["counts"] = std::move(counts);
        print_json(facts);
    } else {
        const std::uint64_t tasks =
            std::accumulate(copy.tasks.begin(), copy.tasks.end(), std::uint64_t{0});
        std::printf("%s: %llu task%s, %llu bytes\n", shown(settings.file).c_str(),
                    static_cast<unsigned long long>(tasks), tasks == 1 ? "" : "s",
                    static_cast<unsigned long long>(size));
    }
    co_return 0;
}

}  // namespace

void add_options(options& to, backup_settings& settings) {
    to.text({"file", "FILE", "The backup to write", "", false, true}, settings.file);
    to.set_variables(true);
    to.text({"-d,--database", "FILE", "Database of the service; without it that of [serve]", ""},
            settings.database);
    to.set_variables(false);
    to.flag({"--force", "", "Replace the file if it exists", ""}, settings.is_replacing);
    to.flag({"--json", "", "As JSON", ""}, settings.as_json);
}

int run_backup(const backup_settings& settings) {
    return weir::run(back_up(settings));
}

}  // namespace weir::program
