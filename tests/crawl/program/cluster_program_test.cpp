// SPDX-License-Identifier: MIT
// Several `weir crawl` on one PostgreSQL state: they share the work, one of them is killed, another
// one hangs, and the commands that read a state read this one.

#include "site.hpp"
#include <support/peers/postgres.hpp>

#include <signal.h>

#include <memory>

namespace cluster_program_test {

using namespace crawl_program_test;
using namespace std::chrono_literals;

constexpr int pages = 60;
constexpr std::size_t sites = 3;

struct cluster {
    cluster() {
        for (std::size_t i = 0; i < sites; ++i) {
            web.push_back(std::make_unique<numbered_site>(pages));
        }
    }
    // Of one node, with an output of its own.
    std::vector<std::string> command(const std::string& node) const {
        std::vector<std::string> made{WEIR_PROGRAM, "crawl"};
        for (const auto& each : web) {
            made.push_back(each->url());
        }
        const std::vector<std::string> rest{"--state",    server.url(), "--schema", "shared",
                                            "--node",     node,         "--output", out(node),
                                            "--progress", "none",       "--delay",  "0.06",
                                            "--lease=2",  "--per-host", "2"};
        made.insert(made.end(), rest.begin(), rest.end());
        return made;
    }
    std::string out(const std::string& node) const { return (folder / (node + ".jsonl")).string(); }
    weir::process start(const std::string& node) const {
        weir::process_options options;
        options.err = weir::stdio::null;
        options.out = weir::stdio::null;
        return weir::process(command(node), options);
    }
    std::size_t requested() const {
        std::size_t count = 0;
        for (const auto& each : web) {
            count += each->requests.size();
        }
        return count;
    }

    weir_test::postgres server;
    temporary_folder folder;
    std::vector<std::unique_ptr<numbered_site>> web;
};

task<std::string> output_of(std::vector<std::string> command, int code) {
    const weir::command_result ended =
        co_await weir_test::run_program(std::move(command), std::vector<std::string>());
    EXPECT_EQ(ended.status.code(), code) << ended.err;
    co_return ended.out + ended.err;
}

TEST(CrawlProgramNodes, ShareACrawlAndSurviveAKill) {
    const auto body = []() -> task<> {
        cluster all;
        weir::process first = all.start("first");
        weir::process second = all.start("second");
        while (all.requested() < sites * pages / 4) {
            co_await weir::sleep(10ms);
        }
        first.kill(SIGKILL);
        co_await first.wait();
        first = all.start("first");
        // The other one hangs until it is taken for dead, and joins again.
        second.kill(SIGSTOP);
        co_await weir::sleep(3s);
        second.kill(SIGCONT);
        const weir::exit_status second_status = co_await second.wait();
        const weir::exit_status first_status = co_await first.wait();
        EXPECT_TRUE(first_status.success()) << first_status.text();
        EXPECT_TRUE(second_status.success()) << second_status.text();

        std::vector<std::string> command{WEIR_PROGRAM, "crawl", "status", all.server.url(),
                                         "--schema=shared"};
        std::string text = co_await output_of(command, 0);
        EXPECT_NE(text.find("complete: 180 URLs"), std::string::npos) << text;
        command[2] = "export";
        text = co_await output_of(command, 0);
        EXPECT_EQ(urls_in(text).size(), sites * pages);
        command[2] = "retry";
        text = co_await output_of(command, 0);
        EXPECT_NE(text.find("pages are pending again"), std::string::npos) << text;
        command[2] = "why";
        command.insert(command.begin() + 3, all.web[1]->url());
        text = co_await output_of(command, 0);
        EXPECT_NE(text.find("done, status 200"), std::string::npos) << text;
        command = {WEIR_PROGRAM, "crawl", "status", all.server.url(), "--schema=none_here"};
        text = co_await output_of(command, 1);
        EXPECT_NE(text.find("no crawl in the schema 'none_here'"), std::string::npos) << text;
        std::map<std::string, int> written = urls_in(all.folder.read("first.jsonl"));
        EXPECT_FALSE(written.empty());
        for (const auto& [url, count] : urls_in(all.folder.read("second.jsonl"))) {
            written[url] += count;
        }
        EXPECT_EQ(written.size(), sites * pages);
        for (const auto& [url, count] : written) {
            EXPECT_EQ(count, 1) << url;
        }
        for (const auto& each : all.web) {
            co_await each->stop();
        }
    };
    weir::run(body());
}

}  // namespace cluster_program_test
