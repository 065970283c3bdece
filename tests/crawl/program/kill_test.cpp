// SPDX-License-Identifier: MIT
// T13, T14: `weir crawl` is killed at random moments and started again until it is complete. The
// pages, the lines of the output, the records of the archive, the files of the mirror, the edges of
// the graph and the counts are those of a run without kills, and no page is requested again once
// the state has it.

#include "crawl/output/warc_reader.hpp"
#include "site.hpp"

#include <weir/base/random.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/http/json.hpp>

#include <boost/json/serialize.hpp>

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace kill_test {

using namespace crawl_program_test;
using namespace std::chrono_literals;
namespace crawl = weir::crawl;

constexpr int pages = 150;
constexpr int in_flight = 8;

std::vector<std::string> command_of(const numbered_site& site, const temporary_folder& folder) {
    return {WEIR_PROGRAM,
            "crawl",
            site.url(),
            "--state",
            (folder / "state").string(),
            "--output",
            (folder / "out.jsonl").string(),
            "--warc",
            (folder / "site.warc.gz").string(),
            "--mirror",
            (folder / "mirror").string(),
            "--graph",
            (folder / "links.csv").string(),
            "--progress",
            "none",
            "--per-host",
            std::to_string(in_flight)};
}

weir::process start(const numbered_site& site, const temporary_folder& folder) {
    weir::process_options options;
    options.err = weir::stdio::null;
    options.out = weir::stdio::null;
    return weir::process(command_of(site, folder), options);
}

task<crawl::counters> stored_counts(const temporary_folder& folder) {
    crawl::sqlite_store_options reading;
    reading.read_only = true;
    const std::string path = (folder / "state").string();
    const std::unique_ptr<crawl::sqlite_store> store =
        co_await crawl::sqlite_store::open_file(path, reading);
    const crawl::saved_crawl saved = co_await store->peek();
    co_await store->close();
    co_return saved.totals;
}

std::string path_of(const std::string& url) {
    return url.substr(url.find_last_of('/'));
}

// The head of a block, without what differs between runs: the port of the site and the time.
std::string stable_head(const std::string& block) {
    std::string head;
    for (const std::string& line : lines_of_text(block.substr(0, block.find("\r\n\r\n")))) {
        if (!line.starts_with("Date: ") && !line.starts_with("Host: ")) {
            head += line + "\n";
        }
    }
    return head;
}

// What an archive has of each page: the request, the head of the response and the digest of its
// body. Which of several copies is a revisit depends on the order of the answers; what it refers to
// must come before it.
std::multiset<std::string> archived(const std::string& file) {
    std::multiset<std::string> all;
    std::map<std::string, std::string> bodies;  // digests, by URL and date
    std::set<std::string> ids;
    int files = 0;
    for (const warc_reader::record& each : warc_reader::records_of(file)) {
        const std::string& type = each.fields.at("WARC-Type");
        if (type == "warcinfo") {
            ++files;
            continue;
        }
        const std::string& url = each.fields.at("WARC-Target-URI");
        if (type == "request") {
            EXPECT_TRUE(ids.contains(each.fields.at("WARC-Concurrent-To"))) << url;
            all.insert("request " + path_of(url) + "\n" + stable_head(each.block));
            continue;
        }
        const std::string& digest = each.fields.at("WARC-Payload-Digest");
        EXPECT_TRUE(ids.insert(each.fields.at("WARC-Record-ID")).second);
        all.insert("response " + path_of(url) + " " + digest + "\n" + stable_head(each.block));
        if (type == "response") {
            bodies[url + " " + each.fields.at("WARC-Date")] = digest;
            EXPECT_EQ(weir::crawl::detail::warc_digest(
                          each.block.substr(each.block.find("\r\n\r\n") + 4)),
                      digest);
        } else {
            EXPECT_EQ(type, "revisit");
            EXPECT_EQ(bodies[each.fields.at("WARC-Refers-To-Target-URI") + " " +
                             each.fields.at("WARC-Refers-To-Date")],
                      digest)
                << url;
        }
    }
    EXPECT_EQ(files, 1);
    return all;
}

// Without the port of the site, which differs between runs.
std::string without_port(std::string text, const numbered_site& site) {
    const std::string url = site.url();
    const std::string port = url.substr(url.rfind(':'), url.rfind('/') - url.rfind(':'));
    for (const std::string& each : {"127.0.0.1" + port, "127.0.0.1_" + port.substr(1)}) {
        for (std::size_t at = text.find(each); at != std::string::npos; at = text.find(each)) {
            text.replace(at, each.size(), "SITE");
        }
    }
    return text;
}

// What each line says about its page, apart from times and from what depends on the order of the
// answers: ids, depths, referrers. Equal hashes stay equal: each is replaced by a page that has it.
std::multiset<std::string> told(const std::string& jsonl) {
    std::vector<boost::json::object> lines;
    std::map<std::string, std::string> first;  // page of a hash
    for (const std::string& line : lines_of_text(jsonl)) {
        lines.push_back(weir::http::parse_json(line).as_object());
        if (const auto* const hash = lines.back().if_contains("hash")) {
            const std::string url(lines.back().at("url").as_string());
            std::string& smallest = first[std::string(hash->as_string())];
            smallest = smallest.empty() ? url : std::min(smallest, url);
        }
    }
    std::multiset<std::string> all;
    for (boost::json::object& each : lines) {
        if (auto* const hash = each.if_contains("hash")) {
            *hash = first[std::string(hash->as_string())];
        }
        if (auto* const links = each.if_contains("links")) {
            links->as_object().stable_erase("new");
        }
        for (const char* const name :
             {"id", "depth", "found_as", "referrer", "redirects", "fetched_at", "times"}) {
            each.stable_erase(name);
        }
        all.insert(boost::json::serialize(each) + "\n");
    }
    return all;
}

// The files of a mirror with their contents, without its own notes.
std::multiset<std::string> mirrored(const std::filesystem::path& folder) {
    std::multiset<std::string> all;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string name = each.path().lexically_relative(folder).string();
        if (each.is_regular_file() && !name.starts_with(".weir-mirror")) {
            std::ifstream in(each.path(), std::ios::binary);
            all.insert(name + "\n" + std::string(std::istreambuf_iterator<char>(in), {}) + "\n");
        }
    }
    return all;
}

