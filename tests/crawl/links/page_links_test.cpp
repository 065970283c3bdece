// SPDX-License-Identifier: MIT
// Which links a page has, what they say, and where they stand.

#include <weir/base/random.hpp>
#include <weir/crawl/page_links.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace page_links_test {

using namespace weir::crawl;
namespace http = weir::http;

link_options everything() {
    link_options options;
    options.with_parts = options.with_positions = options.with_fragments = true;
    options.agent = "weir-crawl";
    return options;
}

page_links read(std::string_view html, std::string_view content_type = {},
                std::size_t piece_size = 100'000) {
    link_extractor extractor(everything());
    extractor.begin(content_type);
    for (std::size_t at = 0; at < html.size(); at += piece_size) {
        extractor.feed(html.substr(at, piece_size));
    }
    return extractor.finish();
}

// 'anchor:/a image:/b'.
std::string kinds_and_references(const page_links& page) {
    std::string all;
    for (const page_link& each : page.links) {
        all += (all.empty() ? "" : " ") + std::string(name_of(each.kind)) + ":" + each.reference;
    }
    return all;
}
std::string links_of(std::string_view html) {
    return kinds_and_references(read(html));
}

TEST(CrawlLinks, KindsOfElements) {
    EXPECT_EQ(links_of("<a href=/a>x</a><area href=/b><iframe src=/c></iframe><frame src=/d>"),
              "anchor:/a area:/b frame:/c frame:/d");
    EXPECT_EQ(links_of("<link rel=canonical href=1><link rel=next href=2><link rel=prev href=3>"
                       "<link rel=alternate href=4><link rel=author href=5>"),
              "canonical:1 next:2 next:3 alternate:4 other:5");
    EXPECT_EQ(links_of("<link rel=stylesheet href=1><link rel='alternate StyleSheet' href=2>"
                       "<link rel='shortcut icon' href=3><link rel=preload href=4>"),
              "stylesheet:1 stylesheet:2 image:3 other:4");
    EXPECT_EQ(links_of("<link rel=preconnect href=1><link href=2><link rel=dns-prefetch href=3>"),
              "");
    EXPECT_EQ(
        links_of("<img src=1><script src=2></script><video src=3 poster=4><audio src=5>"
                 "<source src=6><track src=7><embed src=8><object data=9></object>"
                 "<input type=IMAGE src=10><input src=11><body background=12>"),
        "image:1 script:2 image:4 media:3 media:5 media:6 media:7 embedded:8 embedded:9 image:10 "
        "image:12");
    EXPECT_EQ(links_of("<form action=1><a ping=2><q cite=3><button formaction=4>"), "");
    EXPECT_EQ(links_of("<a href=''><a href><img src=''>"), "anchor: anchor:");
}

TEST(CrawlLinks, PartsOfPagesOnlyOnRequest) {
    link_extractor extractor;
    extractor.begin("text/html");
    extractor.feed("<a href=1><img src=2 srcset=3><link rel=stylesheet href=4><iframe src=5>");
    EXPECT_EQ(kinds_and_references(extractor.finish()), "anchor:1 frame:5");
}

TEST(CrawlLinks, T32_ReferencesInAttributes) {
    EXPECT_EQ(links_of("<a href='/?a=1&amp;b=2&p=3&copy=4'>"), "anchor:/?a=1&b=2&p=3&copy=4");
    EXPECT_EQ(links_of("<a href=/&#x61;&#98>"), "anchor:/ab");
}

TEST(CrawlLinks, T33_TheFirstBaseWithAReferenceCounts) {
    EXPECT_EQ(read("<base target=x><base href=/1/><base href=/2/>").base, "/1/");
    EXPECT_EQ(read("<base href=''><base href=/2/>").base, "");
    EXPECT_EQ(read("<svg><base href=/1/></svg><base href=/2/>").base, "/2/");
    EXPECT_EQ(read("<template><base href=/1/></template><!--<base href=/3/>-->").base, "");
    EXPECT_EQ(read("<base href='http://a.example/?x&amp;y'>").base, "http://a.example/?x&y");
}

TEST(CrawlLinks, T34_SrcsetHasCommasInUrls) {
    EXPECT_EQ(links_of("<img srcset='a,b.png 1x, c.png 2x'>"), "candidate:a,b.png candidate:c.png");
    EXPECT_EQ(links_of("<img srcset='data:image/png;base64,AA== 1x, /b 2x'>"),
              "candidate:data:image/png;base64,AA== candidate:/b");
    EXPECT_EQ(links_of("<source srcset=',, a.png, b.png 100w,c.png'>"),
              "candidate:a.png candidate:b.png candidate:c.png");
    EXPECT_EQ(links_of("<img src=x srcset='a 1x (,) 2x,b'>"), "image:x candidate:a candidate:b");
    EXPECT_EQ(links_of("<img srcset='a,'><img srcset=' , '><img srcset=''>"), "candidate:a");
    EXPECT_EQ(links_of("<link rel=preload imagesrcset='p 1x, q 2x' href=r>"),
              "other:r candidate:p candidate:q");
}

