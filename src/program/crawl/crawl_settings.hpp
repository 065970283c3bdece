// SPDX-License-Identifier: MIT
// The settings of `weir crawl`.
#pragma once

#include "program/command_line/listen_setting.hpp"
#include "program/command_line/options.hpp"

#include <weir/crawl/crawl_options.hpp>
#include <weir/http/address_filter.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::program {

struct crawl_settings {
    std::vector<std::string> words;     // URLs, or a verb and its arguments
    std::vector<std::string> lists;     // files of URLs
    std::vector<std::string> sitemaps;  // URLs; 'true': look for them
    std::string state;
    std::string schema = "weir_crawl";  // these three of a state in PostgreSQL
    std::string node;
    double lease = 10;
    std::string output;
    std::string format = "jsonl";
    std::string warc;
    std::string mirror;
    std::string graph;
    std::string made_sitemap;
    std::string scope = "host";
    std::string progress = "auto";
    std::string baseline;
    std::string accept;
    std::string fail_on = "none";
    std::string header_file;
    std::string ca_file;
    std::string contact;
    std::optional<listen_setting> metrics;
    crawl::crawl_options options;
    double depth = -1;
    double max_pages = 0;  // 0: no limit
    double pages_per_host = 0;
    double pages_per_pattern = 0;
    double equal_bodies = 0;
    double rate = -1;  // -1: 10, or no limit if all seeds are local
    double delay = 0;
    double timeout = 30;
    double max_time = 0;
    double drain = 10;
    bool is_check = false;
    bool is_dry_run = false;
    bool accepts_changes = false;
    bool requires_complete = false;
    http::address_filter filter = http::address_filter::public_only();
};
void add_options(options& to, crawl_settings& settings);

// The settings, checked and with the contents of the files that they name. Throws invalid_argument
// that names the option and what is expected.
struct crawl_plan {
    // `stored`: the seeds of the state, for a crawl that is continued without a URL.
    explicit crawl_plan(const crawl_settings& settings,
                        const std::vector<std::string>& stored = {});

    crawl::crawl_options options;
    http::address_filter filter;
};

int run_crawl(const crawl_settings& settings);

// `weir crawl status|why|export|retry`: what a state knows.
bool is_crawl_verb(const std::string& word);
int run_crawl_verb(const crawl_settings& settings);
// Where the crawl in the state began. Throws invalid_argument if there is no such state.
std::vector<std::string> seeds_of_state(const crawl_settings& settings);

// 'example.com' and 'localhost:8080/x' are meant as URLs.
std::string with_scheme(const std::string& word);

}  // namespace weir::program
