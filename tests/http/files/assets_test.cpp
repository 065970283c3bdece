// SPDX-License-Identifier: MIT
// Assets: what is embedded, and how it is answered.

#include "embedded_site.hpp"
#include "serving.hpp"

#include <weir/error.hpp>
#include <weir/http/assets.hpp>
#include <weir/testing/testing.hpp>

#include <array>
#include <random>

namespace {

namespace http = weir::http;
using weir_test::ask;
using weir_test::fields;
using weir_test::seen;

constexpr std::string_view digits = "0123456789";
constexpr std::array all = {
    http::asset{"digits.txt", {}, digits, "\"d1\""},
    http::asset{"data", "application/x-own", "abc", {}},
    http::asset{"index.html", {}, "<p>start", "\"i1\""},
    http::asset{"sub/index.html", {}, "<p>sub", "W/\"s1\""},
};

WEIR_TEST(Assets, AreSentFromWhereTheyLie) {
    http::handler app = http::assets(all);
    http::request incoming(http::method::get, "/digits.txt?v=1");
    const http::response answer = co_await app(incoming);
    EXPECT_EQ(answer.status(), http::status::ok);
    EXPECT_EQ(answer.body().text().data(), digits.data());
    EXPECT_EQ(answer.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer.header("ETag"), "\"d1\"");
    EXPECT_EQ(answer.header("Cache-Control"), "no-cache");
    EXPECT_EQ(answer.header("Accept-Ranges"), "bytes");
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
    EXPECT_FALSE(answer.headers().contains("Vary"));

    const seen own = co_await ask(app, "/data");
    EXPECT_EQ(own["Content-Type"], "application/x-own");
    EXPECT_FALSE(own.headers.contains("ETag"));
    const seen start = co_await ask(app, "/");
    EXPECT_EQ(start.body, "<p>start");
    const seen sub = co_await ask(app, "/sub/");
    EXPECT_EQ(sub.body, "<p>sub");
    const seen without_slash = co_await ask(app, "/sub?a=b");
    EXPECT_EQ(without_slash.code, 301u);
    EXPECT_EQ(without_slash["Location"], "./sub/?a=b");
    for (const char* each : {"/nothing", "/digits.txt/", "/sub/x", "/../digits.txt", "//digits.txt",
                             "/sub/..%2fdigits.txt", "/%", "/sub//"}) {
        const seen missing = co_await ask(app, each);
        EXPECT_EQ(missing.code, 404u) << each;
        EXPECT_EQ(missing["Content-Type"], "application/problem+json") << each;
    }
}

WEIR_TEST(Assets, ConditionsAndRanges) {
    http::handler app = http::assets(all);
    const seen same = co_await ask(app, "/digits.txt", fields("If-None-Match", "\"d1\""));
    EXPECT_EQ(same.code, 304u);
    EXPECT_EQ(same["ETag"], "\"d1\"");
    EXPECT_EQ(same["Cache-Control"], "no-cache");
    EXPECT_EQ(same.body, "");
    EXPECT_FALSE(same.headers.contains("Content-Type"));
    const seen weak = co_await ask(app, "/sub/", fields("If-None-Match", "\"s1\""));
    EXPECT_EQ(weak.code, 304u);
    const seen failed = co_await ask(app, "/digits.txt", fields("If-Match", "\"old\""));
    EXPECT_EQ(failed.code, 412u);

    const seen part = co_await ask(app, "/digits.txt", fields("Range", "bytes=2-4"));
    EXPECT_EQ(part.code, 206u);
    EXPECT_EQ(part.body, "234");
    EXPECT_EQ(part["Content-Range"], "bytes 2-4/10");
    EXPECT_EQ(part["Content-Type"], "text/plain; charset=utf-8");
    const seen behind = co_await ask(app, "/digits.txt", fields("Range", "bytes=10-"));
    EXPECT_EQ(behind.code, 416u);
    EXPECT_EQ(behind["Content-Range"], "bytes */10");
    EXPECT_FALSE(behind.headers.contains("ETag"));
    const seen resumed =
        co_await ask(app, "/digits.txt", fields("Range", "bytes=8-", "If-Range", "\"d1\""));
    EXPECT_EQ(resumed.body, "89");
    const seen outdated =
        co_await ask(app, "/digits.txt", fields("Range", "bytes=8-", "If-Range", "\"d0\""));
    EXPECT_EQ(outdated.code, 200u);
    EXPECT_EQ(outdated.body, digits);
    // A condition comes before the range, a range that cannot be had after it.
    const seen both =
        co_await ask(app, "/digits.txt", fields("Range", "bytes=99-", "If-None-Match", "\"d1\""));
    EXPECT_EQ(both.code, 304u);
    const seen twice =
        co_await ask(app, "/digits.txt", fields("Range", "bytes=1-1", "Range", "bytes=2-2"));
    EXPECT_EQ(twice.code, 200u);

    const seen several = co_await ask(app, "/digits.txt", fields("Range", "bytes=0-1, -2"));
    EXPECT_EQ(several.code, 206u);
    const std::string_view type = several["Content-Type"];
    constexpr std::string_view kind = "multipart/byteranges; boundary=";
    WEIR_ASSERT_TRUE(type.starts_with(kind));
    const std::string boundary(type.substr(kind.size()));
    EXPECT_EQ(several.body,
              "--" + boundary +
                  "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes 0-1/10"
                  "\r\n\r\n01\r\n--" +
                  boundary +
                  "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes 8-9/10"
                  "\r\n\r\n89\r\n--" +
                  boundary + "--\r\n");
    EXPECT_FALSE(several.headers.contains("Content-Range"));
    const seen again = co_await ask(app, "/digits.txt", fields("Range", "bytes=0-1, -2"));
    EXPECT_NE(again["Content-Type"], type);  // unpredictable
}

WEIR_TEST(Assets, HeadSaysWhatGetWould) {
    http::handler app = http::assets(all);
    const seen whole =
        co_await ask(app, "/digits.txt", fields("Range", "bytes=0-1"), http::method::head);
    EXPECT_EQ(whole.code, 200u);  // ranges are for GET
    EXPECT_EQ(whole.announced, 10u);
    EXPECT_EQ(whole.body, "");
    const seen same =
        co_await ask(app, "/digits.txt", fields("If-None-Match", "*"), http::method::head);
    EXPECT_EQ(same.code, 304u);
    for (const http::method each : {http::method::post, http::method::put, http::method::delete_,
                                    http::method::options, http::method::other}) {
        const seen refused = co_await ask(app, "/digits.txt", {}, each);
        EXPECT_EQ(refused.code, 405u);
        EXPECT_EQ(refused["Allow"], "GET, HEAD");
    }
}

WEIR_TEST(Assets, Options) {
    http::handler page = http::assets(all, {.prefix = "/app",
                                            .fallback = "index.html",
                                            .cache_control = "max-age=60",
                                            .max_ranges = 0});
    const seen route = co_await ask(page, "/app/orders/7");
    EXPECT_EQ(route.code, 200u);
    EXPECT_EQ(route.body, "<p>start");
    EXPECT_EQ(route["Cache-Control"], "max-age=60");
    EXPECT_FALSE(route.headers.contains("Accept-Ranges"));
    const seen ranged = co_await ask(page, "/app/digits.txt", fields("Range", "bytes=0-1"));
    EXPECT_EQ(ranged.code, 200u);
    const seen elsewhere = co_await ask(page, "/other");
    EXPECT_EQ(elsewhere.code, 404u);
    http::handler bare = http::assets(all, {.index = "", .cache_control = ""});
    const seen no_index = co_await ask(bare, "/");
    EXPECT_EQ(no_index.code, 404u);
    const seen plain = co_await ask(bare, "/data");
    EXPECT_FALSE(plain.headers.contains("Cache-Control"));

    const auto text_of = [](auto make) -> std::string {
        try {
            make();
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(text_of([] { http::assets(all, {.fallback = "none.html"}); }),
              "assets_options: fallback = 'none.html' is not the path of an asset");
    EXPECT_EQ(text_of([] { http::assets(all, {.cache_control = "a\nb"}); }),
              "assets_options: cache_control cannot be a header; control characters and blanks "
              "at the ends are not allowed, as in 'max-age=3600'");
    std::vector<http::asset> twice(all.begin(), all.end());
    twice.push_back(all[0]);
    EXPECT_EQ(text_of([&] { http::assets(twice); }),
              "assets: two assets have the path 'digits.txt'");
    const std::vector<http::asset> unquoted(1, http::asset{"a", {}, "b", "c"});
    EXPECT_EQ(text_of([&] { http::assets(unquoted); }),
              "assets: the etag of 'a' is c, which is not in quotes");
}

WEIR_TEST(Assets, AreCompressedOnce) {
    static const std::string text(5000, 'x');
    std::vector<http::asset> list;
    list.push_back({"text.txt", {}, text, "\"t\""});
    list.push_back({"image.png", {}, text, "\"i\""});
    http::handler app = http::assets(list);
    http::request incoming(http::method::get, "/text.txt");
    incoming.headers().set("Accept-Encoding", "gzip, br");
    const http::response first = co_await app(incoming);
    const http::response second = co_await app(incoming);
    EXPECT_EQ(first.header("Content-Encoding"), "br");
    EXPECT_EQ(first.header("ETag"), "\"t-br\"");  // strong: always the same bytes
    EXPECT_EQ(first.header("Vary"), "Accept-Encoding");
    EXPECT_LT(first.body().text().size(), 100u);
    EXPECT_EQ(first.body().text().data(), second.body().text().data());
    const seen zipped = co_await ask(app, "/text.txt", fields("Accept-Encoding", "gzip"));
    EXPECT_EQ(zipped["Content-Encoding"], "gzip");
    EXPECT_EQ(zipped["ETag"], "\"t-gzip\"");
    const seen part = co_await ask(
        app, "/text.txt",
        fields("Accept-Encoding", "gzip", "Range", "bytes=0-1", "If-Range", "\"t-gzip\""));
    EXPECT_EQ(part.body, "\x1f\x8b");
    const seen same = co_await ask(app, "/text.txt",
                                   fields("Accept-Encoding", "br", "If-None-Match", "\"t-br\""));
    EXPECT_EQ(same.code, 304u);
    EXPECT_EQ(same["Vary"], "Accept-Encoding");
    const seen other = co_await ask(app, "/text.txt", fields("If-None-Match", "\"t-br\""));
    EXPECT_EQ(other.code, 200u);
    EXPECT_EQ(other.body, text);
    EXPECT_EQ(other["ETag"], "\"t\"");
    EXPECT_EQ(other["Vary"], "Accept-Encoding");
    const seen image = co_await ask(app, "/image.png", fields("Accept-Encoding", "gzip"));
    EXPECT_EQ(image.body, text);
    EXPECT_FALSE(image.headers.contains("Vary"));
    http::handler plain = http::assets(list, {.compressed = false});
    const seen as_it_is = co_await ask(plain, "/text.txt", fields("Accept-Encoding", "gzip"));
    EXPECT_EQ(as_it_is.body, text);
}

WEIR_TEST(Assets, AFolderBecomesPartOfTheProgram) {
    const auto embedded = embedded_site();
    WEIR_ASSERT_EQ(embedded.size(), 3u);
    EXPECT_EQ(embedded[0].path, "docs/index.html");
    EXPECT_EQ(embedded[1].path, "docs/plain.css");
    EXPECT_EQ(embedded[1].content, "p { color: green }\n");
    EXPECT_NE(embedded[0].etag, embedded[2].etag);
    http::handler app = http::assets(embedded);
    const seen start = co_await ask(app, "/");
    EXPECT_EQ(
        start.body,
        "<!doctype html>\n<title>Site</title>\n<link rel=\"stylesheet\" href=\"docs/plain.css\">\n"
        "<p>Hello.</p>\n");
    const seen style = co_await ask(app, "/docs/plain.css");
    EXPECT_EQ(style["Content-Type"], "text/css; charset=utf-8");
    EXPECT_EQ(style["ETag"].size(), 34u);
}

// Random ranges of random assets: the parts that come are those of the content.
WEIR_TEST(Assets, PartsAreWhatWasAskedFor) {
    weir::testing::once_is_enough();
    std::mt19937 random(7);
    std::string content(5000, ' ');
    for (char& each : content) {
        each = static_cast<char>(random());
    }
    const std::vector<http::asset> one(1, http::asset{"a", {}, content, "\"a\""});
    http::handler app = http::assets(one);
    for (int round = 0; round < 300; ++round) {
        std::string header = "bytes=";
        std::size_t at = 0;
        std::vector<std::string> parts;
        const std::size_t count = 1 + random() % 5;
        for (std::size_t i = 0; i < count; ++i) {
            at += random() % 500;
            const std::size_t size = 1 + random() % 400;
            header += (i > 0 ? "," : "") + std::to_string(at) + "-" + std::to_string(at + size - 1);
            parts.push_back(content.substr(at, size));
            at += size;
        }
        const seen answer = co_await ask(app, "/a", fields("Range", header));
        WEIR_ASSERT_EQ(answer.code, 206u);
        if (count == 1) {
            WEIR_ASSERT_TRUE(answer.body == parts[0]);
            continue;
        }
        const std::string boundary(
            answer["Content-Type"].substr(answer["Content-Type"].find('=') + 1));
        std::size_t place = 0;
        for (const std::string& each : parts) {
            place = answer.body.find("\r\n\r\n", answer.body.find("--" + boundary, place)) + 4;
            WEIR_ASSERT_TRUE(answer.body.compare(place, each.size(), each) == 0);
            place += each.size();
            WEIR_ASSERT_TRUE(answer.body.compare(place, boundary.size() + 4, "\r\n--" + boundary) ==
                             0);
        }
    }
}

}  // namespace
