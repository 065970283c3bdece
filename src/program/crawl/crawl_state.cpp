// SPDX-License-Identifier: MIT
// weir crawl status|why|export|retry: what a state knows. Only retry changes it.

#include "program/crawl/crawl_progress.hpp"
#include "program/crawl/crawl_settings.hpp"
#include "program/crawl/crawl_state_store.hpp"
#include "program/crawl/crawl_why.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/crawl/csv_sink.hpp>
#include <weir/crawl/jsonl_sink.hpp>
#include <weir/crawl/store.hpp>
#include <weir/error.hpp>
#include <weir/http/url.hpp>
#include <weir/run.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string_view>

namespace weir::program {

namespace {

constexpr std::array<std::string_view, 4> verbs = {"status", "why", "export", "retry"};

void print_status(const crawl::saved_crawl& saved) {
    crawl::crawl_summary summary;
    summary.totals = saved.totals;
    const crawl::counters& totals = saved.totals;
    std::printf("%s: %llu URLs: %llu done, %llu failed, %llu skipped, %llu pending; %s\n",
                totals.pending() == 0 ? "complete" : "not complete",
                static_cast<unsigned long long>(totals.discovered),
                static_cast<unsigned long long>(totals.done),
                static_cast<unsigned long long>(totals.failed),
                static_cast<unsigned long long>(totals.skipped),
                static_cast<unsigned long long>(totals.pending()),
                bytes_text(static_cast<double>(totals.bytes)).c_str());
    for (const crawl::host_row& each : saved.hosts) {
        if (!each.given_up.empty()) {
            std::printf("  given up: %s: %s\n", shown(each.origin).c_str(),
                        shown(each.given_up).c_str());
        }
    }
}

task<int> use_state(const crawl_settings& settings, const std::string& verb, const std::string& url,
                    std::string path) {
    const bool is_csv = settings.format == "csv";
    const std::unique_ptr<crawl::store> store = co_await open_state(
        settings, std::move(path), verb == "retry" ? state_use::change : state_use::report);
    int code = 0;
    if (verb == "status") {
        const crawl::saved_crawl saved = co_await store->peek();
        print_status(saved);
    } else if (verb == "retry") {
        const std::uint64_t count = co_await store->retry_failed();
        std::printf("%llu pages are pending again; %s crawl --state continues\n",
                    static_cast<unsigned long long>(count), program_name().c_str());
    } else if (verb == "export") {
        std::string line(is_csv ? crawl::csv_header() : "");
        const auto print = [&line, is_csv](const crawl::page_record& each) {
            if (is_csv) {
                append_csv_line(line, each);
            } else {
                append_json_line(line, each);
            }
            const bool is_written = std::fputs(line.c_str(), stdout) >= 0;
            line.clear();
            return is_written;
        };
        co_await store->each_page(print);
        std::fputs(line.c_str(), stdout);
    } else {
        const http::url target = http::url::parse(with_scheme(url)).canonical().without_fragment();
        code = co_await explain_url(*store, target);
    }
    co_await store->close();
    co_return code;
}

}  // namespace

bool is_crawl_verb(const std::string& word) {
    return std::find(verbs.begin(), verbs.end(), word) != verbs.end();
}

int run_crawl_verb(const crawl_settings& settings) {
    const std::string& verb = settings.words.front();
    std::vector<std::string> arguments(settings.words.begin() + 1, settings.words.end());
    if (!settings.state.empty()) {
        arguments.push_back(settings.state);
    }
    const std::size_t expected = verb == "why" ? 2 : 1;
    if (arguments.size() != expected) {
        throw invalid_argument("write " + program_name() + " crawl " + verb +
                               (verb == "why" ? " URL STATE" : " STATE"));
    }
    const std::string url = verb == "why" ? arguments.front() : std::string();
    if (settings.format != "jsonl" && settings.format != "csv") {
        throw invalid_argument("--format is '" + settings.format + "'; it must be jsonl or csv");
    }
    return weir::run(use_state(settings, verb, url, arguments.back()));
}

std::vector<std::string> seeds_of_state(const crawl_settings& settings) {
    const auto read = [](const crawl_settings& of) -> task<std::vector<std::string>> {
        const std::unique_ptr<crawl::store> store =
            co_await open_state(of, of.state, state_use::report);
        std::vector<std::string> seeds;
        const auto keep = [&seeds](const crawl::page_record& each) {
            const bool is_given_sitemap =
                each.found_as == crawl::link_kind::sitemap_file && each.referrer.empty();
            if (each.found_as == crawl::link_kind::seed || is_given_sitemap) {
                seeds.push_back(each.url);
            }
            return true;
        };
        co_await store->each_page(keep);
        co_await store->close();
        co_return seeds;
    };
    return weir::run(read(settings));
}

}  // namespace weir::program
