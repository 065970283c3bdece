// SPDX-License-Identifier: MIT
// weir crawl: fetches pages and follows their links. The first ^C lets the pages in flight end, a
// second one ends the process; in both cases the state has everything that was acknowledged.

#include "program/command_line/commands.hpp"
#include "program/crawl/crawl_check.hpp"
#include "program/crawl/crawl_metrics_page.hpp"
#include "program/crawl/crawl_progress.hpp"
#include "program/crawl/crawl_settings.hpp"
#include "program/crawl/crawl_state_store.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/cancel.hpp>
#include <weir/crawl/crawler.hpp>
#include <weir/crawl/csv_sink.hpp>
#include <weir/crawl/graph_sink.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/jsonl_sink.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/mirror_sink.hpp>
#include <weir/crawl/shared_crawl.hpp>
#include <weir/crawl/sitemap_sink.hpp>
#include <weir/crawl/warc_sink.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/run.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::program {

namespace {

constexpr int ended_by_limit = 4;

bool has_output(const crawl_settings& settings) {
    return !settings.is_check && !settings.is_dry_run &&
           (!settings.output.empty() || ::isatty(STDOUT_FILENO) == 0);
}

std::vector<std::unique_ptr<crawl::sink>> outputs_of(const crawl_settings& settings) {
    std::vector<std::unique_ptr<crawl::sink>> outputs;
    if (has_output(settings)) {
        const std::string path = settings.output.empty() ? "-" : settings.output;
        if (settings.format == "csv") {
            outputs.push_back(std::make_unique<crawl::csv_sink>(path));
        } else {
            outputs.push_back(std::make_unique<crawl::jsonl_sink>(path));
        }
    }
    if (!settings.warc.empty()) {
        outputs.push_back(std::make_unique<crawl::warc_sink>(settings.warc));
    }
    if (!settings.mirror.empty()) {
        outputs.push_back(std::make_unique<crawl::mirror_sink>(settings.mirror));
    }
    if (!settings.graph.empty()) {
        outputs.push_back(std::make_unique<crawl::graph_sink>(settings.graph));
    }
    if (!settings.made_sitemap.empty()) {
        outputs.push_back(std::make_unique<crawl::sitemap_sink>(settings.made_sitemap));
    }
    return outputs;
}

// Runs the crawl; a stop of this task makes it drain, and continues when all is stored.
task<crawl::crawl_summary> run_until_stopped(crawl::crawler& crawler, clock::duration drain,
                                             crawl_progress_view& view) {
    std::optional<crawl::crawl_summary> summary;
    const auto body = [&](task_group& group) -> task<> {
        auto running = group.spawn(crawler.run());
        const auto wait = [&running]() -> task<> { co_await running.wait(); };
        outcome<> ended = co_await intercept(wait());
        if (!running.done()) {
            crawler.stop(drain);
            view.show_stopping();
            co_await shield(wait());
            summary = co_await running;
            view.clear();
            std::fputs(summary_text(*summary).c_str(), stderr);
            co_await std::move(ended);
        } else {
            summary = co_await running;
        }
    };
    co_await with_group(body);
    co_return *summary;
}

crawl_progress_settings progress_settings(const crawl_settings& settings, const crawl_plan& plan) {
    crawl_progress_settings made;
    // A block and pages on one terminal would overwrite each other.
    const bool shares_terminal = settings.output == "-" && ::isatty(STDOUT_FILENO) != 0;
    made.mode = settings.progress == "auto" && shares_terminal ? "lines" : settings.progress;
    made.expected =
        plan.options.max_pages == crawl::crawl_options::unlimited ? 0 : plan.options.max_pages;
    made.is_list = plan.options.max_depth == 0;
    return made;
}

// Somebody who tries it should not wonder where the pages are.
void print_hint(const crawl_settings& settings) {
    const bool keeps_something = has_output(settings) || !settings.state.empty() ||
                                 !settings.warc.empty() || !settings.mirror.empty() ||
                                 !settings.graph.empty() || !settings.made_sitemap.empty() ||
                                 settings.is_check || settings.is_dry_run;
    if (!keeps_something && ::isatty(STDERR_FILENO) != 0) {
        std::fputs("nothing was kept: --output FILE writes the pages, --check lists broken links\n",
                   stderr);
    }
}

int exit_code_of(const crawl_settings& settings, const crawl::crawl_summary& summary) {
    if (summary.seeds > 0 && summary.fetched > 0 && summary.failed_seeds >= summary.seeds) {
        return 1;
    }
    if (settings.fail_on == "failed" && summary.totals.failed > 0) {
        return task_did_not_complete;
    }
    if (settings.requires_complete && summary.why != crawl::stop_reason::complete) {
        return ended_by_limit;
    }
    return 0;
}

task<int> crawl_with(const crawl_settings& settings, const crawl_plan& plan, crawl::store& store) {
    tls::client_options trust;
    trust.ca_file = settings.ca_file;
    crawl::http_fetcher fetcher(plan.options, plan.filter, trust);
    crawl::crawler crawler(plan.options, fetcher, store);
    crawler.accept_changes(settings.accepts_changes);
    const auto outputs = outputs_of(settings);
    for (const auto& each : outputs) {
        crawler.add_sink(*each);
    }
    std::optional<crawl_metrics_page> metrics;
    if (settings.metrics) {
        metrics.emplace(settings.metrics->resolve({}), crawler);
    }
    crawl_progress_view view(crawler, progress_settings(settings, plan));
    std::optional<crawl::crawl_summary> summary;
    const auto body = [&](task_group& group) -> task<> {
        auto showing = group.spawn(view.run());
        const auto serve_metrics = [&metrics]() -> task<> {
            if (metrics) {
                co_await metrics->run();
            }
        };
        auto serving = group.spawn(serve_metrics());
        const auto drain = std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(settings.drain));
        summary = co_await run_until_stopped(crawler, drain, view);
        showing.cancel();
        serving.cancel();
    };
    co_await with_group(body);
    view.clear();
    if (settings.progress != "none") {
        std::fputs(summary_text(*summary).c_str(), stderr);
        print_hint(settings);
    }
    if (settings.is_check) {
        const int code = co_await report_links(settings, store);
        co_return code;
    }
    if (settings.is_dry_run) {
        co_await explain_links(store);
    }
    co_return exit_code_of(settings, *summary);
}

