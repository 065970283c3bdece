// SPDX-License-Identifier: MIT
// `weir crawl why URL STATE`.

#include "site.hpp"

namespace crawl_why_test {

using namespace crawl_program_test;

task<std::string> output_of(std::string words) {
    std::vector<std::string> command;
    command.emplace_back("sh");
    command.emplace_back("-c");
    command.push_back(WEIR_PROGRAM " crawl " + words);
    const weir::command_result ended =
        co_await weir_test::run_program(std::move(command), std::vector<std::string>());
    co_return ended.out + ended.err;
}

// Pages that are never done: one is busy for ten minutes, one fails, and one is disallowed.
weir::http::response answer(const weir::http::request& request) {
    const std::string path(request.path());
    if (path == "/robots.txt") {
        return weir::http::response::text("User-agent: special\nDisallow: /secret\n");
    }
    weir::http::response made = weir::http::response::text(
        "<a href=/busy>1</a><a href=/pdf/x>2</a><a href=/secret>3</a><a href=/later>4</a>");
    made.headers().set("Content-Type", "text/html");
    if (path == "/busy") {
        made.set_status(weir::http::status::service_unavailable);
        made.headers().set("Retry-After", "600");
    }
    return made;
}

TEST(CrawlProgram, WhySaysWhatAPendingUrlWaitsForAndWhichRuleRefusedAnother) {
    const auto body = []() -> task<> {
        const temporary_folder folder;
        weir_test::recording_site site(weir::io::address::loopback(0), answer);
        const std::string state = (folder / "state").string();
        const std::string ended = co_await output_of(
            "--check --per-host=1 --user-agent=special/1 --exclude='*/pdf/*' --max-time=2 "
            "--drain=0 --state=" +
            state + " " + site.url("127.0.0.1"));
        const auto why = [&](const char* path) {
            return output_of("why " + site.url("127.0.0.1", path) + " " + state);
        };
        const std::string busy = co_await why("/busy");
        EXPECT_NE(busy.find("pending"), std::string::npos) << busy << ended;
        EXPECT_NE(busy.find("for another attempt in "), std::string::npos) << busy;
        EXPECT_NE(busy.find("after 1 attempt; the last one: the server answered with status 503"),
                  std::string::npos)
            << busy;
        const std::string later = co_await why("/later");
        EXPECT_NE(later.find("for its host, which is requested again in "), std::string::npos)
            << later;
        EXPECT_NE(later.find("Retry-After"), std::string::npos) << later;
        const std::string refused = co_await why("/pdf/x");
        EXPECT_NE(refused.find("not a URL of this crawl"), std::string::npos) << refused;
        EXPECT_NE(refused.find(site.url("127.0.0.1") + ":1:"), std::string::npos) << refused;
        EXPECT_NE(refused.find("is refused: excluded"), std::string::npos) << refused;
        const std::string unknown = co_await why("/secret/more");
        EXPECT_NE(unknown.find("no page that was fetched links to it"), std::string::npos)
            << unknown;
        EXPECT_NE(unknown.find("its robots.txt disallows it"), std::string::npos) << unknown;
        co_await site.stop();
    };
    weir::run(body());
}

}  // namespace crawl_why_test
