// SPDX-License-Identifier: MIT
// `weir crawl https://localhost:...`: certificates are checked, against the authorities of
// --ca-file.

#include "site.hpp"

#include <weir/http/server.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/tls_context.hpp>
#include <weir/spawn.hpp>

namespace crawl_tls_test {

using namespace crawl_program_test;

// `trusted`: a file of authorities; empty: those of the system.
task<weir::command_result> crawl(std::string url, std::string trusted) {
    std::vector<std::string> arguments;
    arguments.emplace_back(WEIR_PROGRAM);
    arguments.emplace_back("crawl");
    arguments.emplace_back("--progress=none");
    arguments.push_back(std::move(url));
    if (!trusted.empty()) {
        arguments.push_back("--ca-file=" + trusted);
    }
    weir::command_result ended =
        co_await weir_test::run_program(std::move(arguments), std::vector<std::string>());
    co_return ended;
}

task<> crawl_over_tls() {
    const temporary_folder folder;
    const weir::tls::certificate_authority authority("authority of the test");
    const weir::tls::certificate issued = authority.issue({.names = "localhost"});
    const std::string trusted = folder.write("ca.pem", authority.certificate_pem()).string();
    const weir::tls::certificate_authority other("another authority");
    const std::string strange = folder.write("other.pem", other.certificate_pem()).string();

    const auto tls = weir::tls::context::server(
        {.certificate_pem = issued.certificate_pem, .key_pem = issued.key_pem});
    weir::io::listener listener = weir::io::listen(weir::io::address::loopback(0));
    const std::string url =
        "https://localhost:" + std::to_string(listener.local_address().port()) + "/";
    weir::http::server_options options;
    options.tls = &tls;
    const auto answer = [](weir::http::request& request) {
        weir::http::response made = weir::http::response::text(
            request.path() == "/" ? "<a href=/a>a</a><a href=b>b</a>" : "<title>page</title>");
        made.headers().set("Content-Type", "text/html");
        return made;
    };
    auto serving = weir::spawn(weir::http::serve(std::move(listener), answer, options));

    const weir::command_result pages = co_await crawl(url, trusted);
    EXPECT_EQ(pages.status.code(), 0) << pages.err;
    EXPECT_EQ(urls_in(pages.out).size(), 3u) << pages.out;
    EXPECT_EQ(urls_in(pages.out)[url + "b"], 1) << pages.out;

    // Neither the system nor another authority vouches for it.
    for (const std::string& each : {std::string(), strange}) {
        const weir::command_result refused = co_await crawl(url, each);
        EXPECT_EQ(refused.status.code(), 1) << refused.err;
        EXPECT_NE(refused.out.find("\"kind\":\"tls\""), std::string::npos) << refused.out;
    }

    const weir::command_result named = co_await crawl(url, "/no/such/ca.pem");
    EXPECT_NE(named.status.code(), 0);
    EXPECT_NE(named.err.find("/no/such/ca.pem"), std::string::npos) << named.err;
    EXPECT_EQ(named.out, "");
    serving.cancel();
    co_await serving.wait();
}

TEST(CrawlProgram, ChecksCertificatesOfHttps) {
    weir::run(crawl_over_tls());
}

}  // namespace crawl_tls_test