std::multiset<std::string> without_port(const std::multiset<std::string>& texts,
                                        const numbered_site& site) {
    std::multiset<std::string> all;
    for (const std::string& each : texts) {
        all.insert(without_port(each, site));
    }
    return all;
}

// What only one of them has, or has more often.
std::string differences(const std::multiset<std::string>& left,
                        const std::multiset<std::string>& right) {
    std::vector<std::string> found;
    std::set_symmetric_difference(left.begin(), left.end(), right.begin(), right.end(),
                                  std::back_inserter(found));
    std::string text;
    for (const std::string& each : found) {
        text += each;
    }
    return text.substr(0, 4000);
}

// The pages that the state has, some program having been killed. None if it has no tables yet.
task<std::set<std::string>> settled_pages(const temporary_folder& folder) {
    std::set<std::string> settled;
    const std::string path = (folder / "state").string();
    if (!std::filesystem::exists(path)) {
        co_return settled;
    }
    crawl::sqlite_store_options reading;
    reading.read_only = true;
    std::unique_ptr<crawl::sqlite_store> store;
    try {
        store = co_await crawl::sqlite_store::open_file(path, reading);
        const auto keep = [&settled](const crawl::page_record& each) {
            if (each.state != crawl::page_state::pending) {
                settled.insert(path_of(each.url));
            }
            return true;
        };
        co_await store->each_page(keep);
    } catch (const crawl::store_error& error) {
        // Killed while it made the tables: only the next start can take that back.
        const std::string reason = error.what();
        EXPECT_TRUE(reason.find("no such table") != std::string::npos ||
                    reason.find("readonly database") != std::string::npos)
            << reason;
    }
    if (store) {
        co_await store->close();
    }
    co_return settled;
}

struct finished {
    std::set<std::string> urls;
    std::multiset<std::string> lines;
    std::multiset<std::string> records;
    std::multiset<std::string> edges;
    std::multiset<std::string> files;
    crawl::counters totals;
};

