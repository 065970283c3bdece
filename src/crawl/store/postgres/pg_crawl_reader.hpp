// SPDX-License-Identifier: MIT
// Reads a crawl in PostgreSQL, without a lock and without joining it.
#pragma once

#include "crawl/store/postgres/pg_crawl_database.hpp"

#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

class pg_crawl_reader {
public:
    explicit pg_crawl_reader(pg_crawl_database& database) noexcept : database_(database) {}

    // The positions are those of the outputs of `node`.
    task<saved_crawl> saved(std::string node);
    task<saved_crawl> saved_without_hosts(std::string node);
    task<std::vector<url_row>> pending(pending_query query);
    task<std::vector<url_row>> pending_between(url_id first, url_id last);
    task<hash_seed> seed();
    task<std::optional<page_record>> find(std::string url);
    task<std::optional<retry_row>> retry_of(url_id id);

    // Until `visit` says false.
    task<> each_url(std::function<void(const known_url&)> visit);
    task<> each_page(std::function<bool(const page_record&)> visit);
    task<> each_link(std::function<bool(const link_row&)> visit);
    task<> each_anchors(std::function<bool(url_id, const std::string&)> visit);

private:
    // The rows of a query in steps: by `key`, which is its first column.
    task<> each_row(std::string_view columns, std::string_view key,
                    std::function<bool(const pg::row&)> visit);

    pg_crawl_database& database_;
};

}  // namespace weir::crawl::detail
