// SPDX-License-Identifier: MIT
// The states of the HTML standard's tokenizer, and that the tokens do not depend on the pieces in
// which a page arrives.

#include "crawl/html/tokenizer.hpp"

#include "crawl/html/token_text.hpp"

#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace html_tokenizer_test {

using namespace weir::crawl::detail;
using token_text::tokens;

struct example {
    std::string_view page;
    std::string_view tokens;
};

void expect_tokens(const std::vector<example>& examples) {
    for (const example& each : examples) {
        for (const std::size_t size : {each.page.size() + 1, std::size_t{1}, std::size_t{3}}) {
            EXPECT_EQ(tokens(each.page, size), each.tokens) << each.page << " by " << size;
        }
    }
}

TEST(CrawlTokenizer, Tags) {
    expect_tokens({
        {"<a>", "<a>"},
        {"<A HREF=x>", "<a href='x'>"},
        {"a<b>c</b>d", "a|<b>|c|</b>|d"},
        {"<a/>", "<a/>"},
        {"<a / >", "<a>"},
        {"<a/b>", "<a b=''>"},
        {"</a b=c/>", "</a>"},
        {"<br\n/\n>x", "<br>|x"},
        {"a < b", "a < b"},
        {"<1>", "<1>"},
        {"<>", "<>"},
        {"</>x", "x"},
        {"</ a>x", "<!-- a-->|x"},
        {"<a", ""},
        {"x<", "x<"},
        {"x</", "x</"},
        {"<a b='c", ""},
        {std::string_view("<a\0b>", 5),
         "<a\xEF\xBF\xBD"
         "b>"},
    });
}

TEST(CrawlTokenizer, Attributes) {
    expect_tokens({
        {"<a b=c d='e' f=\"g\" h>", "<a b='c' d='e' f='g' h=''>"},
        {"<a b = c>", "<a b='c'>"},
        {"<a b='c'd=e>", "<a b='c' d='e'>"},
        {"<a b=c/>", "<a b='c/'>"},
        {"<a b=>c", "<a b=''>|c"},
        {"<a =b>", "<a =b=''>"},
        {"<a ==b>", "<a =='b'>"},
        {"<a b=1 B=2>", "<a b='1'>"},
        {"<a b=c=d>", "<a b='c=d'>"},
        {"<a b='>'>", "<a b='>'>"},
        {"<a b=\"'\" c='\"'>", "<a b=''' c='\"'>"},
        {"<a \"b'<=c>", "<a \"b'<='c'>"},
        {"<a b\t\n\f\r=\t'c'>", "<a b='c'>"},
        {"<a b='1\r\n2\r3'>", "<a b='1\n2\n3'>"},
        {std::string_view("<a b=\0>", 7), "<a b='\xEF\xBF\xBD'>"},
    });
}

TEST(CrawlTokenizer, CommentsAndDeclarations) {
    expect_tokens({
        {"<!--a-->b", "<!--a-->|b"},
        {"<!---->b", "<!---->|b"},
        {"<!-->b", "<!---->|b"},
        {"<!--->b", "<!---->|b"},
        {"<!--a--!>b", "<!--a-->|b"},
        {"<!--a--!-->b", "<!--a--!-->|b"},
        {"<!--a--!b-->", "<!--a--!b-->"},
        {"<!--a--->b", "<!--a--->|b"},
        {"<!--a- -- b-->c", "<!--a- -- b-->|c"},
        {"<!--<a href=x>--><b>", "<!--<a href=x>-->|<b>"},
        {"<!--a<!--b-->c-->", "<!--a<!--b-->|c-->"},
        {"<!--a", "<!--a-->"},
        {"<!--a--", "<!--a-->"},
        {"<!a>b", "<!--a-->|b"},
        {"<!->b", "<!----->|b"},
        {"<!docx>b", "<!--docx-->|b"},
        {"<?xml a='>'?>b", "<!--?xml a='-->|'?>b"},
        {"<!DOCTYPE html>b", "<!doctype>|b"},
        {"<!doctype html PUBLIC \"a>b\">", "<!doctype>|b\">"},
        {"<!doctype", "<!doctype>"},
        {"<![CDATA[<a>]]>", "<!--[CDATA[<a-->|]]>"},
        {"<svg><![CDATA[<a>]]></svg>", "<svg>|<a>|</svg>"},
        {"<svg><![CDATA[a]]b]]]></svg>", "<svg>|a]]b]|</svg>"},
        {"<svg><![cdata[<a>", "<svg>|<!--[cdata[<a-->"},
    });
}