// An output that joins a crawl later lacks the pages before.
void note_late_outputs(const crawl_settings& settings, const crawl::saved_crawl& saved) {
    if (saved.totals.settled() == 0) {
        return;
    }
    for (const auto& each : outputs_of(settings)) {
        const std::string name(each->name());
        if (!saved.positions.contains(name) && !name.ends_with(":-")) {
            print_error("the output '" + shown(name) +
                        "' begins now: " + std::to_string(saved.totals.settled()) +
                        " pages of this state were settled before, and are not in it");
        }
    }
}

task<int> crawl_main(const crawl_settings& settings, const crawl_plan& plan) {
    if (settings.state.empty()) {
        crawl::memory_store store;
        const int code = co_await crawl_with(settings, plan, store);
        co_return code;
    }
    const std::unique_ptr<crawl::store> store =
        co_await open_state(settings, settings.state, state_use::crawl);
    if (store->shared() == nullptr) {  // outputs of nodes have the pages of their nodes
        const crawl::saved_crawl saved = co_await store->peek();
        note_late_outputs(settings, saved);
    }
    std::optional<int> code;
    while (!code) {
        std::string lost;
        try {
            code = co_await crawl_with(settings, plan, *store);
        } catch (const crawl::lease_lost& error) {
            lost = error.what();
        } catch (const error_group& failed) {
            const auto* const loss = failed.find<crawl::lease_lost>();
            if (loss == nullptr) {
                throw;
            }
            lost = loss->what();
        }
        if (!code) {
            print_error(shown(lost) + "; it joins again");
        }
    }
    co_await store->close();
    co_return *code;
}

}  // namespace

int run_crawl(const crawl_settings& settings) {
    if (!settings.words.empty() && is_crawl_verb(settings.words.front())) {
        return run_crawl_verb(settings);
    }
    const bool begins_nowhere =
        settings.words.empty() && settings.lists.empty() && settings.sitemaps.empty();
    std::vector<std::string> stored;
    if (begins_nowhere && !settings.state.empty()) {
        stored = seeds_of_state(settings);
    }
    const crawl_plan plan(settings, stored);
    loop_options options;
    options.shutdown_deadline = std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(settings.drain + 20));
    try {
        return weir::run(crawl_main(settings, plan), std::move(options));
    } catch (const error_group& failed) {
        const auto* const first = failed.find<std::exception>();
        print_error(shown(first != nullptr ? first->what() : failed.what()));
        return 1;
    } catch (const interrupted& stop) {
        if (!settings.state.empty()) {
            std::fputs("stopped; the same command continues\n", stderr);
        }
        return 128 + stop.signal();
    }
}

}  // namespace weir::program
