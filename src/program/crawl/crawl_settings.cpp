// SPDX-License-Identifier: MIT
// A host that the user names as an address, or as localhost, may be crawled though it is not
// public; a link or a redirect to such an address is refused all the same.

#include "program/crawl/crawl_settings.hpp"

#include "program/command_line/settings.hpp"
#include "program/output/program_name.hpp"
#include "program/output/text.hpp"

#include <weir/error.hpp>
#include <weir/http/url.hpp>
#include <weir/io/tls_context.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <istream>
#include <limits>

namespace weir::program {

namespace {

constexpr double most_pages = 1e15;
constexpr double most_seconds = 1e8;

clock::duration seconds_of(double number) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(number));
}

void add_urls(std::istream& from, std::vector<std::string>& to) {
    for (std::string line; std::getline(from, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && line[first] != '#') {
            to.push_back(line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
        }
    }
}

std::pair<std::string, std::string> header_of(const std::string& line, const std::string& file) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
        throw invalid_argument("--header-file: '" + file + "' has a line without 'Name: value'");
    }
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    return {line.substr(0, colon), value == std::string::npos ? "" : line.substr(value)};
}

crawl::crawl_scope scope_named(const std::string& name) {
    using crawl::crawl_scope;
    for (const crawl_scope each :
         {crawl_scope::host, crawl_scope::domain, crawl_scope::prefix, crawl_scope::all}) {
        if (name == name_of(each)) {
            return each;
        }
    }
    return crawl_scope::host;
}

// Allows the addresses that the user has named himself. True if the URL is of such a host.
bool allow_local(const http::url& seed, http::address_filter& filter) {
    if (seed.host() == "localhost" || seed.host().ends_with(".localhost")) {
        filter.allow("127.0.0.0/8").allow("::1");
        return true;
    }
    const std::optional<io::address> address = seed.address();
    if (address && http::classify(*address) != http::address_class::public_) {
        filter.allow(address->host());
        return true;
    }
    return false;
}

// A word such as 'stats' is rather a mistyped command than a host.
void check_word(const std::string& word) {
    if (word.find_first_of(".:/[") != std::string::npos || word == "localhost") {
        return;
    }
    const std::vector<std::string> verbs = {"status", "why", "export", "retry"};
    const std::string_view suggestion = nearest(word, verbs);
    throw invalid_argument(
        "'" + shown(word, 100) + "' is neither a URL nor a command" +
        (suggestion.empty() ? "; a host without a dot is written http://" + shown(word, 100) + "/"
                            : "; did you mean '" + std::string(suggestion) + "'?"));
}

}  // namespace

std::string with_scheme(const std::string& word) {
    return word.find("://") == std::string::npos ? "http://" + word : word;
}

