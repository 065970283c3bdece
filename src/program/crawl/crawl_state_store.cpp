// SPDX-License-Identifier: MIT
// Messages name the schema, and not the URL, which may have a password in it.

#include "program/crawl/crawl_state_store.hpp"

#include "program/output/text.hpp"

#include <weir/crawl/postgres_store.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/error.hpp>

#include <unistd.h>

#include <chrono>
#include <utility>

namespace weir::program {

task<std::unique_ptr<crawl::store>> open_state(const crawl_settings& settings, std::string state,
                                               state_use use) {
    if (crawl::is_postgres_url(state)) {
        crawl::postgres_store_options options;
        options.url = std::move(state);
        options.schema = settings.schema;
        options.node = settings.node;
        options.lease = std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(settings.lease));
        options.read_only = use != state_use::crawl;
        std::unique_ptr<crawl::store> opened =
            co_await crawl::open_postgres_store(std::move(options));
        co_return opened;
    }
    if (use != state_use::crawl && ::access(state.c_str(), F_OK) != 0) {
        throw invalid_argument("there is no state '" + shown(state) + "'");
    }
    crawl::sqlite_store_options how;
    how.read_only = use == state_use::report;
    std::unique_ptr<crawl::store> opened =
        co_await crawl::sqlite_store::open_file(std::move(state), how);
    co_return opened;
}

}  // namespace weir::program
