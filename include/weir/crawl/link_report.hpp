// SPDX-License-Identifier: MIT
// What is wrong with the links of a site, from a crawl with record_links: targets that failed,
// fragments that lead to no element, and references that are no URLs, each with all places that
// link to it.
#pragma once

#include <weir/crawl/page.hpp>
#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::crawl {

struct link_place {
    link_place() = default;

    std::string page;  // empty: a seed
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    link_kind kind = link_kind::anchor;
};

struct broken_target {
    broken_target() = default;

    std::string url;  // with the fragment, if that is what is wrong
    std::string reason;
    int status = 0;
    std::vector<link_place> places;  // in the order of the pages
};

struct link_report_options {
    link_report_options() = default;

    std::vector<std::pair<int, int>> accepted;  // ranges of statuses besides success
    std::vector<std::string> baseline;          // URLs that may be broken
    bool checks_fragments = true;
};

struct link_report {
    link_report() = default;

    std::uint64_t pages = 0;
    std::uint64_t links = 0;
    std::uint64_t targets = 0;   // distinct URLs
    std::uint64_t unknown = 0;   // targets that could not be judged: robots.txt, status 429
    std::uint64_t accepted = 0;  // broken, but in the baseline
    std::vector<broken_target> broken;
};

// '200..299,403'. Throws invalid_argument.
std::vector<std::pair<int, int>> parse_statuses(std::string_view text);
task<link_report> make_link_report(store& of, link_report_options options);

// 'text', 'json', 'csv', 'junit' or 'markdown'. Throws invalid_argument for another one.
std::string format_report(const link_report& report, std::string_view format);

}  // namespace weir::crawl