void add_options(options& to, crawl_settings& settings) {
    crawl::crawl_options& crawl = settings.options;
    to.set_variable_prefix("WEIR_CRAWL_");  // WEIR_TIMEOUT is that of the service
    to.texts({"url", "URL", "Where to begin, or a command: see below", ""}, settings.words);
    to.texts({"--list", "FILE", "File with one URL a line; '-' is standard input", ""},
             settings.lists);
    to.optional_texts(
        {"--sitemap", "[URL]",
         "Crawl the pages of this sitemap; alone: of those that robots.txt names", ""},
        settings.sitemaps);
    to.text({"-s,--state", "FILE",
             "Keep the crawl in this file, or in postgres://...: the same state resumes it", ""},
            settings.state);
    to.text({"--schema", "NAME", "Schema of the crawl in a PostgreSQL database", "weir_crawl"},
            settings.schema);
    to.text({"--node", "NAME", "Of this node of a crawl in PostgreSQL", "name of the machine"},
            settings.node);
    to.number({"--lease", "SECONDS",
               "After so long without a sign of life a node loses its hosts to others", "10"},
              settings.lease, 1, 3600);
    to.text({"-o,--output", "FILE", "Write one record for each page; '-' is standard output", ""},
            settings.output);
    to.choice({"--format", "", "Format of the output, or of the report of --check", ""},
              settings.format, {"jsonl", "csv", "text", "json", "junit", "markdown"});
    to.text({"--warc", "FILE", "Write a web archive: NAME.warc.gz", ""}, settings.warc);
    to.text({"--mirror", "DIR", "Copy the pages and their parts to this folder", ""},
            settings.mirror);
    to.text({"--graph", "FILE", "Write all links: .jsonl, .csv, .dot or .graphml", ""},
            settings.graph);
    to.text({"--write-sitemap", "FILE", "Write a sitemap of the pages: sitemap.xml", ""},
            settings.made_sitemap);
    to.choice({"--scope", "", "Links that are followed", ""}, settings.scope,
              {"host", "domain", "prefix", "all"});
    to.texts({"--include", "GLOB", "Follow only URLs that match", ""}, crawl.include);
    to.texts({"--exclude", "GLOB", "Do not follow URLs that match", ""}, crawl.exclude);
    to.texts({"--strip-param", "GLOB", "Parameters to remove from URLs: utm_*", ""},
             crawl.strip_parameters);
    to.number({"--depth", "N", "Links from a seed at most", "any"}, settings.depth, 0, 1e9);
    to.number({"--max-pages", "N", "Pages at most", "any"}, settings.max_pages, 1, most_pages);
    to.number({"--max-pages-per-host", "N", "Pages of a host at most", "any"},
              settings.pages_per_host, 1, most_pages);
    to.number({"--max-pages-per-pattern", "N",
               "Pages of a host whose URLs differ in numbers and query values only", "any"},
              settings.pages_per_pattern, 1, most_pages);
    to.number({"--max-equal-bodies", "N", "Equal pages of a host whose links are followed", "any"},
              settings.equal_bodies, 1, most_pages);
    to.number({"--max-links-per-page", "N", "Links of a page at most", "10000"},
              crawl.max_links_per_page, 1, 1e9);
    to.number({"--max-urls", "N", "URLs to remember at most", "20000000"}, crawl.max_urls, 1, 1e9);
    to.number({"--concurrency", "N", "Requests at a time", "64"}, crawl.concurrency, 1, 10'000);
    to.number({"--per-host", "N", "Requests to a host at a time", "8"}, crawl.per_host, 1, 1000);
    to.number({"--per-address", "N", "Requests to an address at a time; 0: no limit", "32"},
              crawl.per_address, 0, 10'000);
    to.number({"--rate", "N", "Requests to a host each second; 0: no limit", "10"}, settings.rate,
              0, 1e6);
    to.number({"--delay", "SECONDS", "Between two requests to a host", "0"}, settings.delay, 0,
              most_seconds);
    to.number({"--timeout", "SECONDS", "For a page", "30"}, settings.timeout, 0.001, most_seconds);
    to.number({"--max-time", "SECONDS", "For the run", "any"}, settings.max_time, 0.001,
              most_seconds);
    to.number({"--max-body", "BYTES", "Of a page, decompressed", "10485760"}, crawl.max_body, 1,
              1e12);
    to.number({"--attempts", "N", "For a page that fails for a time", "3"}, crawl.max_attempts, 1,
              100);
    to.number({"--drain", "SECONDS", "For pages in flight at ^C", "10"}, settings.drain, 0,
              most_seconds);
    to.texts({"--ignore-robots", "HOST", "Do not ask the robots.txt of this host; '*': of any", ""},
             crawl.ignore_robots);
    to.flag({"--check", "", "Report broken links", ""}, settings.is_check);
    to.text({"--baseline", "FILE", "Known broken URLs, one a line, that --check accepts", ""},
            settings.baseline);
    to.text({"--accept", "CODES", "Statuses that --check accepts: 200..299,403", "200..299"},
            settings.accept);
    to.text(
        {"--header-file", "FILE", "Headers for the hosts of the seeds: 'Name: value' lines", ""},
        settings.header_file);
    to.text({"--ca-file", "FILE", "Authorities to trust with https, instead of the system's", ""},
            settings.ca_file);
    to.text({"--user-agent", "TEXT", "Sent with every request, and its name for robots.txt", ""},
            crawl.user_agent);
    to.text({"--contact", "URL", "Added to the agent: where operators of sites can ask", ""},
            settings.contact);
    to.value(
        {"--allow-address", "RANGE|HOST", "Addresses besides public ones: 10.0.0.0/8", "", true},
        [&](const std::string& text) { allow_address(settings.filter, text); });
    to.choice({"--progress", "", "On standard error", ""}, settings.progress,
              {"auto", "lines", "json", "none"});
    to.value({"--metrics", "[HOST:]PORT", "Serve metrics for Prometheus at /metrics there", ""},
             [&](const std::string& text) { settings.metrics.emplace().set_address(text); });
    to.choice({"--fail-on", "", "Exit with 3 if pages failed", ""}, settings.fail_on,
              {"none", "failed"});
    to.flag({"--require-complete", "", "Exit with 4 if a limit left pages", ""},
            settings.requires_complete);
    to.flag({"--accept-changes", "", "Resume though other options were given", ""},
            settings.accepts_changes);
    to.flag({"--dry-run", "", "Fetch the seeds alone, and say of each link why (not)", ""},
            settings.is_dry_run);
}

crawl_plan::crawl_plan(const crawl_settings& settings, const std::vector<std::string>& stored)
    : options(settings.options), filter(settings.filter) {
    options.seeds = stored;
    for (const std::string& each : settings.words) {
        check_word(each);
        options.seeds.push_back(with_scheme(each));
    }
    for (const std::string& each : settings.lists) {
        if (each == "-") {
            add_urls(std::cin, options.seeds);
            continue;
        }
        std::ifstream file(each);
        if (!file) {
            throw invalid_argument("--list: '" + each + "' cannot be read");
        }
        add_urls(file, options.seeds);
    }
    for (const std::string& each : settings.sitemaps) {
        if (each == "true") {
            options.discover_sitemaps = true;
        } else if (each != "false") {
            options.sitemaps.push_back(with_scheme(each));
        }
    }
    if (options.seeds.empty() && options.sitemaps.empty()) {
        throw invalid_argument(
            with_program_name("no URL is given: write weir crawl https://example.com/"));
    }
    if (!settings.is_check && settings.format != "jsonl" && settings.format != "csv") {
        throw invalid_argument("--format is '" + settings.format +
                               "'; it must be jsonl or csv, except for the report of --check");
    }
    bool are_all_local = !options.seeds.empty() || !options.sitemaps.empty();
    for (const auto* const list : {&options.seeds, &options.sitemaps}) {
        for (const std::string& each : *list) {
            are_all_local = allow_local(http::url::parse(each), filter) && are_all_local;
        }
    }
    options.scope = scope_named(settings.scope);
    if (settings.depth >= 0) {
        options.max_depth = static_cast<std::uint32_t>(settings.depth);
    }
    if (settings.max_pages > 0) {
        options.max_pages = static_cast<std::uint64_t>(settings.max_pages);
    }
    if (settings.pages_per_host > 0) {
        options.max_pages_per_host = static_cast<std::uint64_t>(settings.pages_per_host);
    }
    if (settings.pages_per_pattern > 0) {
        options.max_pages_per_pattern = static_cast<std::uint64_t>(settings.pages_per_pattern);
    }
    if (settings.equal_bodies > 0) {
        options.max_equal_bodies = static_cast<std::uint64_t>(settings.equal_bodies);
    }
    options.rate = settings.rate >= 0 ? settings.rate : are_all_local ? 0 : 10;
    options.delay = seconds_of(settings.delay);
    options.timeout = seconds_of(settings.timeout);
    if (settings.max_time > 0) {
        options.max_time = seconds_of(settings.max_time);
    }
    const auto everywhere =
        std::find(options.ignore_robots.begin(), options.ignore_robots.end(), "*");
    options.obey_robots = everywhere == options.ignore_robots.end();
    if (!settings.contact.empty()) {
        options.user_agent += " (+" + settings.contact + ")";
    }
    if (!settings.ca_file.empty()) {
        // The clients would find out with the first page.
        static_cast<void>(tls::context::client({.ca_file = settings.ca_file}));
    }
    if (!settings.header_file.empty()) {
        for (const std::string& each : lines_of(settings.header_file, "--header-file")) {
            options.headers.push_back(header_of(each, settings.header_file));
        }
    }
    options.fetch_assets = options.fetch_assets || !settings.mirror.empty();
    options.read_all_bodies = !settings.mirror.empty() || !settings.warc.empty();
    if (settings.is_check) {
        options.fetch_assets = options.check_external = options.record_links = true;
        options.follow_nofollow = true;
        options.robots_retry_delay = std::chrono::seconds(2);  // a check should end
    }
    if (settings.is_dry_run) {
        options.max_depth = 0;
        options.record_links = true;
    }
    options.check();
}

}  // namespace weir::program