// Crawls to the end with up to `kills` kills; how many there were is taken off.
task<finished> crawl_with_kills(int& kills, weir::detail::random_source& random) {
    const temporary_folder folder;
    numbered_site site(pages, true);
    int starts = 0;
    std::map<std::string, int> settled;  // pages, and how often each was requested until then
    for (;;) {
        ++starts;
        weir::process program = start(site, folder);
        if (kills > 0) {
            co_await weir::sleep(std::chrono::microseconds(random.next_below(60'000)));
            program.kill(SIGKILL);
        }
        const weir::exit_status status = co_await program.wait();
        if (status.success()) {
            break;
        }
        EXPECT_GT(kills, 0) << status.text();
        if (kills == 0) {
            break;
        }
        --kills;
        const std::set<std::string> known = co_await settled_pages(folder);
        for (const auto& [path, count] : settled) {
            EXPECT_TRUE(known.contains(path)) << path << " is lost";
        }
        for (const std::string& path : known) {
            settled.emplace(path, site.requests[path]);
        }
    }
    finished result;
    result.totals = co_await stored_counts(folder);
    // Only what was in flight or not committed at a kill is requested again, once by each program.
    for (const auto& [path, count] : site.requests) {
        EXPECT_LE(count, starts) << path;
        const auto found = settled.find(path);
        if (found != settled.end()) {
            EXPECT_EQ(count, found->second) << path << " was requested though it was settled";
        }
    }
    for (const auto& [url, count] : urls_in(folder.read("out.jsonl"))) {
        EXPECT_EQ(count, 1) << url;
        result.urls.insert(path_of(url));
    }
    result.lines = without_port(told(folder.read("out.jsonl")), site);
    result.records = archived((folder / "site.warc.gz").string());
    result.files = without_port(mirrored(folder / "mirror"), site);
    for (const std::string& line : lines_of_text(folder.read("links.csv"))) {
        result.edges.insert(without_port(line, site) + "\n");
    }
    std::set<std::string> asked;
    for (const auto& [path, count] : site.requests) {
        asked.insert(path);
    }
    EXPECT_EQ(asked, result.urls);
    co_await site.stop();
    co_return result;
}

task<> kill_again_and_again(int kills) {
    weir::detail::random_source random(11);
    int none = 0;
    const finished undisturbed = co_await crawl_with_kills(none, random);
    EXPECT_EQ(undisturbed.urls.size(), static_cast<std::size_t>(pages));
    EXPECT_EQ(undisturbed.records.size(), static_cast<std::size_t>(2 * pages));
    EXPECT_EQ(undisturbed.lines.size(), static_cast<std::size_t>(pages));
    EXPECT_GT(undisturbed.totals.redirects, 5u);
    EXPECT_EQ(undisturbed.files.size(), undisturbed.totals.done - undisturbed.totals.redirects);
    EXPECT_GT(undisturbed.edges.size(), static_cast<std::size_t>(3 * pages));
    while (kills > 0) {
        const finished disturbed = co_await crawl_with_kills(kills, random);
        EXPECT_EQ(disturbed.urls, undisturbed.urls);
        EXPECT_EQ(disturbed.totals.discovered, undisturbed.totals.discovered);
        EXPECT_EQ(disturbed.totals.done, undisturbed.totals.done);
        EXPECT_EQ(disturbed.totals.failed, undisturbed.totals.failed);
        EXPECT_EQ(disturbed.totals.pending(), 0u);
        EXPECT_EQ(disturbed.totals.bytes, undisturbed.totals.bytes);
        EXPECT_EQ(disturbed.totals.wire_bytes, undisturbed.totals.wire_bytes);
        EXPECT_EQ(disturbed.totals.skipped, undisturbed.totals.skipped);
        EXPECT_EQ(disturbed.totals.unrequested, undisturbed.totals.unrequested);
        EXPECT_EQ(disturbed.totals.redirects, undisturbed.totals.redirects);
        EXPECT_EQ(disturbed.totals.refused, undisturbed.totals.refused);
        EXPECT_EQ(differences(disturbed.lines, undisturbed.lines), "");
        EXPECT_EQ(differences(disturbed.records, undisturbed.records), "");
        EXPECT_EQ(differences(disturbed.files, undisturbed.files), "");
        EXPECT_EQ(differences(disturbed.edges, undisturbed.edges), "");
    }
}

TEST(CrawlProgramCrash, T13_killed_at_random_moments) {
    weir::run(kill_again_and_again(std::getenv("WEIR_STRESS") != nullptr ? 1000 : 200));
}

}  // namespace kill_test
