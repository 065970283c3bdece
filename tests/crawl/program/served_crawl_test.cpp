// SPDX-License-Identifier: MIT
// A crawl as a task of `weir serve`: the service is killed in the middle of it, and the next one
// continues.

#include "site.hpp"

#include <boost/json/parse.hpp>

#include <signal.h>

#include <algorithm>
#include <memory>

namespace served_crawl_test {

using namespace crawl_program_test;
using namespace std::chrono_literals;

std::unique_ptr<weir_test::running_program> serve(const temporary_folder& folder) {
    std::vector<std::string> command = {WEIR_PROGRAM, "serve", "--listen", "127.0.0.1:0"};
    for (const char* const each : {"--allow-address=127.0.0.0/8", "--lease=1", "--database"}) {
        command.emplace_back(each);
    }
    command.push_back((folder / "tasks.db").string());
    auto program = std::make_unique<weir_test::running_program>(folder, std::move(command));
    program->wait_until([&] { return program->out().find("curl") != std::string::npos; });
    return program;
}

std::string url_of(const weir_test::running_program& service) {
    const std::string greeting = service.out();
    const std::size_t begin = greeting.rfind("listening on http://") + 13;
    return greeting.substr(begin, greeting.find(',', begin) - begin);
}

task<std::string> ask(std::string command, std::string server, std::string word,
                      std::string payload = "") {
    std::vector<std::string> words = {WEIR_PROGRAM, std::move(command), "--server",
                                      std::move(server)};
    words.push_back(std::move(word));
    if (!payload.empty()) {
        words.push_back(std::move(payload));
    }
    const weir::command_result ended =
        co_await weir_test::run_program(std::move(words), std::vector<std::string>());
    co_return ended.out + ended.err;
}

TEST(ServedCrawl, IsContinuedAfterAKill) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        numbered_site site(60);
        auto service = serve(folder);
        const std::string payload = R"({"urls":[")" + site.url() + R"("],"rate":40})";
        std::string id = co_await ask("submit", url_of(*service), "crawl", payload);
        id.erase(id.find_last_not_of(" \n") + 1);
        while (site.requests.size() < 20) {
            co_await weir::sleep(5ms);
        }
        const std::string state = (folder / ("tasks.db.crawls/" + id + ".crawl")).string();
        EXPECT_TRUE(std::filesystem::exists(state)) << state;
        service->stop();  // SIGKILL
        EXPECT_LT(site.requests.size(), 60u);
        service = serve(folder);
        std::string shown;
        do {
            co_await weir::sleep(50ms);
            shown = co_await ask("status", url_of(*service), id);
            shown.erase(std::min(shown.find('\n'), shown.size()));  // 'ID  state  kind'
        } while (shown.find("running") != std::string::npos ||
                 shown.find("pending") != std::string::npos);
        EXPECT_NE(shown.find("completed"), std::string::npos) << shown;
        EXPECT_EQ(site.requests.size(), 60u) << shown;
        int repeated = 0;
        for (const auto& [path, times] : site.requests) {
            repeated += times - 1;
        }
        EXPECT_LE(repeated, 20);  // in flight, and what was not committed: 50 ms at 40 a second
        service->signal(SIGTERM);
        int status = 0;
        ::waitpid(service->pid(), &status, 0);
        EXPECT_EQ(WEXITSTATUS(status), 0);
        co_await site.stop();
    };
    weir::run(body());
}

}  // namespace served_crawl_test
