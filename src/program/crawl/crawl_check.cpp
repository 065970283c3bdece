// SPDX-License-Identifier: MIT
// The report goes to standard output, or to the file of --output.

#include "program/crawl/crawl_check.hpp"

#include "program/command_line/commands.hpp"
#include "program/command_line/settings.hpp"
#include "program/output/text.hpp"

#include <weir/crawl/link_report.hpp>
#include <weir/error.hpp>

#include <cstdio>
#include <fstream>
#include <unordered_map>
#include <utility>

namespace weir::program {

task<int> report_links(const crawl_settings& settings, crawl::store& store) {
    crawl::link_report_options options;
    options.accepted = crawl::parse_statuses(settings.accept);
    if (!settings.baseline.empty()) {
        options.baseline = lines_of(settings.baseline, "--baseline");
    }
    const crawl::link_report report = co_await make_link_report(store, std::move(options));
    const std::string text =
        format_report(report, settings.format == "jsonl" ? "text" : settings.format);
    if (settings.output.empty() || settings.output == "-") {
        std::fputs(text.c_str(), stdout);
    } else {
        std::ofstream file(settings.output);
        file << text;
        if (!file.flush()) {
            throw invalid_argument("--output: '" + settings.output + "' cannot be written");
        }
    }
    co_return report.broken.empty() ? 0 : task_did_not_complete;
}

task<> explain_links(crawl::store& store) {
    const hash_seed seed = co_await store.seed();
    std::unordered_map<std::uint64_t, std::string> names;
    std::unordered_map<crawl::url_id, std::string> pages;
    const auto keep = [&](const crawl::page_record& each) {
        names.emplace(seeded_hash<std::string_view>()(each.url, seed), each.url);
        pages.emplace(each.id, each.url);
        return true;
    };
    co_await store.each_page(keep);
    const auto print = [&](const crawl::link_row& each) {
        const auto target = names.find(each.target);
        const bool is_followed =
            each.refusal == crawl::link_refusal::none || each.refusal == crawl::link_refusal::depth;
        std::printf("%s:%u:%u\t%s\t%s\n", shown(pages[each.page]).c_str(), each.line, each.column,
                    is_followed ? "follow" : std::string(name_of(each.refusal)).c_str(),
                    shown(target != names.end() ? target->second : each.url).c_str());
        return true;
    };
    co_await store.each_link(print);
}

}  // namespace weir::program