TEST(CrawlTokenizer, RawText) {
    expect_tokens({
        {"<title><a>&amp;</a></title><b>", "<title>|<a>&</a>|</title>|<b>"},
        {"<style><a>&amp;</b></style><b>", "<style>|<a>&amp;</b>|</style>|<b>"},
        {"<style></styl></stylee></STYLE >x", "<style>|</styl></stylee>|</style>|x"},
        {"<textarea></textarea/a=b>x", "<textarea>|</textarea>|x"},
        {"<iframe></ iframe></iframe>", "<iframe>|</ iframe>|</iframe>"},
        {"<title></titl", "<title>|</titl"},
        {"<plaintext></plaintext><a>", "<plaintext>|</plaintext><a>"},
    });
}

TEST(CrawlTokenizer, Scripts) {
    expect_tokens({
        {"<script>a<b></script>c", "<script>|a<b>|</script>|c"},
        {"<script><!--</script>c", "<script>|<!--|</script>|c"},
        {"<script><!--<script></script>c", "<script>|<!--<script></script>c"},
        {"<script><!--<script></script>--></script>c",
         "<script>|<!--<script></script>-->|</script>|c"},
        {"<script><!--<script>--></script>c", "<script>|<!--<script>-->|</script>|c"},
        {"<script><!--<scripts></script>c", "<script>|<!--<scripts>|</script>|c"},
        {"<script><!--<script </script x</script>c", "<script>|<!--<script </script x|</script>|c"},
        {"<script><!--></script>c", "<script>|<!-->|</script>|c"},
        {"<script><!-<script></script>c", "<script>|<!-<script>|</script>|c"},
        {"<script><!--a--b--><script></script>c", "<script>|<!--a--b--><script>|</script>|c"},
        {"<script></scrip></script", "<script>|</scrip></script"},
    });
}

std::string random_page(weir::detail::random_source& random, std::size_t parts) {
    constexpr std::string_view words[] = {
        "<",     ">",       "</",        "/>",        "<!--",      "-->",     "--!>",
        "-",     "!",       "<a href=",  "<script>",  "</script>", "<title>", "</title>",
        "<svg>", "</svg>",  "<![CDATA[", "]]>",       "]",         "=",       "\"",
        "'",     " ",       "x",         "&amp",      ";",         "&#x41",   "\n",
        "\r",    "<style>", "</style>",  "<!doctype", "<?",        "\xC3\xA9"};
    std::string page;
    for (std::size_t i = 0; i < parts; ++i) {
        page += words[random.next_below(std::size(words))];
    }
    return page;
}

TEST(CrawlTokenizer, TokensDoNotDependOnThePieces) {
    weir::detail::random_source random(16);
    for (int round = 0; round < 3000; ++round) {
        const std::string page = random_page(random, 40);
        const std::string whole = tokens(page, page.size() + 1);
        for (const std::size_t size : {std::size_t{1}, 1 + random.next_below(9)}) {
            ASSERT_EQ(tokens(page, size), whole) << page << " by " << size;
        }
    }
}

