// SPDX-License-Identifier: MIT
// The command: outputs, exit codes, resuming, signals, reports.

#include "site.hpp"

#include <weir/http/client.hpp>
#include <weir/io/buffered_reader.hpp>

#include <signal.h>

#include <fstream>

namespace crawl_program_test {

using namespace std::chrono_literals;

struct called {
    int code = -1;
    std::string out;
    std::string err;
};

task<called> call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {WEIR_PROGRAM, "crawl"});
    const weir::command_result ended =
        co_await weir_test::run_program(std::move(arguments), std::vector<std::string>());
    co_return called{ended.status.code(), ended.out, ended.err};
}

std::vector<std::string> words(const std::string& first, const std::string& second = "",
                               const std::string& third = "", const std::string& fourth = "",
                               const std::string& fifth = "") {
    std::vector<std::string> all;
    for (const std::string& each : {first, second, third, fourth, fifth}) {
        if (!each.empty()) {
            all.push_back(each);
        }
    }
    return all;
}

TEST(CrawlProgram, WritesLinesOfJsonToAPipe) {
    const auto body = []() -> task<> {
        numbered_site site(30);
        const called result = co_await call(words(site.url()));
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(urls_in(result.out).size(), 30u);
        EXPECT_NE(result.err.find("complete: 26 done, 4 failed"), std::string::npos) << result.err;
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, T15_T17_resumes_and_knows_when_it_is_complete) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(30);
        const std::string state = (folder / "state").string();
        const called first = co_await call(words(site.url(), "--state", state, "--max-pages=10"));
        EXPECT_EQ(first.code, 0) << first.err;
        EXPECT_EQ(site.requests.size(), 10u);
        EXPECT_NE(first.err.find("ended by --max-pages"), std::string::npos) << first.err;
        const called limit = co_await call(
            words(site.url(), "--state", state, "--max-pages=10", "--require-complete"));
        EXPECT_EQ(limit.code, 4) << limit.err;
        const called rest = co_await call(words(site.url(), "--state", state));
        EXPECT_EQ(rest.code, 0) << rest.err;
        EXPECT_EQ(site.requests.size(), 30u);
        const called status = co_await call(words("status", state));
        EXPECT_NE(status.out.find("complete: 30 URLs: 26 done"), std::string::npos) << status.out;
        const called again = co_await call(words(site.url(), "--state", state));
        EXPECT_NE(again.err.find("0 pages in"), std::string::npos) << again.err;
        for (const auto& [path, count] : site.requests) {
            EXPECT_EQ(count, 1) << path;
        }
        const called why = co_await call(words("why", site.url(), state));
        EXPECT_NE(why.out.find("done, status 200"), std::string::npos) << why.out;
        const called lines = co_await call(words("export", state));
        EXPECT_EQ(urls_in(lines.out).size(), 30u);
        const called retry = co_await call(words("retry", state));
        EXPECT_NE(retry.out.find("4 pages are pending again"), std::string::npos) << retry.out;
        const called other = co_await call(words(site.url(), "--state", state, "--scope=all"));
        EXPECT_EQ(other.code, 1);
        EXPECT_NE(other.err.find("'scope host'"), std::string::npos) << other.err;
        co_await site.stop();
    };
    weir::run(body());
}

// Without a URL the state says where it began: the scope and the addresses are those of before.
TEST(CrawlProgram, AStateIsEnoughToContinue) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(30);
        const std::string state = "--state=" + (folder / "state").string();
        co_await call(words(site.url(), state, "--max-pages=3"));
        const called rest = co_await call(words(state, "--output", (folder / "rest").string()));
        EXPECT_EQ(rest.code, 0) << rest.err;
        EXPECT_EQ(site.requests.size(), 30u);
        EXPECT_NE(rest.err.find("begins now: 3 pages"), std::string::npos) << rest.err;
        const called csv =
            co_await call(words("export", (folder / "state").string(), "--format=csv"));
        EXPECT_EQ(lines_of_text(csv.out).size(), 31u);
        const called none = co_await call(words("--state=/no/such/state"));
        EXPECT_EQ(none.code, 2);
        EXPECT_NE(none.err.find("there is no state '/no/such/state'"), std::string::npos)
            << none.err;
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, ADryRunSaysWhy) {
    const auto body = []() -> task<> {
        numbered_site site(30);
        const called result = co_await call(words("--dry-run", site.url(), "--exclude=*/3"));
        const std::string at = site.url().substr(0, site.url().size() - 1);
        EXPECT_NE(result.out.find("\tfollow\t" + at + "1\n"), std::string::npos) << result.out;
        EXPECT_NE(result.out.find("\texcluded\t" + at + "3\n"), std::string::npos) << result.out;
        EXPECT_EQ(site.requests.size(), 1u);
        co_await site.stop();
    };
    weir::run(body());
}

