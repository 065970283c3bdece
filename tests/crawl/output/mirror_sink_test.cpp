// SPDX-License-Identifier: MIT
// Names of files, links between them, and a mirror that is continued.

#include "crawl/output/mirror_links.hpp"
#include "crawl/output/mirror_path.hpp"
#include "crawl/output/output_place.hpp"

#include <weir/crawl/mirror_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

namespace mirror_sink_test {

using namespace output_place;
using weir::task;
namespace http = weir::http;

std::string path_of(std::string_view url, std::string_view type = "text/html") {
    return detail::mirror_path(http::url::parse(url), type);
}

TEST(CrawlMirrorSink, NamesAreSafe) {
    EXPECT_EQ(path_of("http://a.example/"), "a.example/index.html");
    EXPECT_EQ(path_of("http://a.example:8080/d/"), "a.example_8080/d/index.html");
    EXPECT_EQ(path_of("http://a.example/d/x"), "a.example/d/x.html");
    EXPECT_EQ(path_of("http://a.example/d/x.htm"), "a.example/d/x.htm");
    EXPECT_EQ(path_of("http://a.example/i.png", "image/png"), "a.example/i.png");
    EXPECT_NE(path_of("http://a.example/x.html?a"), path_of("http://a.example/x.html?b"));
    EXPECT_NE(path_of("http://a.example/a%2Fb"), path_of("http://a.example/a_2Fb"));
    for (const std::string& url :
         {std::string("http://a.example/%2e%2e/%2E%2E%2Fetc/passwd"),
          std::string("http://a.example/a/..%2f..%2f/x"), std::string("http://[::1]/x"),
          std::string("http://a.example/%00%0a/\\x"),
          "http://a.example/" + std::string(3000, 'x')}) {
        const std::string path = path_of(url);
        EXPECT_EQ(("/" + path + "/").find("/../"), std::string::npos) << path;
        EXPECT_FALSE(path.starts_with('/')) << path;
        EXPECT_EQ(path.find('%'), std::string::npos) << path;
        EXPECT_LT(path.size() - path.find_last_of('/'), 140u) << path;
    }
    EXPECT_EQ(detail::relative_mirror_path("h/a/b.html", "h/a/c.html"), "c.html");
    EXPECT_EQ(detail::relative_mirror_path("h/a/b.html", "h/c/d.html"), "../c/d.html");
    EXPECT_EQ(detail::relative_mirror_path("h/b.html", "g/d.html"), "../g/d.html");
}

TEST(CrawlMirrorSink, LinksAreRewritten) {
    const detail::mirror_lookup lookup = [](const std::string& url) {
        return url == "http://a.example/d/x" ? std::string("../x.html") : std::string();
    };
    const auto rewritten = [&](std::string_view html) {
        return detail::with_mirror_links(html, "text/html", http::url::parse("http://a.example/p"),
                                         lookup);
    };
    EXPECT_EQ(rewritten("<a href='/d/x#f'>1</a><a href=/d/x>2</a>"),
              "<a href='../x.html#f'>1</a><a href=\"../x.html\">2</a>");
    EXPECT_EQ(rewritten("<a href='/y?a&amp;b'>"), "<a href='http://a.example/y?a&amp;b'>");
    EXPECT_EQ(rewritten("<a href='#f'><a href='mailto:x'><a href=''>"),
              "<a href='#f'><a href='mailto:x'><a href=''>");
    EXPECT_EQ(rewritten("<base href='/d/'><a href='x'>"), "<base href=''><a href='../x.html'>");
    EXPECT_EQ(rewritten("<img srcset='/d/x 1x, /i 2x'>"),
              "<img srcset='../x.html 1x, http://a.example/i 2x'>");
    EXPECT_EQ(rewritten("<meta http-equiv=refresh content='0; url=/d/x'>"),
              "<meta http-equiv=refresh content='0; url=../x.html'>");
    EXPECT_EQ(rewritten("<!-- <a href=/d/x> --><p>"), "<!-- <a href=/d/x> --><p>");
}

page page_at(std::string url, std::string_view body, std::string type = "text/html") {
    page made = page_of(1, body);
    made.url = std::move(url);
    made.headers.set("Content-Type", type);
    made.content_type = std::move(type);
    return made;
}

task<> write_mirror(const std::string& folder) {
    mirror_sink out(folder);
    co_await out.open("");
    out.write(page_at("http://a.example/", "<a href=/d/x>x</a><img src=i.png><a href=/old>"));
    out.write(page_at("http://a.example/i.png", "png", "image/png"));
    const std::string position = co_await out.flush();
    out.write(page_at("http://a.example/d/x", "not committed"));
    co_await out.flush();
    co_await out.close(false);

    mirror_sink again(folder);
    co_await again.open(position);
    again.write(page_at("http://a.example/d/x", "<a href='../#top'>home</a>"));
    again.write(page_at("http://a.example/D/x", "case"));
    page moved = page_at("http://a.example/old", "");
    moved.status = 301;
    moved.location = "http://a.example/d/x";
    again.write(moved);
    page missing = page_at("http://a.example/no", "no");
    missing.status = 404;
    missing.state = page_state::failed;
    again.write(missing);
    const std::string complete = co_await again.flush();
    co_await again.close(true);

    // A crawl that goes on after its end leaves the pages that are done alone.
    mirror_sink third(folder);
    co_await third.open(complete);
    third.write(page_at("http://a.example/new", "<a href=/>home</a>"));
    co_await third.flush();
    co_await third.close(true);
}

TEST(CrawlMirrorSink, ContinuesAndRewritesAtTheEnd) {
    const folder here;
    weir::run(write_mirror(here.file("m")));
    const auto content = [&](const std::string& name) {
        return content_of(here.file("m/a.example/" + name));
    };
    EXPECT_EQ(content("index.html"),
              "<a href=\"d/x.html\">x</a><img src=\"i.png\"><a href=\"d/x.html\">");
    EXPECT_EQ(content("d/x.html"), "<a href='../index.html#top'>home</a>");
    EXPECT_EQ(content("i.png"), "png");
    EXPECT_EQ(content("new.html"), "<a href=\"index.html\">home</a>");
    EXPECT_FALSE(std::filesystem::exists(here.file("m/a.example/index.html.orig")));
    EXPECT_FALSE(std::filesystem::exists(here.file("m/a.example/no.html")));
    // 'D/x' and 'd/x' are one file where case does not count.
    EXPECT_FALSE(std::filesystem::exists(here.file("m/a.example/D/x.html")));
}

task<std::string> write_all_pages(const std::string& folder) {
    mirror_sink out(folder);
    co_await out.open("");
    out.write(page_at("http://a.example/", "<a href=/x>x</a>"));
    out.write(page_at("http://a.example/x", "<a href=/>home</a>"));
    std::string position = co_await out.flush();
    co_return position;  // killed before the links are rewritten
}

task<> finish_mirror(const std::string& folder, const std::string& position) {
    mirror_sink again(folder);
    co_await again.open(position);
    co_await again.close(true);
}

TEST(CrawlMirrorSink, RewritesInTheNextRunWhatAKillLeft) {
    const folder here;
    const std::string file = here.file("m/a.example/index.html");
    const std::string position = weir::run(write_all_pages(here.file("m")));
    EXPECT_EQ(content_of(file), "<a href=/x>x</a>");
    weir::run(finish_mirror(here.file("m"), position));
    EXPECT_EQ(content_of(file), "<a href=\"x.html\">x</a>");
    EXPECT_EQ(content_of(here.file("m/a.example/x.html")), "<a href=\"index.html\">home</a>");
    // Killed after the last page was rewritten, when not all originals had been removed.
    std::ofstream(file + ".orig") << "<a href=/x>x</a>";
    std::ofstream(here.file("m/.weir-mirror-rewriting")).flush();
    weir::run(finish_mirror(here.file("m"), position));
    EXPECT_EQ(content_of(file), "<a href=\"x.html\">x</a>");
    EXPECT_EQ(content_of(here.file("m/a.example/x.html")), "<a href=\"index.html\">home</a>");
    EXPECT_FALSE(std::filesystem::exists(file + ".orig"));
    EXPECT_FALSE(std::filesystem::exists(here.file("m/.weir-mirror-rewriting")));
}

}  // namespace mirror_sink_test
