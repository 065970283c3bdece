// SPDX-License-Identifier: MIT
// URLs as the WHATWG URL standard reads them: no reference leads to another host than in a browser,
// and none is accepted that the standard refuses.

#include <weir/error.hpp>
#include <weir/http/url.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::string_literals;
using weir::http::url;

namespace {

struct reference_case {
    std::string text;
    std::string_view result;  // empty: invalid
};

void expect_results(std::string_view base, const std::vector<reference_case>& cases) {
    const url page = url::parse(base);
    for (const auto& each : cases) {
        const std::optional<url> found = page.try_resolve(each.text);
        EXPECT_EQ(found ? found->text() : "", each.result) << testing::PrintToString(each.text);
        if (found) {
            EXPECT_EQ(url::parse(found->text()), *found) << "the normal form reads differently";
        }
    }
}

// A second opinion on plain references: RFC 3986 section 5.2, as it is written there.
std::string without_dot_segments(std::string input) {
    std::string output;
    const auto drop_last = [&] { output.resize(std::min(output.size(), output.rfind('/'))); };
    while (!input.empty()) {
        if (input.starts_with("../") || input.starts_with("./")) {
            input.erase(0, input.find('/') + 1);
        } else if (input.starts_with("/./") || input == "/.") {
            input.replace(0, std::min<std::size_t>(3, input.size()), "/");
        } else if (input.starts_with("/../") || input == "/..") {
            input.replace(0, std::min<std::size_t>(4, input.size()), "/");
            drop_last();
        } else if (input == "." || input == "..") {
            input.clear();
        } else {
            const std::size_t end = std::min(input.find('/', 1), input.size());
            output += input.substr(0, end);
            input.erase(0, end);
        }
    }
    return output;
}

std::string resolved_by_rfc(const url& base, std::string_view reference) {
    const std::size_t fragment = std::min(reference.find('#'), reference.size());
    const std::size_t query = std::min(reference.substr(0, fragment).find('?'), fragment);
    std::string path(reference.substr(0, query));
    std::string rest(reference.substr(query));
    if (path.empty()) {
        path = base.path();
        if (query == fragment && !base.query().empty()) {
            rest.insert(0, "?" + std::string(base.query()));
        }
    } else if (!path.starts_with('/')) {
        path.insert(0, base.path().substr(0, base.path().rfind('/') + 1));
    }
    const std::string credentials = base.user() + ':' + base.password() + '@';
    return std::string(base.scheme()) + "://" + (base.has_credentials() ? credentials : "") +
           std::string(base.authority()) + without_dot_segments(path) + rest;
}

class text_source {
public:
    explicit text_source(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
    std::size_t below(std::size_t count) { return random_() % count; }
    std::string next(std::size_t most_pieces) {
        std::string text;
        for (std::size_t left = 1 + below(most_pieces); left > 0; --left) {
            text += pieces_[below(pieces_.size())];
        }
        return text;
    }

private:
    std::vector<std::string> pieces_;
    std::mt19937 random_{11};
};

}  // namespace

TEST(UrlStandard, DropsWhatBrowsersDrop) {
    expect_results("http://site.example/dir/page?q#f",
                   {{" /a", "http://site.example/a"},
                    {"\n\t a \r\n", "http://site.example/dir/a"},
                    {"\x01\x1f/a\x01", "http://site.example/a"},
                    {"   ", "http://site.example/dir/page?q"},
                    {" http://other.example/ ", "http://other.example/"},
                    {"/a\tb\nc\rd", "http://site.example/abcd"},
                    {"ht\ntp://oth\ter.exa\r\nmple/", "http://other.example/"},
                    {"/\n/other.example/x", "http://other.example/x"},
                    {"\t//other.example", "http://other.example/"},
                    {"a b?c d#e f", "http://site.example/dir/a%20b?c%20d#e%20f"},
                    {"/a\x01z\x7f", "http://site.example/a%01z%7F"},
                    {"/a\0z"s, "http://site.example/a%00z"},
                    {"java\nscript:alert(1)", ""},
                    {"?", "http://site.example/dir/page"},
                    {"#", "http://site.example/dir/page?q"},
                    {"?a'b#c'd", "http://site.example/dir/page?a%27b#c'd"}});
}

TEST(UrlStandard, TakesBackslashesForSlashes) {
    expect_results(
        "http://site.example/dir/page",
        {{"/\\other.example/x", "http://other.example/x"},
         {"\\/other.example/x", "http://other.example/x"},
         {"\\\\other.example\\x", "http://other.example/x"},
         {"///other.example", "http://other.example/"},
         {"////other.example//x", "http://other.example//x"},
         {"\\x\\y", "http://site.example/x/y"},
         {"x\\..\\y", "http://site.example/dir/y"},
         {"a\\b?c\\d#e\\f", "http://site.example/dir/a/b?c%5Cd#e%5Cf"},
         {"http:\\\\other.example\\@good.example/", "http://other.example/@good.example/"},
         {"http://other.example\\@good.example/", "http://other.example/@good.example/"},
         {"https:\\other.example", "https://other.example/"},
         {"\\\\", ""},
         {"/\\", ""}});
}

TEST(UrlStandard, FindsTheHostWhereBrowsersFindIt) {
    expect_results("http://site.example/dir/page",
                   {{"http:x", "http://site.example/dir/x"},
                    {"http:/x", "http://site.example/x"},
                    {"http:", "http://site.example/dir/page"},
                    {"HTTP:?x", "http://site.example/dir/page?x"},
                    {"http:\\x", "http://site.example/x"},
                    {"http:/\\x", "http://x/"},
                    {"http:///x", "http://x/"},
                    {"https:x", "https://x/"},
                    {"https:/x", "https://x/"},
                    {"https:////x", "https://x/"},
                    {"ws:x/y", "ws://x/y"},
                    {"//a@b@c/", "http://a%40b@c/"},
                    {"//u:p@c:8080/", "http://u:p@c:8080/"},
                    {"//c?@x", "http://c/?@x"},
                    {"//c#@x", "http://c/#@x"},
                    {"//good.example:80@evil.example/", "http://good.example:80@evil.example/"},
                    {"//C.Example:80", "http://c.example/"},
                    {"//exampl%65.org/", "http://example.org/"},
                    {"//example%2ecom/", "http://example.com/"},
                    {"//c:/x", "http://c/x"},
                    {"//c:00000000000000008080/x", "http://c:8080/x"},
                    {"//0x7f.1", "http://127.0.0.1/"},
                    {"//[::1]:80/", "http://[::1]/"},
                    {"1http://x", "http://site.example/dir/1http://x"},
                    {"a b:c", "http://site.example/dir/a%20b:c"},
                    {":a", "http://site.example/dir/:a"},
                    {"//:80/", ""},
                    {"//a@/", ""},
                    {"//a%2fb/", ""},
                    {"//a%00b/", ""},
                    {"//a%zz/", ""},
                    {"//a%", ""},
                    {"//a b/", ""},
                    {"//a<b/", ""},
                    {"//a:b/", ""},
                    {"//a:80:80/", ""},
                    {"//c:65536/", ""},
                    {"//[::1", ""},
                    {"//[::1]x/", ""},
                    {"//[::1%251]/", ""},
                    {"//[0:0:0:0:0:0:0:0:1]/", ""},
                    {"//[::00001]/", ""},
                    {"//[::127.0.0.01]/", ""},
                    {"//1.2.3.4.5/", ""},
                    {"//a.1/", ""},
                    {"//256.256.256.256/", ""}});
}

TEST(UrlStandard, RemovesDotSegments) {
    expect_results("http://site.example/a/b/c",
                   {{"%2e%2E/x", "http://site.example/a/x"},
                    {".%2e/x", "http://site.example/a/x"},
                    {"%2e./x", "http://site.example/a/x"},
                    {"%2e/x", "http://site.example/a/b/x"},
                    {"x/%2e%2e", "http://site.example/a/b/"},
                    {"/x/%2e", "http://site.example/x/"},
                    {"/%2e%2e/%2e%2e/x", "http://site.example/x"},
                    {"/...", "http://site.example/..."},
                    {"/%2e%2e%2e", "http://site.example/%2e%2e%2e"},
                    {"/%2e%2ex", "http://site.example/%2e%2ex"},
                    {"/%252e%252e/x", "http://site.example/%252e%252e/x"},
                    {"/x//..//y", "http://site.example/x//y"},
                    {"/..//x", "http://site.example//x"},
                    {"//d.example/../..", "http://d.example/"},
                    {"http://site.example/%2e%2e/", "http://site.example/"},
                    {"http://site.example//x", "http://site.example//x"},
                    {"http://site.example/./x/../y", "http://site.example/y"},
                    {"http://site.example.org/x", "http://site.example.org/x"},
                    {"http://site.example@other.example/x", "http://site.example@other.example/x"},
                    {"http://site.example:8080/x", "http://site.example:8080/x"},
                    {"http://site.example\\x", "http://site.example/x"},
                    {"http://site.example?x", "http://site.example/?x"},
                    {"http://site.example", "http://site.example/"}});
}

TEST(UrlStandard, ConvertsNamesAsBrowsersDo) {
    expect_results(
        "http://site.example/",
        {{"//faß.example/", "http://xn--fa-hia.example/"},
         {"//FASS.example/", "http://fass.example/"},
         {"//FAẞ.example/", "http://xn--fa-hia.example/"},
         {"//fa%C3%9F.example/", "http://xn--fa-hia.example/"},
         {"//βόλος.example/", "http://xn--nxasmm1c.example/"},
         {"//\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example/",
          "http://xn--mgba3gch31f060k.example/"},  // a joiner where it has a meaning
         {"//\u0dc1\u0dca\u200d\u0dbb\u0dd3.example/", "http://xn--10cl1a0b660p.example/"},
         {"//a\u200cb.example/", ""},
         {"//a\u200db.example/", ""},
         {"//a\u00adb.example/", "http://ab.example/"},
         {"//BÜCHER.example。/", "http://xn--bcher-kva.example./"},
         {"//\uff41\uff0e\uff42/", "http://a.b/"},
         {"//xn--a/", "http://xn--a/"},
         {"//XN--Bcher-KVA.example/", "http://xn--bcher-kva.example/"},
         {"//xn--a.ä/", ""},
         {"//\u2665.example/", ""},  // browsers accept it; IDNA 2008 does not
         {"//\u00a0x/", ""},
         {"//x\u2a7480/", ""},  // '::='
         {"//\ufffd.example/", ""},
         {"//\u0660a.example/", ""}});  // bidirectional text that could be misread
}

TEST(UrlStandard, RefusesWithAReason) {
    const url page = url::parse("http://site.example/");
    const auto error_of = [&](std::string_view reference) -> std::string {
        try {
            page.resolve(reference);
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(error_of("mailto:x@y"),
              "'mailto:***@y' is not a valid reference: its scheme is "
              "'mailto', but must be http, https, ws or wss");
    EXPECT_NE(error_of("data:," + std::string(100'000, 'x')).find("its scheme is 'data'"),
              std::string::npos);
    EXPECT_NE(error_of("http:" + std::string(100'000, 'x')).find("8192"), std::string::npos);
    EXPECT_NE(error_of("//u:secret@x:0/").find("'//u:***@x:0/'"), std::string::npos);
}

TEST(UrlCanonical, HasOneSpelling) {
    const reference_case cases[] = {
        {"HTTP://Example.COM:80", "http://example.com/"},
        {"https://example.com.:443/", "https://example.com/"},
        {"https://example.com.:8443/a", "https://example.com:8443/a"},
        {"http://127.0.0.1./", "http://127.0.0.1/"},
        {"http://exampl%65.org/", "http://example.org/"},
        {"http://x/%7euser/%7Euser", "http://x/~user/~user"},
        {"http://x/%41%62%2d%2E%5f", "http://x/Ab-._"},
        {"http://x/%2f%3b%25%23%3f", "http://x/%2F%3B%25%23%3F"},
        {"http://x/%c3%bc", "http://x/%C3%BC"},
        {"http://x/ü", "http://x/%C3%BC"},
        {"http://x/%257e", "http://x/%257e"},
        {"http://x/%%37e", "http://x/%%37e"},
        {"http://x/%3%37e", "http://x/%3%37e"},
        {"http://x/%zz%7e%", "http://x/%zz~%"},
        {"http://x/%zz%7ea", "http://x/%zz~a"},
        {"http://x/a%2e%2e/%2e%2e/b", "http://x/b"},
        {"http://x//a//b", "http://x//a//b"},
        {"http://x/A", "http://x/A"},
        {"http://x/?b=2&a=1&B=%7e%2b+", "http://x/?b=2&a=1&B=~%2B+"},
        {"http://x/?", "http://x/"},
        {"http://x/#%7e%2f", "http://x/#~%2F"},
        {"http://u%7e:p%40@x./", "http://u~:p%40@x/"},
    };
    for (const auto& each : cases) {
        const url found = url::parse(each.text).canonical();
        EXPECT_EQ(found.text(), each.result) << each.text;
        EXPECT_EQ(found.canonical(), found);
        EXPECT_EQ(url::parse(found.text()).host(), found.host());
        EXPECT_EQ(url::parse(found.text()).target(), found.target());
        EXPECT_EQ(url::parse(found.text()).port(), found.port());
    }
    const url dotted = url::parse("http://u@x.:8080/%7e?%7e#%7e");
    const url found = dotted.canonical();
    EXPECT_EQ(dotted.host(), "x.") << "the original is unchanged";
    EXPECT_EQ(found.user(), "u");
    EXPECT_EQ(found.host(), "x");
    EXPECT_EQ(found.port(), 8080);
    EXPECT_EQ(found.authority(), "x:8080");
    EXPECT_EQ(found.path(), "/~");
    EXPECT_EQ(found.query(), "~");
    EXPECT_EQ(found.fragment(), "~");
    EXPECT_TRUE(url().canonical().empty());
}

TEST(UrlCanonical, IsItsOwnCanonicalForm) {
    text_source source({"%",  "%7e",      "%7E", "%2", "5", "%25", "e",   "7",   "%%", "/",
                        "..", ".",        "%2e", "?",  "#", "a",   "~",   "%41", "%4", "1",
                        "\\", "\xc3\xa4", "%C3", "&",  "=", "%30", "%37", "%65", " ",  "'"});
    const url base = url::parse("http://site.example./x/");
    for (int round = 0; round < 20'000; ++round) {
        const std::string text = source.next(10);
        const std::optional<url> found = base.try_resolve(text);
        if (!found) {
            continue;
        }
        const url canonical = found->canonical();
        ASSERT_EQ(canonical.canonical(), canonical) << text;
        ASSERT_EQ(url::parse(canonical.text()), canonical) << text;
        ASSERT_EQ(url::parse(canonical.text()).path(), canonical.path()) << text;
        ASSERT_EQ(url::parse(canonical.text()).query(), canonical.query()) << text;
    }
}

TEST(UrlStandard, AgreesWithTheRfcOnPlainReferences) {
    text_source source({"/",   "a",   "b.html", ".", "..", "?",  "&x=1", "#", "-", "/../", "/./",
                        "%20", "%41", "index",  "~", "//", ";v", "@",    "(", "+", "=",    "//.."});
    const std::vector<url> bases = {
        url::parse("http://site.example/"), url::parse("http://site.example/a/b/c?d=e"),
        url::parse("https://u:p@site.example:8443/a/?x/y/#z"), url::parse("ws://127.0.0.1/a//b")};
    for (int round = 0; round < 30'000; ++round) {
        const url& base = bases[source.below(bases.size())];
        std::string reference = source.next(8);
        if (reference.starts_with("//")) {  // a host
            reference.insert(0, "..");
        }
        const std::optional<url> found = base.try_resolve(reference);
        ASSERT_TRUE(found.has_value()) << base << ' ' << reference;
        ASSERT_EQ(*found, url::parse(resolved_by_rfc(base, reference))) << base << ' ' << reference;
        ASSERT_EQ(base.try_resolve(found->text()), found) << base << ' ' << reference;
    }
}

// What the strict parse accepts means the same as a reference, wherever it is found.
TEST(UrlStandard, StrictAndLenientParsingAgree) {
    text_source source({"http",
                        "https",
                        "ws",
                        "://",
                        "/",
                        "//",
                        "?",
                        "#",
                        "@",
                        ":",
                        "a",
                        "b.c",
                        "127.1",
                        "0x7",
                        "%",
                        "%41",
                        "%2e",
                        "..",
                        ".",
                        "[::1]",
                        "80",
                        "ü",
                        "\\",
                        "x:y@",
                        "\u3002",
                        "xn--",
                        "%25",
                        " ",
                        "\t",
                        "\n",
                        "site.example",
                        "ß"});
    const std::vector<url> bases = {url::parse("http://site.example/x"),
                                    url::parse("https://u:p@a:80/"), url::parse("ws://127.0.0.1/")};
    int accepted = 0;
    for (int round = 0; round < 30'000; ++round) {
        const std::string text = (source.below(3) == 0 ? "" : "http://") + source.next(7);
        const std::optional<url> strict = url::try_parse(text);
        const std::optional<url> lenient = bases[source.below(bases.size())].try_resolve(text);
        if (strict) {
            ++accepted;
            ASSERT_EQ(lenient, strict) << text;
        }
        if (lenient) {
            ASSERT_EQ(url::parse(lenient->text()), *lenient) << text;
            ASSERT_EQ(lenient->try_resolve(lenient->text()), lenient) << text;
        }
        // The way to the same site that needs no parsing of the host agrees with the long way.
        const std::string same_site = "http://site.example" + text;
        ASSERT_EQ(bases[0].try_resolve(same_site), bases[2].try_resolve(same_site)) << same_site;
    }
    EXPECT_GT(accepted, 1000);
}