// As part of a longer output, and without touching what is there.
TEST(CrawlProgram, PagesAreAppendedToStandardOutput) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(5);
        const std::string file = folder.write("out", "before\n").string();
        std::vector<std::string> shell = words("sh", "-c");
        shell.push_back("(" WEIR_PROGRAM " crawl " + site.url() + "; echo after) >> " + file);
        co_await weir_test::run_program(std::move(shell), std::vector<std::string>());
        const std::vector<std::string> lines = lines_of_text(folder.read("out"));
        EXPECT_EQ(lines.size(), 7u);
        EXPECT_EQ(lines.front(), "before");
        EXPECT_EQ(lines.back(), "after");
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, TakesOptionsFromVariablesAndAFile) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(30);
        const std::string file =
            folder
                .write("weir.toml", "[crawl]\nurl = [\"" + site.url() +
                                        "\"]\nmax-pages = 4\nrequire-complete = true\n")
                .string();
        std::vector<std::string> command = words(WEIR_PROGRAM, "crawl", "--config", file);
        const weir::command_result four =
            co_await weir_test::run_program(command, std::vector<std::string>());
        EXPECT_EQ(four.status.code(), 4) << four.err;
        EXPECT_EQ(lines_of_text(four.out).size(), 4u);
        const weir::command_result two =
            co_await weir_test::run_program(command, words("WEIR_CRAWL_MAX_PAGES=2"));
        EXPECT_EQ(lines_of_text(two.out).size(), 2u);
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, TakesASitemap) {
    const auto body = []() -> task<> {
        numbered_site site(30);
        const std::string map = site.url().substr(0, site.url().size() - 1) + "sitemap.xml";
        const called found = co_await call(words(site.url(), "--sitemap", "--depth=0"));
        EXPECT_EQ(found.code, 0) << found.err;
        EXPECT_EQ(urls_in(found.out).size(), 4u) << found.out;
        const called given = co_await call(words("--sitemap", map, "--depth=0"));
        EXPECT_EQ(urls_in(given.out).size(), 3u) << given.out;
        const called page = co_await call(words("--sitemap", site.url()));
        EXPECT_EQ(page.code, 1);
        EXPECT_NE(page.out.find("not a sitemap"), std::string::npos) << page.out;
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, ChecksLinks) {
    const auto body = []() -> task<> {
        numbered_site site(30);
        const called report = co_await call(words("--check", site.url(), "--progress=none"));
        EXPECT_EQ(report.code, 3) << report.err;
        EXPECT_NE(report.out.find("4 broken, 0 accepted, 0 unknown of 30 URLs"), std::string::npos)
            << report.out;
        const called accepted = co_await call(words("--check", site.url(), "--accept=404"));
        EXPECT_EQ(accepted.code, 0) << accepted.out;
        const called junit = co_await call(words("--check", site.url(), "--format=junit"));
        EXPECT_NE(junit.out.find("failures=\"4\""), std::string::npos) << junit.out;
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, WritesArchivesMirrorsAndTables) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(10);
        const std::string warc = "--warc=" + (folder / "site.warc.gz").string();
        const std::string mirror = "--mirror=" + (folder / "mirror").string();
        const std::string csv = "--output=" + (folder / "pages.csv").string();
        std::vector<std::string> all = words(site.url(), warc, mirror, csv, "--format=csv");
        all.push_back("--write-sitemap=" + (folder / "map.xml").string());
        const called result = co_await call(std::move(all));
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(lines_of_text(folder.read("pages.csv")).size(), 11u);
        EXPECT_TRUE(folder.read("site.warc.gz").starts_with("\x1f\x8b"));
        EXPECT_TRUE(std::filesystem::exists(folder / "mirror"));
        EXPECT_NE(folder.read("map.xml").find("/0</loc>"), std::string::npos);
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, BadInputIsNamed) {
    const auto body = []() -> task<> {
        const called none = co_await call(std::vector<std::string>());
        EXPECT_EQ(none.code, 2);
        EXPECT_NE(none.err.find("no URL is given"), std::string::npos) << none.err;
        const called verb = co_await call(words("stats", "site.crawl"));
        EXPECT_EQ(verb.code, 2);
        EXPECT_NE(verb.err.find("'stats' is neither a URL nor a command; did you mean 'status'?"),
                  std::string::npos)
            << verb.err;
        const called option = co_await call(words("http://127.0.0.1:1/", "--max-page=1"));
        EXPECT_EQ(option.code, 2);
        EXPECT_NE(option.err.find("did you mean '--max-pages'?"), std::string::npos) << option.err;
        const called help = co_await call(words("--help"));
        EXPECT_EQ(help.code, 0);
        EXPECT_NE(help.out.find("[url...]"), std::string::npos) << help.out;
        const called bad = co_await call(words("http://["));
        EXPECT_EQ(bad.code, 2);
        const called number = co_await call(words("http://127.0.0.1:1/", "--max-pages=0"));
        EXPECT_EQ(number.code, 2);
        EXPECT_NE(number.err.find("--max-pages is '0'"), std::string::npos) << number.err;
        const called folder = co_await call(words("http://127.0.0.1:1/", "--state=/no/such/x"));
        EXPECT_EQ(folder.code, 1);
        EXPECT_NE(folder.err.find("/no/such/x"), std::string::npos) << folder.err;
        const std::string output = "/no/such/out.jsonl";
        const called unwritable = co_await call(words("http://127.0.0.1:1/", "-o", output));
        EXPECT_EQ(unwritable.code, 1);
        EXPECT_EQ(unwritable.err, "weir: open /no/such/out.jsonl: No such file or directory\n");
        const called junit = co_await call(words("http://127.0.0.1:1/", "--format=junit"));
        EXPECT_EQ(junit.code, 2);
        const called dead = co_await call(words("http://127.0.0.1:1/"));
        EXPECT_EQ(dead.code, 1) << dead.err;
    };
    weir::run(body());
}

TEST(CrawlProgram, ServesMetricsWhileItRuns) {
    const auto body = []() -> task<> {
        numbered_site site(100);
        std::vector<std::string> command = {WEIR_PROGRAM,        "crawl",       site.url(),
                                            "--rate=20",         "--metrics=0", "--progress=none",
                                            "--output=/dev/null"};
        weir::process_options options;
        options.out = weir::stdio::null;
        options.err = weir::stdio::pipe;
        weir::process program(command, options);
        weir::io::buffered_reader lines(program.err());
        const auto line = co_await lines.read_line(1000);
        const std::string address(line.value_or("metrics: ").substr(9));
        EXPECT_TRUE(address.starts_with("http://127.0.0.1:")) << address;
        while (site.requests.size() < 5) {
            co_await weir::sleep(5ms);
        }
        weir::http::client client;
        auto answer = co_await client.get(address);
        const std::string page = co_await answer.text();
        EXPECT_NE(page.find("\nweir_crawl_urls{state=\"pending\"} "), std::string::npos) << page;
        EXPECT_NE(page.find("\nweir_crawl_pages_total "), std::string::npos) << page;
        EXPECT_NE(page.find("\nprocess_open_fds "), std::string::npos) << page;
        const called taken = co_await call(
            words(site.url(), "--metrics=" + address.substr(7, address.rfind('/') - 7)));
        EXPECT_EQ(taken.code, 1);
        EXPECT_NE(taken.err.find("Address already in use"), std::string::npos) << taken.err;
        const called wrong = co_await call(words(site.url(), "--metrics=nowhere"));
        EXPECT_EQ(wrong.code, 2);
        EXPECT_NE(wrong.err.find("--metrics is 'nowhere'"), std::string::npos) << wrong.err;
        program.kill(SIGTERM);
        const weir::exit_status ended = co_await program.wait();
        EXPECT_EQ(ended.code(), 143) << ended.text();
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, T18_a_second_program_on_a_state_is_refused_and_harms_nothing) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(60);
        const std::string state = "--state=" + (folder / "state").string();
        std::vector<std::string> command = words(site.url(), state, "--rate=30");
        command.insert(command.begin(), {WEIR_PROGRAM, "crawl"});
        weir::process_options options;
        options.out = options.err = weir::stdio::null;
        weir::process first(command, options);
        while (site.requests.size() < 5) {
            co_await weir::sleep(5ms);
        }
        const called second = co_await call(words(site.url(), state));
        EXPECT_EQ(second.code, 1);
        EXPECT_NE(second.err.find("in use by the process " + std::to_string(first.pid()) + ":"),
                  std::string::npos)
            << second.err;
        const called retry = co_await call(words("retry", (folder / "state").string()));
        EXPECT_EQ(retry.code, 1) << retry.out;
        const called status = co_await call(words("status", (folder / "state").string()));
        EXPECT_EQ(status.code, 0) << status.err;  // reading is allowed
        const weir::exit_status ended = co_await first.wait();
        EXPECT_EQ(ended.code(), 0) << ended.text();
        EXPECT_EQ(site.requests.size(), 60u);
        for (const auto& [path, count] : site.requests) {
            EXPECT_EQ(count, 1) << path;
        }
        co_await site.stop();
    };
    weir::run(body());
}