TEST(CrawlLinks, T35_NothingOfAnOverlongValueIsALink) {
    EXPECT_EQ(links_of("<a href=1><a href=\"2><a href=3>"), "anchor:1");
    EXPECT_EQ(links_of("<a href=\"2><a href=3>x\"><a href=4>"), "anchor:2><a href=3>x anchor:4");
    const page_links page =
        read("<a href=1><a href=\"" + std::string(70'000, 'x') + "<a href=2>\"><a href=3>");
    EXPECT_EQ(kinds_and_references(page), "anchor:1 anchor:3");
    EXPECT_EQ(page.cut, 1u);
}

TEST(CrawlLinks, T36_TextIsNoLink) {
    EXPECT_EQ(links_of("<!-- <a href=1> --><script>'<a href=2>'</script><style><a href=3></style>"
                       "<textarea><a href=4></textarea><title><a href=5></title>"
                       "<template><a href=6><template><a href=7></template><a href=8></template>"
                       "<xmp><a href=9></xmp><noframes><a href=10></noframes>"
                       "<iframe><a href=11></iframe><a href=12>"),
              "anchor:12");
    EXPECT_EQ(links_of("<noscript><a href=1></noscript>"), "anchor:1");
    EXPECT_EQ(links_of("<plaintext><a href=1></plaintext>"), "");
    EXPECT_EQ(links_of("<template><a href=1>"), "");
}

TEST(CrawlLinks, ForeignContent) {
    EXPECT_EQ(links_of("<svg><a xlink:href=1><a href=2 xlink:href=3><image href=4></svg>"),
              "anchor:1 anchor:2 image:4");
    // In SVG, these elements hold tags like any other.
    EXPECT_EQ(links_of("<svg><style><a href=1></style><title><a href=2></title></svg>"),
              "anchor:1 anchor:2");
    EXPECT_EQ(links_of("<svg><![CDATA[<a href=1>]]></svg><![CDATA[<a href=2>]]>"), "");
    EXPECT_EQ(links_of("<svg><foreignObject><style><a href=1></style><a href=2></foreignObject>"
                       "<style><a href=3></style></svg>"),
              "anchor:2 anchor:3");
    // <p> cannot be in SVG, so it ends it.
    EXPECT_EQ(links_of("<svg><p><style><a href=1></style>"), "");
    EXPECT_EQ(links_of("<math><mi><style><a href=1></style></mi><style><a href=2></style></math>"),
              "anchor:2");
    EXPECT_EQ(links_of("<svg/><style><a href=1></style>"), "");
    // An SVG image that is left open ends with the element around it.
    EXPECT_EQ(links_of("<div><svg><g></div><style><a href=1></style>"), "");
}

TEST(CrawlLinks, T53_MetaRefresh) {
    const auto target = [](const std::string& content) {
        return links_of("<meta http-equiv=Refresh content=\"" + content + "\">");
    };
    EXPECT_EQ(target("0;url=/a"), "refresh:/a");
    EXPECT_EQ(target(" 5 ; URL = '/a b' x"), "refresh:/a b");
    EXPECT_EQ(target("0, /a"), "refresh:/a");
    EXPECT_EQ(target("0 /a"), "refresh:/a");
    EXPECT_EQ(target(".5; url=/a"), "refresh:/a");
    EXPECT_EQ(target("0; urls"), "refresh:urls");
    EXPECT_EQ(target("0; url='/a"), "refresh:/a");
    EXPECT_EQ(target("5"), "");
    EXPECT_EQ(target("5;"), "");
    EXPECT_EQ(target("x; url=/a"), "");
    EXPECT_EQ(target("5x; url=/a"), "");
}

TEST(CrawlLinks, T54_Nofollow) {
    const page_links page = read(
        "<a href=1 rel='NoFollow  noopener'><a href=2 rel=follow>"
        "<meta name=Robots content='noindex'>");
    ASSERT_EQ(page.links.size(), 2u);
    EXPECT_TRUE(page.links[0].is_nofollow);
    EXPECT_EQ(page.links[0].rel, "nofollow noopener");
    EXPECT_FALSE(page.links[1].is_nofollow);
    EXPECT_EQ(page.robots, (page_robots{true, false}));
    EXPECT_EQ(read("<meta name=weir-crawl content=nofollow>").robots, (page_robots{false, true}));
    EXPECT_EQ(read("<meta name=otherbot content=nofollow>").robots, page_robots());
}

TEST(CrawlLinks, TitleCanonicalAndFragments) {
    const page_links page = read(
        "<svg><title>no</title></svg><title>\n A &amp;  B\t</title><title>C</title>"
        "<link rel=canonical href=/c><p id=one><a name=two id=three><img name=four id=''>");
    EXPECT_EQ(page.title, "A & B");
    EXPECT_EQ(page.canonical, "/c");
    EXPECT_EQ(page.fragments, (std::vector<std::string>{"one", "two", "three"}));
    const std::string long_title = read("<title>" + std::string(3000, 'x') + "</title>").title;
    EXPECT_EQ(long_title.size(), 1024u);
    std::string wide;
    for (int i = 0; i < 4000; ++i) {
        wide += "\xE2\x82\xAC";
    }
    EXPECT_EQ(read("<title>" + wide + "</title>").title, wide.substr(0, 1023));
}

TEST(CrawlLinks, Positions) {
    const page_links page = read("<p>\n <a\n  href='1'>\xC3\xA4 <a href=2>");
    ASSERT_EQ(page.links.size(), 2u);
    EXPECT_EQ(page.links[0].line, 3u);
    EXPECT_EQ(page.links[0].column, 9u);
    EXPECT_EQ(page.links[1].line, 3u);
    EXPECT_EQ(page.links[1].column, 22u);
}

TEST(CrawlLinks, LimitOfLinks) {
    link_options options;
    options.max_links = 2;
    link_extractor extractor(options);
    extractor.feed("<a href=1><a href=2><a href=3><a href=4>");
    const page_links page = extractor.finish();
    EXPECT_EQ(page.links.size(), 2u);
    EXPECT_EQ(page.cut, 2u);
}

TEST(CrawlLinks, T49_OrderOfEncodings) {
    const std::string meta = "<meta charset=iso-8859-2>";
    const std::string link = "<a href='/\xC3\xA9'>";
    // A byte order mark counts more than the header, the header more than <meta>.
    page_links page = read("\xEF\xBB\xBF" + meta + link, "text/html; charset=latin1");
    EXPECT_EQ(page.charset, "UTF-8");
    EXPECT_EQ(page.links[0].reference, "/\xC3\xA9");
    page = read(meta + link, "text/html; charset=\"latin1\"");
    EXPECT_EQ(page.charset, "windows-1252");
    EXPECT_EQ(page.links[0].reference, "/\xC3\x83\xC2\xA9");
    page = read(meta + "<a href='/\xB1'>");
    EXPECT_EQ(page.charset, "ISO-8859-2");
    EXPECT_EQ(page.links[0].reference, "/\xC4\x85");
    page = read(link);
    EXPECT_EQ(page.charset, "UTF-8");
    EXPECT_EQ(page.links[0].reference, "/\xC3\xA9");
    page = read("<title>\x80</title><a href='/\xE9'>");
    EXPECT_EQ(page.charset, "windows-1252");
    EXPECT_EQ(page.links[0].reference, "/\xC3\xA9");
    EXPECT_EQ(page.title, "\xE2\x82\xAC");
    // An unknown label is none; a <meta> beyond 1,024 bytes is not looked for.
    EXPECT_EQ(read("<meta charset=nonsense>").charset, "UTF-8");
    EXPECT_EQ(read(std::string(1100, ' ') + meta).charset, "UTF-8");
    EXPECT_EQ(read("<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>").charset,
              "KOI8-R");
    EXPECT_EQ(read("<meta charset=utf-16>").charset, "UTF-8");
}

TEST(CrawlLinks, T49_QueriesAreInThePagesEncoding) {
    page_links page = read("<a href='/\xE9?q=\xE9&x=\x80#\xE9'>", "text/html; charset=latin1");
    EXPECT_EQ(page.links[0].reference, "/\xC3\xA9?q=%E9&x=%80#\xC3\xA9");
    page = read("<a href='?q=\x83\x41\x82\xA0&#x20AC;'>", "text/html; charset=shift_jis");
    EXPECT_EQ(page.links[0].reference, "?q=%83A%82%A0%26%238364%3B");
    page = read("<a href='?q=\xC3\xA9'>", "text/html; charset=utf-8");
    EXPECT_EQ(page.links[0].reference, "?q=\xC3\xA9");
    page = read("<a href='/\xE9?q=1'><a href='/a?\xFF'>", "text/html; charset=utf-8");
    EXPECT_EQ(page.links[0].reference, "/\xEF\xBF\xBD?q=1");
    EXPECT_EQ(page.links[1].reference, "/a?\xEF\xBF\xBD");
}

TEST(CrawlLinks, T49_Utf16AndMultibyte) {
    std::string little = "\xFF\xFE";
    for (const char each : std::string_view("<a href='/x'>")) {
        little += each;
        little += '\0';
    }
    for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        const page_links page = read(little, "text/html; charset=utf-8", size);
        EXPECT_EQ(page.charset, "UTF-16LE");
        EXPECT_EQ(kinds_and_references(page), "anchor:/x");
    }
    // A character that ends in a backslash, and one that is cut by the pieces.
    const std::string big5 = "<meta charset=big5><a href='/\xA5\x5C\xA4\xA4'>";
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}}) {
        EXPECT_EQ(kinds_and_references(read(big5, {}, size)), "anchor:/\xE5\x8A\x9F\xE4\xB8\xAD");
    }
    EXPECT_EQ(links_of("<meta charset=iso-2022-jp><a href='/\x1B$B$\"\x1B(B'>"),
              "anchor:/\xE3\x81\x82");
    EXPECT_EQ(links_of("<meta charset=hz-gb-2312><a href=1>"), "");
}

