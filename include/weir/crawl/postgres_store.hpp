// SPDX-License-Identifier: MIT
// A crawl in a PostgreSQL database, on which any number of nodes work together:
//
//     weir::crawl::postgres_store_options options;
//     options.url = "postgresql://crawler@db.example.com/crawls";
//     options.schema = "example_com";
//     auto store = co_await weir::crawl::open_postgres_store(options);
//
// Each crawler has a store of its own. docs/crawl.md says what nodes share.
#pragma once

#include <weir/clock.hpp>
#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl {

struct postgres_store_options {
    postgres_store_options() = default;

    std::string url;  // as pg::connect_options
    // One crawl. Created, with its tables, if it is not there.
    std::string schema = "weir_crawl";
    // Of this node; outputs belong to it. Empty: the name of the machine.
    std::string node;
    // Without a poll for so long a node is taken for dead. From a second to an hour.
    clock::duration lease = std::chrono::seconds(10);
    // How long a call tries to reach a database that is away.
    clock::duration patience = std::chrono::seconds(60);
    bool read_only = false;  // for reports: makes no tables
};

// Throws store_error if the database cannot be reached or used, invalid_argument for options that
// make no sense. The store's shared() is not null.
task<std::unique_ptr<store>> open_postgres_store(postgres_store_options options);

// 'postgres://...' or 'postgresql://...'
bool is_postgres_url(std::string_view text) noexcept;

}  // namespace weir::crawl
