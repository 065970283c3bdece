// SPDX-License-Identifier: MIT
// Sitemaps in all their forms, cut into pieces anywhere, and hostile ones.

#include <weir/base/random.hpp>
#include <weir/crawl/sitemap.hpp>

#include <gtest/gtest.h>

#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

namespace sitemap_test {

using namespace weir::crawl;

std::string gzipped(std::string_view text) {
    z_stream state{};
    deflateInit2(&state, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&state, text.size()) + 64, '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    state.avail_in = static_cast<uInt>(text.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    deflate(&state, Z_FINISH);
    packed.resize(state.total_out);
    deflateEnd(&state);
    return packed;
}

// 'urlset: http://a/1@2026-01-01 http://a/2 (problem)'.
std::string described(const sitemap& map) {
    std::string text = std::string(name_of(map.kind)) + ":";
    for (const sitemap_entry& each : map.entries) {
        text += " " + each.location;
        text += each.last_modified.empty() ? "" : "@" + each.last_modified;
    }
    return text + (map.problem.empty() ? "" : " (" + map.problem + ")");
}
std::string read(std::string_view body) {
    return described(read_sitemap(body));
}

const std::string urlset =
    "<?xml version='1.0' encoding='UTF-8'?>\n"
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='x'>"
    "<url><loc>\n http://a/1?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>"
    "<image:image><image:loc>http://a/i.png</image:loc></image:image></url>"
    "<!-- <url><loc>http://a/no</loc></url> -->"
    "<url><loc><![CDATA[http://a/2?a&b]]></loc><priority>0.5</priority></url>"
    "<url><lastmod>2026</lastmod></url></urlset>";
const std::string urlset_entries = "urlset: http://a/1?x=1&y=2@2026-01-01 http://a/2?a&b";

TEST(CrawlSitemap, Urlset) {
    EXPECT_EQ(read(urlset), urlset_entries);
    EXPECT_EQ(read("\xEF\xBB\xBF" + urlset), urlset_entries);
    EXPECT_EQ(read("<s:urlset><s:url><s:loc>http://a/1</s:loc></s:url></s:urlset>"),
              "urlset: http://a/1");
}

TEST(CrawlSitemap, Index) {
    EXPECT_EQ(read("<sitemapindex><sitemap><loc>http://a/1.xml</loc><lastmod>x</lastmod></sitemap>"
                   "<sitemap><loc>http://a/2.xml.gz</loc></sitemap></sitemapindex>"),
              "index: http://a/1.xml@x http://a/2.xml.gz");
}

TEST(CrawlSitemap, Text) {
    EXPECT_EQ(read("http://a/1\r\n  HTTPS://a/2 \n\n# no\nftp://a/3\rhttp://a/4"),
              "text: http://a/1 HTTPS://a/2 http://a/4");
    EXPECT_EQ(read("not found"), "unknown: (neither XML nor a list of URLs)");
    EXPECT_EQ(read(""), "unknown: (neither XML nor a list of URLs)");
    EXPECT_EQ(read("h"), "unknown: (neither XML nor a list of URLs)");
}

TEST(CrawlSitemap, Feeds) {
    EXPECT_EQ(read("<rss><channel><link>http://a/</link><item><title>t</title>"
                   "<link>http://a/1</link><pubDate>Mon</pubDate></item></channel></rss>"),
              "feed: http://a/1@Mon");
    EXPECT_EQ(read("<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a/'/>"
                   "<entry><link rel='self' href='http://a/s'/><link href='http://a/1?a&amp;b'/>"
                   "<updated>2026</updated></entry>"
                   "<entry><link rel='alternate' href='http://a/2'></link></entry></feed>"),
              "feed: http://a/1?a&b@2026 http://a/2");
    EXPECT_EQ(read("<rdf:RDF><item><link>http://a/1</link></item></rdf:RDF>"), "feed: http://a/1");
}

TEST(CrawlSitemap, GzipByItsMagic) {
    EXPECT_EQ(read(gzipped(urlset)), urlset_entries);
    EXPECT_EQ(read(gzipped("http://a/1\nhttp://a") + gzipped("/2\n")),
              "text: http://a/1 http://a/2");
    const std::string packed = gzipped(urlset);
    EXPECT_EQ(read(packed.substr(0, packed.size() - 8)),
              urlset_entries + " (the gzip data is incomplete)");
    std::string broken = packed;
    broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
    EXPECT_NE(read(broken).find("(the gzip data is "), std::string::npos);
}

TEST(CrawlSitemap, OtherEncodings) {
    std::string wide = "\xFF\xFE";
    for (const char each : urlset) {
        wide += each;
        wide += '\0';
    }
    EXPECT_EQ(read(wide), urlset_entries);
    EXPECT_EQ(
        read("<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>http://a/\xE9</loc>"
             "</url></urlset>"),
        "urlset: http://a/\xC3\xA9");
}

TEST(CrawlSitemap, PiecesDoNotMatter) {
    for (const std::string& body :
         {urlset, gzipped(urlset), std::string("http://a/1\r\nhttp://a/2"),
          "\xEF\xBB\xBF" + urlset}) {
        const std::string whole = read(body);
        for (std::size_t size = 1; size < 40; size += 3) {
            sitemap_reader reader;
            for (std::size_t at = 0; at < body.size(); at += size) {
                reader.feed(std::string_view(body).substr(at, size));
            }
            EXPECT_EQ(described(reader.finish()), whole) << size;
        }
    }
}

TEST(CrawlSitemap, EntitiesAreNotExpanded) {
    const std::string bomb =
        "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>"
        "<!ENTITY f SYSTEM 'file:///etc/passwd'>]>"
        "<urlset><url><loc>http://a/&b;&f;</loc></url></urlset>";
    EXPECT_EQ(read(bomb), "urlset: http://a/&b;&f;");
}

TEST(CrawlSitemap, Limits) {
    sitemap_limits limits;
    limits.max_entries = 3;
    std::string text;
    std::string xml = "<urlset>";
    for (int i = 0; i < 5; ++i) {
        text += "http://a/" + std::to_string(i) + "\n";
        xml += "<url><loc>http://a/" + std::to_string(i) + "</loc></url>";
    }
    for (const std::string& body : {text, xml}) {
        const sitemap map = read_sitemap(body, limits);
        EXPECT_EQ(map.entries.size(), 3u);
        EXPECT_TRUE(map.is_cut);
        EXPECT_EQ(map.problem, "more than 3 entries");
    }
    // 200 MB of one URL in some 200 KB: the limit is on what comes out.
    std::string million;
    for (int i = 0; i < 100'000; ++i) {
        million += "http://a.example/1\n";
    }
    std::string bomb;
    for (int i = 0; i < 30; ++i) {
        bomb += gzipped(million);
    }
    limits = {};
    limits.max_entries = 1'000'000'000;
    limits.max_bytes = 5'000'000;
    sitemap_reader reader(limits);
    reader.feed(bomb);
    EXPECT_TRUE(reader.is_full());
    const sitemap map = reader.finish();
    EXPECT_EQ(map.problem, "more than 5000000 bytes");
    EXPECT_LE(map.entries.size(), 300'000u);
    // Locations that are too long are left out, and the others stay.
    const std::string overlong = "http://a/" + std::string(9000, 'x');
    EXPECT_EQ(
        read("<urlset><url><loc>" + overlong + "</loc></url><url><loc>http://a/1</loc></url>"),
        "urlset: http://a/1");
    EXPECT_EQ(read(overlong + "\nhttp://a/1"), "text: http://a/1");
}

TEST(CrawlSitemap, WhatIsNoSitemapSaysSo) {
    EXPECT_EQ(read("<!doctype html><html><body><a href=x></a></body></html>"),
              "unknown: (the root element 'html' begins no sitemap or feed)");
    EXPECT_EQ(read("<!-- nothing -->"), "unknown: (no element that begins a sitemap or a feed)");
    EXPECT_EQ(read("<urlset><url><loc>http://a/1</loc><url><loc>http://a/2"), "urlset: http://a/1");
}

}  // namespace sitemap_test