TEST(CrawlLinks, OffsetsOfValuesInTheBody) {
    const std::string_view html = "\xEF\xBB\xBF<p><a href=\"/a&amp;b\"><img src = x srcset='y,z'>";
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}}) {
        std::string values;
        for (const page_link& each : read(html, {}, size).links) {
            values += std::string(html.substr(each.offset, each.size)) + "|";
        }
        EXPECT_EQ(values, "/a&amp;b|x|y,z|");
    }
    EXPECT_EQ(read("<a href=x>", "text/html; charset=latin1").links[0].size, 0u);
}

TEST(CrawlLinks, HeaderLink) {
    http::headers fields;
    fields.add("Link", "</2>; rel=\"next\", </c>; rel=canonical, <x>; rel=preconnect, <y>");
    fields.add("link", "</s.css>; rel=preload; as=style, </n>; rel=\"nofollow author\"");
    const auto links = header_links(fields);
    ASSERT_EQ(links.size(), 4u);
    EXPECT_EQ(links[0].reference, "/2");
    EXPECT_EQ(links[0].kind, link_kind::next);
    EXPECT_EQ(links[0].line, 0u);
    EXPECT_EQ(links[1].kind, link_kind::canonical);
    EXPECT_EQ(links[2].kind, link_kind::other);
    EXPECT_TRUE(links[3].is_nofollow);
}

