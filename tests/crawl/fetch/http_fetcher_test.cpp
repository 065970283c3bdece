// SPDX-License-Identifier: MIT
// Real requests over loopback: T11, T22, T44 to T48, T55, T56, and what servers send to do harm.

#include <http/client/tiny_server.hpp>
#include <io/dns/fake_server.hpp>
#include <io/dns/support.hpp>

#include <weir/crawl/crawler.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/run.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <brotli/encode.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace http_fetcher_test {

using namespace weir::crawl;
using namespace std::chrono_literals;
using weir::task;
using weir_test::ok_answer;
using weir_test::seen_request;
using weir_test::tiny_server;
using socket = weir::io::socket;

crawl_options local_options() {
    crawl_options options;
    options.rate = 0;
    options.obey_robots = false;
    options.max_attempts = 1;
    options.max_body = 100'000;
    options.timeout = 5s;
    return options;
}

fetch_request request_of(const std::string& url, const crawl_options& options) {
    fetch_request request;
    request.url = weir::http::url::parse(url);
    request.timeout = options.timeout;
    request.max_body = options.max_body;
    return request;
}

// What a fetch gives if the server answers with this text and closes the connection.
fetch_result fetched(const std::string& answer, body_wish wish = body_wish::text,
                     bool keep_raw = false) {
    fetch_result result;
    const auto body = [&]() -> task<> {
        const auto talk = [&answer](seen_request&, socket& peer) -> task<bool> {
            co_await peer.write(answer);
            co_return false;
        };
        tiny_server server(talk);
        const crawl_options options = local_options();
        http_fetcher fetcher(options, weir::http::address_filter::any());
        fetch_request request = request_of(server.url("/"), options);
        request.body = wish;
        request.keep_raw = keep_raw;
        result = co_await fetcher.fetch(std::move(request));
        co_await server.stop();
    };
    weir::run(body());
    return result;
}

// `window`: 15 for zlib's format, -15 for raw deflate, 31 for gzip.
std::string deflated(const std::string& text, int window) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

std::string gzip_of(const std::string& text) {
    return deflated(text, 31);
}

std::string brotli_of(const std::string& text) {
    std::string packed(BrotliEncoderMaxCompressedSize(text.size()), '\0');
    std::size_t size = packed.size();
    EXPECT_EQ(BrotliEncoderCompress(5, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, text.size(),
                                    reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                                    reinterpret_cast<std::uint8_t*>(packed.data())),
              BROTLI_TRUE);
    packed.resize(size);
    return packed;
}

std::string html_answer(const std::string& body, const std::string& coding) {
    return ok_answer(body, "Content-Type: text/html\r\nContent-Encoding: " + coding + "\r\n");
}

TEST(CrawlHttpFetcher, FetchesAPage) {
    const fetch_result result = fetched(ok_answer("<p>hello", "Content-Type: text/html\r\n"));
    EXPECT_FALSE(result.error) << result.error.text;
    EXPECT_EQ(result.status, 200);
    EXPECT_TRUE(result.has_body);
    EXPECT_EQ(result.body, "<p>hello");
    EXPECT_EQ(result.headers.get("content-type"), "text/html");
    EXPECT_GT(result.total.count(), 0);
}