struct position_reader final : html_sink {
    void on_start_tag(const html_tag& tag) override {
        for (std::size_t i = 0; i < tag.size(); ++i) {
            const text_position at = tokenizer->position_of(tag[i]);
            found += std::string(tag[i].name) + "@" + std::to_string(at.line) + ":" +
                     std::to_string(at.column) + " ";
        }
    }
    void on_end_tag(const html_tag&) override {}
    void on_text(std::string_view, bool) override {}
    html_tokenizer* tokenizer = nullptr;
    std::string found;
};

TEST(CrawlTokenizer, PositionsOfValues) {
    const std::string_view page =
        "<p>\n  <a href='x'>\xC3\xA9\xC3\xA9 <a\nid=1\n\nclass = \"2\" href>\n<!--\n--><b c=d>";
    for (const std::size_t size : {page.size(), std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
        position_reader sink;
        html_tokenizer tokenizer(sink);
        sink.tokenizer = &tokenizer;
        tokenizer.begin(true);
        for (std::size_t at = 0; at < page.size(); at += size) {
            tokenizer.feed(page.substr(at, size));
        }
        tokenizer.finish();
        EXPECT_EQ(sink.found, "href@2:12 id@3:4 class@5:10 href@5:13 c@7:9 ") << size;
    }
}

struct tag_counter final : html_sink {
    void on_start_tag(const html_tag& tag) override {
        ++tags;
        attributes += tag.size();
        for (std::size_t i = 0; i < tag.size(); ++i) {
            value_bytes += tag[i].raw_value.size();
            cut += tag[i].is_cut ? 1 : 0;
        }
    }
    void on_end_tag(const html_tag&) override {}
    void on_text(std::string_view, bool) override {}
    std::size_t tags = 0;
    std::size_t attributes = 0;
    std::size_t value_bytes = 0;
    std::size_t cut = 0;
};

tag_counter counted(std::string_view page, std::size_t piece_size) {
    tag_counter sink;
    html_tokenizer tokenizer(sink);
    tokenizer.begin(true);
    for (std::size_t at = 0; at < page.size(); at += piece_size) {
        tokenizer.feed(page.substr(at, piece_size));
    }
    tokenizer.finish();
    return sink;
}

TEST(CrawlTokenizer, T50_ManyTagsAndAttributesTakeLinearTime) {
    std::string nested;
    for (int i = 0; i < 50'000; ++i) {
        nested += "<div><svg><a><table>";
    }
    std::string attributes = "<a";
    for (int i = 0; i < 256'000; ++i) {
        attributes += " a" + std::to_string(i) + "=1";
    }
    attributes += "><b>";
    // Quadratic time would be minutes here.
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(counted(nested, 1).tags, 200'000u);
    EXPECT_EQ(counted(nested, 16'384).tags, 200'000u);
    for (const std::size_t size : {std::size_t{1}, std::size_t{1000}}) {
        const tag_counter found = counted(attributes, size);
        EXPECT_EQ(found.tags, 2u);
        EXPECT_EQ(found.attributes, html_tag::max_attributes);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(CrawlTokenizer, T35_ValuesAreCutAtTheirLimit) {
    const std::string page = "<a href='" + std::string(3 * html_tag::max_value, 'x') + "'><b c=d>";
    const tag_counter found = counted(page, 1000);
    EXPECT_EQ(found.tags, 2u);
    EXPECT_EQ(found.cut, 1u);
    EXPECT_EQ(found.value_bytes, html_tag::max_value + 1);

    std::string many = "<a";
    for (int i = 0; i < 100; ++i) {
        many += " b='" + std::string(html_tag::max_value, 'x') + "'";
    }
    EXPECT_LE(counted(many + ">", 4096).value_bytes, html_tag::max_text + html_tag::max_value);
}

TEST(CrawlTokenizer, NulsInNamesNeedNoStack) {
    const std::string page = "<a " + std::string(1'000'000, '\0') + "=b>";
    EXPECT_EQ(counted(page, page.size()).tags, 1u);
}

}  // namespace html_tokenizer_test