TEST(CrawlLinks, T53_HeaderRefresh) {
    const auto links = header_links({{"Refresh", "0; url=/next"}});
    ASSERT_EQ(links.size(), 1u);
    EXPECT_EQ(links[0].kind, link_kind::refresh);
    EXPECT_EQ(links[0].reference, "/next");
    EXPECT_TRUE(header_links({{"Refresh", "5"}}).empty());
}

std::string mutated_page(weir::detail::random_source& random) {
    constexpr std::string_view words[] = {"<a href=",
                                          "'/x'",
                                          ">",
                                          "<base href=/b/>",
                                          "<img srcset='a 1x, b'",
                                          "<template>",
                                          "</template>",
                                          "<svg>",
                                          "</svg>",
                                          "<title>",
                                          "</title>",
                                          "<meta charset=latin1>",
                                          "<meta name=robots content=none>",
                                          "\xE9",
                                          "\xC3\xA9",
                                          "?q=",
                                          "&amp;",
                                          "\n",
                                          "<p id=i",
                                          "<script>",
                                          "</script>",
                                          "<!--",
                                          "-->",
                                          "<foreignObject>",
                                          "</foreignObject>",
                                          "\"",
                                          "'"};
    std::string page;
    for (int i = 0; i < 60; ++i) {
        page += words[random.next_below(std::size(words))];
    }
    return page;
}

TEST(CrawlLinks, LinksDoNotDependOnThePieces) {
    weir::detail::random_source random(49);
    const auto described = [](const page_links& page) {
        std::string all =
            kinds_and_references(page) + "|" + page.title + "|" + page.base + "|" + page.charset;
        for (const page_link& each : page.links) {
            all += "|" + std::to_string(each.line) + ":" + std::to_string(each.column);
        }
        return all;
    };
    for (int round = 0; round < 500; ++round) {
        const std::string page = mutated_page(random);
        const std::string whole = described(read(page));
        ASSERT_EQ(described(read(page, {}, 1)), whole) << page;
        ASSERT_EQ(described(read(page, {}, 1 + random.next_below(20))), whole) << page;
    }
}

TEST(CrawlLinks, T50_NestedAndUnclosedTagsTakeLinearTime) {
    for (const std::string_view part :
         {"<a href=x>", "<svg>", "<template>", "<svg><desc>", "<b></svg>", "<title>",
          "<script><!--", "<!--", "<a href='", "</", "<"}) {
        std::string page;
        for (int i = 0; i < 50'000; ++i) {
            page += part;
        }
        const auto start = std::chrono::steady_clock::now();
        static_cast<void>(read(page));
        static_cast<void>(read(page, {}, 7));
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << part;
    }
}

}  // namespace page_links_test