TEST(CrawlHttpFetcher, ARedirectIsAResult) {
    const fetch_result result =
        fetched("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(result.status, 302);
    EXPECT_EQ(result.headers.get("location"), "/x");
    EXPECT_FALSE(result.has_body);
}

TEST(CrawlHttpFetcher, T44_a_bomb_stops_at_max_body_of_decoded_bytes) {
    const std::string text(20'000'000, 'a');
    struct coded_body {
        std::string coding;
        std::string body;
    };
    for (const coded_body& each : std::vector<coded_body>{{"gzip", gzip_of(text)},
                                                          {"deflate", deflated(text, 15)},
                                                          {"deflate", deflated(text, -15)},
                                                          {"br", brotli_of(text)}}) {
        EXPECT_LT(each.body.size(), 50'000u) << each.coding;
        for (const bool keep_raw : {false, true}) {
            const fetch_result result =
                fetched(html_answer(each.body, each.coding), body_wish::text, keep_raw);
            EXPECT_EQ(result.error.kind, error_kind::too_large) << each.coding;
            EXPECT_NE(result.error.text.find("max_body is 100000"), std::string::npos)
                << result.error.text;
            EXPECT_LE(result.body.size(), 100'000u) << each.coding;
        }
    }
}

TEST(CrawlHttpFetcher, T44_a_body_that_is_encoded_twice_is_not_decoded_twice) {
    const std::string bomb = gzip_of(gzip_of(std::string(20'000'000, 'a')));
    for (const char* const coding : {"gzip, gzip", "gzip, br", "gzip\r\nContent-Encoding: gzip"}) {
        const fetch_result result = fetched(html_answer(bomb, coding));
        EXPECT_LE(result.body.size(), 100'000u) << coding;  // the crawl refuses it as binary
    }
}

TEST(CrawlHttpFetcher, T44_bodies_in_every_coding_are_decoded) {
    const std::string text = "<p>" + std::string(5000, 'x');
    for (const bool keep_raw : {false, true}) {
        EXPECT_EQ(fetched(html_answer(gzip_of(text), "gzip"), body_wish::text, keep_raw).body,
                  text);
        EXPECT_EQ(fetched(html_answer(brotli_of(text), "br"), body_wish::text, keep_raw).body,
                  text);
        for (const int window : {15, -15}) {
            const std::string packed = deflated(text, window);
            EXPECT_EQ(fetched(html_answer(packed, "deflate"), body_wish::text, keep_raw).body,
                      text);
        }
        const std::string half = gzip_of(text).substr(0, 20);
        const fetch_result cut = fetched(html_answer(half, "gzip"), body_wish::text, keep_raw);
        EXPECT_EQ(cut.error.kind, error_kind::truncated);
    }
}

// For archives: what was sent and received, byte by byte.
TEST(CrawlHttpFetcher, KeepsRawBodiesAndTheHeadersOfTheRequest) {
    const auto body = []() -> task<> {
        const std::string packed = gzip_of("<p>hello");
        std::string head;
        const auto talk = [&](seen_request& seen, socket& peer) -> task<bool> {
            head = seen.head;
            const std::string answer = html_answer(packed, "gzip");
            co_await peer.write(answer);
            co_return false;
        };
        tiny_server server(talk);
        const crawl_options options = local_options();
        http_fetcher fetcher(options, weir::http::address_filter::any());
        fetch_request request = request_of(server.url("/x?y"), options);
        request.keep_raw = true;
        request.headers.add("Authorization", "Bearer x");
        const fetch_result result = co_await fetcher.fetch(std::move(request));
        EXPECT_FALSE(result.error) << result.error.text;
        EXPECT_EQ(result.body, "<p>hello");
        EXPECT_EQ(result.raw_body, packed);
        EXPECT_EQ(result.wire_bytes, packed.size());
        EXPECT_EQ(result.headers.get("Content-Encoding"), "gzip");
        EXPECT_TRUE(result.truncated.empty());
        std::size_t lines = 0;
        for (const auto& [name, value] : result.request_headers) {
            EXPECT_NE(head.find("\r\n" + std::string(name) + ": " + std::string(value) + "\r\n"),
                      std::string::npos)
                << name << " in " << head;
            ++lines;
        }
        // The request line, Host and the empty line are no headers of the result.
        EXPECT_EQ(static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n')), lines + 3)
            << head;
        co_await server.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, KeepsTheBodiesOfErrorsForArchives) {
    const std::string answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone";
    EXPECT_EQ(fetched(answer, body_wish::all, true).body, "gone");
    EXPECT_EQ(fetched(answer, body_wish::all, false).body, "");
    const fetch_result large =
        fetched("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 200000\r\n\r\n" +
                    std::string(200'000, 'a'),
                body_wish::all, true);
    EXPECT_FALSE(large.error) << large.error.text;  // the redirect counts, whatever its body is
    EXPECT_EQ(large.truncated, "length");
    const fetch_result cut =
        fetched("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\ngone", body_wish::all, true);
    EXPECT_FALSE(cut.error);
    EXPECT_EQ(cut.truncated, "disconnect");
    EXPECT_EQ(cut.body, "gone");
}

TEST(CrawlHttpFetcher, T44_a_plain_body_that_is_too_large) {
    const fetch_result result =
        fetched(ok_answer(std::string(100'001, 'a'), "Content-Type: text/html\r\n"));
    EXPECT_EQ(result.error.kind, error_kind::too_large);
    const fetch_result fits =
        fetched(ok_answer(std::string(100'000, 'a'), "Content-Type: text/html\r\n"));
    EXPECT_FALSE(fits.error) << fits.error.text;
    EXPECT_EQ(fits.body.size(), 100'000u);
}

// robots.txt has a limit of its own, which that of pages does not lower.
TEST(CrawlHttpFetcher, TheLimitIsThatOfTheRequest) {
    const auto body = []() -> task<> {
        const std::string text(300'000, '#');
        const auto talk = [&text](seen_request& seen, socket& peer) -> task<bool> {
            const bool is_plain = seen.target() == "/plain";
            const std::string answer =
                is_plain ? ok_answer(text) : html_answer(gzip_of(text), "gzip");
            co_await peer.write(answer);
            co_return false;
        };
        tiny_server server(talk);
        crawl_options options = local_options();
        options.max_body = 1000;
        http_fetcher fetcher(options, weir::http::address_filter::any());
        for (const char* const target : {"/plain", "/gzip"}) {
            fetch_request request = request_of(server.url(target), options);
            request.max_body = 512 * 1024;
            const fetch_result result = co_await fetcher.fetch(std::move(request));
            EXPECT_FALSE(result.error) << result.error.text;
            EXPECT_EQ(result.body.size(), text.size()) << target;
        }
        co_await server.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, T45_bodies_of_other_types_are_not_read) {
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000000\r\n\r\nabc";
    const fetch_result result = fetched(answer);
    EXPECT_FALSE(result.error) << result.error.text;
    EXPECT_FALSE(result.has_body);
    EXPECT_TRUE(result.body.empty());
}

TEST(CrawlHttpFetcher, T47_bodies_that_are_cut_short) {
    for (const char* const answer :
         {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<p>half",
          "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
          "8\r\n<p>half!\r\n",
          "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
          "zz\r\n<p>half!\r\n"}) {
        const fetch_result result = fetched(answer);
        EXPECT_EQ(result.error.kind, error_kind::truncated) << answer;
        EXPECT_EQ(result.error.stage, fetch_stage::body) << answer;
        EXPECT_FALSE(result.error.text.empty());
        EXPECT_TRUE(std::string("<p>half!").starts_with(result.body)) << answer;
    }
    EXPECT_EQ(fetched("").error.kind, error_kind::truncated);
}

// What a fetch gives within 300 ms if the body comes byte by byte.
fetch_result fetched_slowly(const std::string& head) {
    fetch_result result;
    const auto body = [&]() -> task<> {
        const auto drip = [&head](seen_request&, socket& peer) -> task<bool> {
            co_await peer.write(head);
            for (int i = 0; i < 1000; ++i) {
                co_await peer.write("x");
                co_await weir::sleep(20ms);
            }
            co_return false;
        };
        tiny_server server(drip);
        crawl_options options = local_options();
        options.timeout = 300ms;
        http_fetcher fetcher(options, weir::http::address_filter::any());
        fetch_request request = request_of(server.url("/"), options);
        result = co_await fetcher.fetch(std::move(request));
        co_await server.stop();
    };
    weir::run(body());
    return result;
}

TEST(CrawlHttpFetcher, T48_a_slow_drip_ends_at_the_total_time) {
    const fetch_result result = fetched_slowly(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_EQ(result.error.kind, error_kind::timeout) << result.error.text;
    EXPECT_EQ(result.status, 200);
}

TEST(CrawlHttpFetcher, ARedirectWithASlowBodyIsStillARedirect) {
    const fetch_result result =
        fetched_slowly("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 50000\r\n\r\n");
    EXPECT_FALSE(result.error) << result.error.text;
    EXPECT_EQ(result.headers.get("Location"), "/next");
}

// The name of a server, and how long the answer may be kept.
task<> with_moving_name(unsigned ttl, int& lookups, std::vector<fetch_result>& results) {
    const auto talk = [](seen_request&, socket& peer) -> task<bool> {
        co_await peer.write(ok_answer("here", "Content-Type: text/html\r\n"));
        co_return false;  // so that the next request needs another connection
    };
    tiny_server server(talk);
    const auto names = [&lookups, ttl](const weir_test::dns_question& question) {
        weir_test::dns_reply reply(question);
        if (question.type == weir_test::type_a) {
            reply.address(question.name, ++lookups == 1 ? "127.0.0.1" : "127.0.0.9", ttl);
        }
        return std::vector<weir_test::packet>{{reply.text()}};
    };
    const auto body = [&](weir_test::fake_server& from) -> task<> {
        const weir::io::address at = from.address();
        weir::dns::resolver resolver(weir_test::alone(at));
        const crawl_options options = local_options();
        weir::http::address_filter filter = weir::http::address_filter::public_only();
        filter.allow("127.0.0.1");
        http_fetcher fetcher(options, filter, {}, &resolver);
        for (int i = 0; i < 2; ++i) {
            fetch_request request = request_of(server.url("/", "moves.test"), options);
            fetch_result result = co_await fetcher.fetch(std::move(request));
            results.push_back(std::move(result));
        }
    };
    co_await weir_test::with_server(names, body);
    co_await server.stop();
}

TEST(CrawlHttpFetcher, T55_addresses_are_not_kept_past_their_ttl) {
    for (const unsigned ttl : {0u, 3600u}) {
        int lookups = 0;
        std::vector<fetch_result> results;
        weir::run(with_moving_name(ttl, lookups, results));
        EXPECT_EQ(results[0].body, "here");
        EXPECT_EQ(lookups, ttl == 0 ? 2 : 1);
        EXPECT_EQ(results[1].body, ttl == 0 ? "" : "here");
    }
}

TEST(CrawlHttpFetcher, T22_a_name_whose_address_changes_between_checks_is_refused) {
    int lookups = 0;
    std::vector<fetch_result> results;
    weir::run(with_moving_name(0, lookups, results));
    EXPECT_EQ(results[1].error.kind, error_kind::address_refused) << results[1].error.text;
    EXPECT_EQ(results[1].error.stage, fetch_stage::admit);
}

TEST(CrawlHttpFetcher, T56_no_free_descriptor_is_not_an_error_of_the_page) {
    const auto body = []() -> task<> {
        const auto talk = [](seen_request&, socket& peer) -> task<bool> {
            co_await peer.write(ok_answer("here", "Content-Type: text/html\r\n"));
            co_return false;
        };
        tiny_server server(talk);
        const crawl_options options = local_options();
        http_fetcher fetcher(options, weir::http::address_filter::any());
        for (const bool is_out : {false, true, false}) {
            struct rlimit before{};
            getrlimit(RLIMIT_NOFILE, &before);
            struct rlimit none = before;
            none.rlim_cur = 0;  // files that are open stay so
            if (is_out) {
                setrlimit(RLIMIT_NOFILE, &none);
            }
            fetch_request request = request_of(server.url("/"), options);
            const fetch_result result = co_await fetcher.fetch(std::move(request));
            setrlimit(RLIMIT_NOFILE, &before);
            EXPECT_EQ(result.is_local_fault, is_out) << result.error.text;
            EXPECT_EQ(result.body, is_out ? "" : "here");
            if (is_out) {
                EXPECT_NE(result.error.text.find("Too many open files"), std::string::npos)
                    << result.error.text;
            }
        }
        co_await server.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, HugeHeadersAreAnErrorOfThePage) {
    std::string many = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 20'000; ++i) {
        many += "X-" + std::to_string(i) + ": y\r\n";
    }
    const std::string long_line = "HTTP/1.1 200 OK\r\nX: " + std::string(2'000'000, 'y') + "\r\n";
    for (const std::string& head : {many, long_line}) {
        const fetch_result result = fetched(head + "\r\n");
        EXPECT_EQ(result.error.kind, error_kind::too_large) << result.error.text;
        EXPECT_EQ(result.error.stage, fetch_stage::head);
        EXPECT_EQ(result.error.text.find("max_body"), std::string::npos) << result.error.text;
    }
}

TEST(CrawlHttpFetcher, CookiesOfServersAreNotSentBack) {
    const auto body = []() -> task<> {
        std::string cookies;
        const auto talk = [&cookies](seen_request& seen, socket& peer) -> task<bool> {
            cookies += seen.header("Cookie");
            co_await peer.write(ok_answer("<a href='/next'>x</a>",
                                          "Content-Type: text/html\r\nSet-Cookie: id=1\r\n"));
            co_return true;
        };
        tiny_server server(talk);
        crawl_options options = local_options();
        options.seeds.push_back(server.url("/"));
        http_fetcher fetcher(options, weir::http::address_filter::any());
        memory_store store;
        crawler one(options, fetcher, store);
        const crawl_summary summary = co_await one.run();
        EXPECT_EQ(summary.totals.done, 2u);
        EXPECT_EQ(cookies, "");
        co_await server.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, T22_local_addresses_are_refused_as_an_error_of_the_page) {
    const auto body = []() -> task<> {
        int contacts = 0;
        const auto talk = [&contacts](seen_request& seen, socket& peer) -> task<bool> {
            ++contacts;
            const std::string to = "http://127.0.0.1" + seen.header("Host").substr(9) + "/x";
            co_await peer.write("HTTP/1.1 302 Found\r\nLocation: " + to +
                                "\r\nContent-Length: 0\r\n\r\n");
            co_return true;
        };
        tiny_server server(talk);
        const crawl_options options = local_options();
        http_fetcher fetcher(options);  // public addresses only
        const std::string port = ":" + std::to_string(server.address().port());
        for (const char* const host :
             {"127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "169.254.169.254"}) {
            fetch_request request = request_of("http://" + (host + port) + "/", options);
            const fetch_result result = co_await fetcher.fetch(std::move(request));
            EXPECT_EQ(result.error.kind, error_kind::address_refused) << host;
            EXPECT_EQ(result.error.stage, fetch_stage::admit) << host;
        }
        EXPECT_EQ(contacts, 0);
        co_await server.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, T22_a_redirect_to_a_local_address_is_refused) {
    const auto body = []() -> task<> {
        int contacts = 0;
        const auto inner = [&contacts](seen_request&, socket& peer) -> task<bool> {
            ++contacts;
            co_await peer.write(ok_answer("secret", "Content-Type: text/html\r\n"));
            co_return true;
        };
        tiny_server secret(inner);
        const std::string target = secret.url("/metadata", "127.0.0.2");
        const auto outer = [&target](seen_request&, socket& peer) -> task<bool> {
            co_await peer.write("HTTP/1.1 302 Found\r\nLocation: " + target +
                                "\r\nContent-Length: 0\r\n\r\n");
            co_return true;
        };
        tiny_server server(outer);
        crawl_options options = local_options();
        options.scope = crawl_scope::all;
        options.seeds.push_back(server.url("/"));
        weir::http::address_filter filter = weir::http::address_filter::public_only();
        filter.allow("127.0.0.1");
        http_fetcher fetcher(options, filter);
        memory_store store;
        crawler one(options, fetcher, store);
        const crawl_summary summary = co_await one.run();
        EXPECT_EQ(summary.totals.failed, 1u);
        const auto found = co_await store.find(target);
        EXPECT_TRUE(found && found->error.kind == error_kind::address_refused);
        EXPECT_EQ(contacts, 0);
        co_await server.stop();
        co_await secret.stop();
    };
    weir::run(body());
}

TEST(CrawlHttpFetcher, ConnectionRefusedAndUnknownNames) {
    const auto body = []() -> task<> {
        std::string url;
        {
            const auto talk = [](seen_request&, socket&) -> task<bool> { co_return false; };
            tiny_server server(talk);
            url = server.url("/");
            co_await server.stop();
        }
        const crawl_options options = local_options();
        http_fetcher fetcher(options, weir::http::address_filter::any());
        fetch_request request = request_of(url, options);
        const fetch_result result = co_await fetcher.fetch(std::move(request));
        EXPECT_EQ(result.error.kind, error_kind::connect) << result.error.text;
        EXPECT_EQ(result.status, 0);
    };
    weir::run(body());
}

std::string small_page(int links) {
    std::string html;
    for (int i = 0; i < links; ++i) {
        html += "<a href='/" + std::to_string(i) + "'>x</a>";
    }
    return html;
}

TEST(CrawlHttpFetcher, T11_concurrency_three_means_three_sockets) {
    const auto body = []() -> task<> {
        int open = 0;
        int most = 0;
        const auto talk = [&](seen_request& seen, socket& peer) -> task<bool> {
            most = std::max(most, ++open);
            co_await weir::sleep(2ms);
            --open;
            const std::string page = small_page(seen.target() == "/" ? 60 : 0);
            co_await peer.write(ok_answer(page, "Content-Type: text/html\r\n"));
            co_return true;
        };
        tiny_server server(talk);
        crawl_options options = local_options();
        options.concurrency = 3;
        options.seeds.push_back(server.url("/"));
        http_fetcher fetcher(options, weir::http::address_filter::any());
        memory_store store;
        crawler one(options, fetcher, store);
        const crawl_summary summary = co_await one.run();
        EXPECT_EQ(summary.totals.done, 61u);
        EXPECT_EQ(server.requests(), 61);
        EXPECT_LE(server.connections(), 3);
        EXPECT_LE(most, 3);
        co_await server.stop();
    };
    weir::run(body());
}

}  // namespace http_fetcher_test