// A site whose pages, apart from the first, are not answered until it wakes up.
class sleeping_site {
public:
    sleeping_site() {
        weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
        url = "http://127.0.0.1:" + std::to_string(listener.local_address().port()) + "/";
        running_ = weir::spawn(
            weir::http::serve(std::move(listener),
                              [this](weir::http::request& request) -> task<weir::http::response> {
                                  const std::string path(request.path());
                                  ++requests[path];
                                  while (!is_awake && path != "/" && path != "/robots.txt") {
                                      co_await weir::sleep(5ms);
                                  }
                                  std::string links;
                                  for (int i = 0; i < 30 && path == "/"; ++i) {
                                      links += "<a href='/" + std::to_string(i) + "'>x</a>";
                                  }
                                  weir::http::response made = weir::http::response::text(links);
                                  made.headers().set("Content-Type", "text/html");
                                  co_return made;
                              }));
    }
    task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }

    std::string url;
    std::map<std::string, int> requests;
    bool is_awake = false;

private:
    weir::handle<> running_;
};

TEST(CrawlProgram, T12_the_second_signal_ends_at_once_and_loses_nothing) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        sleeping_site site;
        const std::string state = "--state=" + (folder / "state").string();
        const std::string output = "--output=" + (folder / "out.jsonl").string();
        std::vector<std::string> command = words(site.url, state, output, "--drain=3600");
        command.insert(command.begin(), {WEIR_PROGRAM, "crawl", "--timeout=3600"});
        weir::process_options options;
        options.out = weir::stdio::null;
        options.err = weir::stdio::pipe;
        weir::process program(command, options);
        while (site.requests.size() < 10) {  // robots.txt, the first page, and eight in flight
            co_await weir::sleep(5ms);
        }
        program.kill(SIGTERM);
        weir::io::buffered_reader lines(program.err());
        for (;;) {
            const auto line = co_await lines.read_line(1000);
            const std::string text(line.value_or("(end)"));
            if (text == "(end)" || text.find("stopping") != std::string::npos) {
                EXPECT_NE(text, "(end)");
                break;
            }
        }
        co_await weir::sleep(50ms);
        EXPECT_EQ(site.requests.size(), 10u);  // nothing new is requested
        program.kill(SIGTERM);
        const weir::exit_status ended = co_await program.wait();
        EXPECT_FALSE(ended.success());
        site.is_awake = true;
        const called rest = co_await call(words(site.url, state, output));
        EXPECT_EQ(rest.code, 0) << rest.err;
        EXPECT_EQ(site.requests.size(), 32u);
        const std::map<std::string, int> urls = urls_in(folder.read("out.jsonl"));
        EXPECT_EQ(urls.size(), 31u);
        for (const auto& [url, count] : urls) {
            EXPECT_EQ(count, 1) << url;
        }
        EXPECT_EQ(site.requests["/"], 1);
        co_await site.stop();
    };
    weir::run(body());
}

TEST(CrawlProgram, T12_the_first_signal_drains) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(100);
        std::vector<std::string> command =
            words(site.url(), "--state", (folder / "state").string(), "--rate=20");
        command.insert(command.begin(), {WEIR_PROGRAM, "crawl"});
        weir::process_options options;
        options.out = options.err = weir::stdio::null;
        weir::process program(command, options);
        while (site.requests.size() < 5) {
            co_await weir::sleep(5ms);
        }
        program.kill(SIGTERM);
        const weir::exit_status ended = co_await program.wait();
        EXPECT_EQ(ended.code(), 143) << ended.text();
        EXPECT_LT(site.requests.size(), 100u);
        const called rest =
            co_await call(words(site.url(), "--state", (folder / "state").string()));
        EXPECT_EQ(rest.code, 0) << rest.err;
        EXPECT_EQ(site.requests.size(), 100u);
        for (const auto& [path, count] : site.requests) {
            EXPECT_EQ(count, 1) << path;
        }
        co_await site.stop();
    };
    weir::run(body());
}

}  // namespace crawl_program_test
