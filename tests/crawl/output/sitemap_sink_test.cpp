// SPDX-License-Identifier: MIT
// Which pages a sitemap has, how it is split, and that it can be read back.

#include "crawl/output/output_place.hpp"

#include <weir/crawl/sitemap.hpp>
#include <weir/crawl/sitemap_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

namespace sitemap_sink_test {

using namespace output_place;
using weir::task;

std::string locations(const std::string& path) {
    const sitemap map = read_sitemap(content_of(path));
    std::string all(name_of(map.kind));
    for (const sitemap_entry& each : map.entries) {
        all += " " + each.location.substr(std::string_view("http://a.example/").size());
    }
    return all + map.problem;
}

task<> write_pages(const std::string& path) {
    sitemap_sink_options options;
    options.entries_per_file = 2;
    sitemap_sink out(path, options);
    co_await out.open("");
    out.write(page_of(1));
    page noindex = page_of(100);
    noindex.is_noindex = true;
    out.write(noindex);
    page missing = page_of(101);
    missing.status = 404;
    out.write(missing);
    page copy = page_of(102);
    copy.canonical = "http://a.example/1";
    out.write(copy);
    page image = page_of(103);
    image.content_type = "image/png";
    out.write(image);
    out.write(page_of(2));
    const std::string position = co_await out.flush();
    out.write(page_of(3));
    out.write(page_of(4));
    out.write(page_of(5));
    co_await out.flush();  // not committed

    sitemap_sink again(path, options);
    co_await again.open(position);
    page third = page_of(3);
    third.url = "http://a.example/3?a&b";
    third.headers.add("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT");
    again.write(third);
    co_await again.flush();
    co_await again.close(true);
}

TEST(CrawlSitemapSink, SplitsAndContinues) {
    const folder here;
    weir::run(write_pages(here.file("sitemap.xml")));
    EXPECT_EQ(locations(here.file("sitemap.xml")), "urlset 1 2");
    EXPECT_EQ(locations(here.file("sitemap-2.xml")), "urlset 3?a&b");
    EXPECT_EQ(locations(here.file("sitemap-index.xml")), "index sitemap.xml sitemap-2.xml");
    EXPECT_FALSE(std::filesystem::exists(here.file("sitemap-3.xml")));
    EXPECT_NE(content_of(here.file("sitemap-2.xml")).find("<lastmod>2023-11-14T22:13:20.000Z<"),
              std::string::npos);
}

}  // namespace sitemap_sink_test
