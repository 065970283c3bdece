// SPDX-License-Identifier: MIT
// URLs: one normal form for each, agreement with libcurl, and what is refused.

#include <weir/error.hpp>
#include <weir/http/url.hpp>

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <unordered_set>

using namespace std::string_literals;
using weir::http::url;

namespace {

std::string error_of(std::string_view text) {
    try {
        url::parse(text);
    } catch (const weir::invalid_argument& error) {
        EXPECT_FALSE(url::try_parse(text).has_value());
        return error.what();
    }
    return "it was taken";
}

// A second opinion on what the host is: libcurl's own, of the text that it is given.
std::string curl_host(const std::string& text) {
    CURLU* handle = curl_url();
    char* host = nullptr;
    curl_url_set(handle, CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
    curl_url_get(handle, CURLUPART_HOST, &host, 0);
    std::string found(host != nullptr ? host : "");
    curl_free(host);
    curl_url_cleanup(handle);
    return found;
}

}  // namespace

TEST(Url, HasOneNormalForm) {
    struct {
        std::string_view text;
        std::string_view normal;
    } const cases[] = {
        {"http://example.com", "http://example.com/"},
        {"HTTP://EXAMPLE.Com", "http://example.com/"},
        {"http://example.com:80/", "http://example.com/"},
        {"http://example.com:/", "http://example.com/"},
        {"https://example.com:443/", "https://example.com/"},
        {"https://example.com:80/", "https://example.com:80/"},
        {"http://example.com:0443/", "http://example.com:443/"},
        {"ws://example.com:80/chat", "ws://example.com/chat"},
        {"wss://example.com:443/chat", "wss://example.com/chat"},
        {"wss://0x7f.1:80", "wss://127.0.0.1:80/"},
        {"http://example.com/a/./b/../c", "http://example.com/a/c"},
        {"http://example.com/../../a", "http://example.com/a"},
        {"http://example.com?q", "http://example.com/?q"},
        {"http://example.com#f", "http://example.com/#f"},
        {"http://example.com/?#", "http://example.com/"},
        {"http://example.com/a?b=../c#../d", "http://example.com/a?b=../c#../d"},
        {"http://example.com/a?b?c#d#e", "http://example.com/a?b?c#d#e"},
        {"http://example.com/%7euser/%zz/%", "http://example.com/%7euser/%zz/%"},
        {"http://example.com/ü?ü#ü", "http://example.com/%C3%BC?%C3%BC#%C3%BC"},
        {"http://example.com/\"<>\\^`{|}", "http://example.com/%22%3C%3E/%5E%60%7B%7C%7D"},
        {"http://example.com/a[]?b[]=1", "http://example.com/a[]?b[]=1"},
        {"http://u:p@example.com/", "http://u:p@example.com/"},
        {"http://u@example.com/", "http://u@example.com/"},
        {"http://:p@example.com/", "http://:p@example.com/"},
        {"http://@example.com/", "http://example.com/"},
        {"http://:@example.com/", "http://example.com/"},
        {"http://u:p:w@example.com/", "http://u:p%3Aw@example.com/"},
        {"http://ü[:]@example.com/", "http://%C3%BC%5B:%5D@example.com/"},
        {"http://example.com./", "http://example.com./"},
        {"http://a_b-c.example/", "http://a_b-c.example/"},
        {"http://localhost", "http://localhost/"},
        {"http://[::1]", "http://[::1]/"},
        {"http://[2001:DB8:0:0:0:0:0:1]:80/", "http://[2001:db8::1]/"},
        {"http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"},
        {"http://bücher.example/", "http://xn--bcher-kva.example/"},
        {"http://BÜCHER.example/", "http://xn--bcher-kva.example/"},
        {"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
        {"http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"},
        {"http://ｅｘａｍｐｌｅ。com/", "http://example.com/"},
        {"http://example.com/http://other.com//x", "http://example.com/http://other.com//x"},
        {"http://example.com/@x", "http://example.com/@x"},
        {"http://example.com?@other.com", "http://example.com/?@other.com"},
        {"http://example.com#@other.com", "http://example.com/#@other.com"},
    };
    for (const auto& each : cases) {
        const url read = url::parse(each.text);
        EXPECT_EQ(read.text(), each.normal) << each.text;
        EXPECT_EQ(url::parse(read.text()), read) << "the normal form reads differently";
        const std::string host = curl_host(read.text());
        EXPECT_EQ(host.starts_with('[') ? host.substr(1, host.size() - 2) : host, read.host());
    }
}

// All of these are ways to write 127.0.0.1, and some program takes each.
TEST(Url, SeesAddressesInEverySpelling) {
    for (const std::string_view host : {"127.0.0.1",
                                        "127.0.0.1.",
                                        "127.1",
                                        "127.1.",
                                        "127.0.1",
                                        "2130706433",
                                        "2130706433.",
                                        "0x7f000001",
                                        "0X7F000001",
                                        "0x7f.1",
                                        "0x7F.0x0.0x0.0x1",
                                        "017700000001",
                                        "0177.1",
                                        "0177.0.0.01",
                                        "00000000000000000000177.1",
                                        "%31%32%37.0.0.1",
                                        "127%2e0%2E0.1",
                                        "%30x7f.1",
                                        "１２７.０.０.１",
                                        "１２７。０。０。１",
                                        "①②⑦.0.0.1",
                                        "０ｘ７ｆ.1",
                                        "%EF%BC%91%EF%BC%92%EF%BC%97.1",
                                        "127.0.0.1\u00ad",
                                        "1\u200b27.1"}) {
        const auto read = url::try_parse("http://" + std::string(host) + ":8080/x");
        ASSERT_TRUE(read.has_value()) << host << ": " << error_of("http://" + std::string(host));
        EXPECT_EQ(read->host(), "127.0.0.1") << host;
        EXPECT_TRUE(read->is_ip_literal());
        ASSERT_TRUE(read->address().has_value());
        EXPECT_EQ(*read->address(), weir::io::address::loopback(8080));
    }
    for (const std::string_view host : {"[::ffff:7f00:1]", "[::FFFF:127.0.0.1]",
                                        "[0::ffff:7f00:0001]", "[0:0:0:0:0:FFFF:7F00:1]"}) {
        EXPECT_EQ(url::parse("http://" + std::string(host)).host(), "::ffff:127.0.0.1") << host;
    }
    EXPECT_EQ(url::parse("http://0/").host(), "0.0.0.0");
    EXPECT_EQ(url::parse("http://0x/").host(), "0.0.0.0");
    EXPECT_EQ(url::parse("http://255.0xff.65535/").host(), "255.255.255.255");
    EXPECT_EQ(url::parse("http://1.16777215/").host(), "1.255.255.255");
    EXPECT_EQ(url::parse("http://4294967295/").host(), "255.255.255.255");
    EXPECT_EQ(url::parse("http://[0::0]/").host(), "::");
    EXPECT_FALSE(url::parse("http://a127.0.0.1.example/").is_ip_literal());
    EXPECT_FALSE(url::parse("http://x/").address().has_value());
}

TEST(Url, RefusesWithAReason) {
    struct {
        std::string text;
        std::string_view reason;
    } const cases[] = {
        {"", "it is empty"},
        {"example.com", "no scheme"},
        {"//example.com", "no scheme"},
        {"/path", "no scheme"},
        {"://x", "no scheme"},
        {"ftp://example.com/", "its scheme is 'ftp'"},
        {"file:///etc/passwd", "its scheme is 'file'"},
        {"javascript:alert(1)", "its scheme is 'javascript'"},
        {"gopher://x", "its scheme is 'gopher'"},
        {"dict://127.0.0.1:6379/x", "its scheme is 'dict'"},
        {"http:example.com", "two slashes"},
        {"http:/example.com", "two slashes"},
        {"http:///example.com", "two slashes"},
        {"http://", ""},
        {"http://:80", ""},
        {"http://?", ""},
        {"http://#", ""},
        {"http://@/", ""},
        {" http://example.com", "a space or control character at position 0"},
        {"http://example.com/a b", "at position 20"},
        {"http://example.com/\r\nX: y", "at position 19"},
        {"http://example.com/\t", "at position 19"},
        {"http://exa\0mple.com/"s, "at position 10"},
        {"http://example.com/\x7f", "at position 19"},
        {"http://good\\@evil/", "a backslash before its path"},
        {"http://good\\evil/", "a backslash before its path"},
        {"http:\\\\good/", "two slashes"},
        {"http://a@b@c/", "more than one '@'"},
        {"http://x:0/", "its port is 0"},
        {"http://x:65536/", "65535"},
        {"http://x:+80/", "65535"},
        {"http://x:-1/", "65535"},
        {"http://x:8o/", "65535"},
        {"http://x:99999999999999999999/", "65535"},
        {"http://x:80:80/", ""},
        {"http://256.1.1.1/", "ends in a number"},
        {"http://1.2.3.4.5/", "ends in a number"},
        {"http://4294967296/", "ends in a number"},
        {"http://0x100000000/", "ends in a number"},
        {"http://09.1/", "ends in a number"},
        {"http://example.0x/", "ends in a number"},
        {"http://example.1/", "ends in a number"},
        {"http://example.1./", "ends in a number"},
        {"http://127.0.0.1../", "a label of its host is empty"},
        {"http://a..b/", "a label of its host is empty"},
        {"http://.a/", "a label of its host is empty"},
        {"http://./", "it has no host"},
        {"http://../", "a label of its host is empty"},
        {"http://a|b/", "'|'"},
        {"http://a!b/", ""},
        {"http://a~b/", "'~'"},
        {"http://a%00b/", ""},
        {"http://a%2fb/", ""},
        {"http://a%20b/", ""},
        {"http://a%0ab/", ""},
        {"http://a%zz/", ""},
        {"http://a％2fb/", ""},
        {"http://x／y.com/", "'/'"},  // a full-width slash becomes a real one
        {"http://evil.c℀.good.com/", "'/'"},
        {"http://\xff.com/", "cannot be written in ASCII: it is not UTF-8"},
        {"http://a\u200cb.com/", "cannot be written in ASCII"},
        {"http://\u2665.com/", "cannot be written in ASCII"},
        {"http://%C3%A4%00.com/", "a zero byte"},
        {"http://[::1", ""},
        {"http://[::1]x/", ""},
        {"http://[1:2:3]/", ""},
        {"http://[127.0.0.1]/", ""},
        {"http://[::1%25lo]/", "zone"},
        {"http://[fe80::1%25eth0]/", "zone"},
        {"http://::1/", ""},
        {"http://u:%zz@x/", "invalid percent-encoding"},
        {"http://u%0a:p@x/", "invalid percent-encoding"},
        {"http://" + std::string(64, 'a') + ".com/", "63"},
        {"http://" + std::string(9000, 'a'), "8192"},
        {"http://x/" + std::string(8200, 'a'), "8192"},
        {"http://x/" + std::string(4000, '{'), "8192 bytes in normal form"},
    };
    for (const auto& each : cases) {
        const std::string message = error_of(each.text);
        EXPECT_NE(message.find(" is not a valid URL: "), std::string::npos)
            << each.text << ": " << message;
        EXPECT_NE(message.find(each.reason), std::string::npos) << each.text << ": " << message;
        EXPECT_EQ(message.find_first_of("\r\n\t\x7f"), std::string::npos) << message;
        EXPECT_LT(message.size(), 400u);
    }
    std::string name;
    for (int i = 0; i < 50; ++i) {
        name += "abcde.";
    }
    EXPECT_NE(error_of("http://" + name).find("253"), std::string::npos);
    EXPECT_NE(error_of("http://ü" + std::string(1024, '.')).find("253"), std::string::npos);
    EXPECT_EQ(url::parse("http://x/" + std::string(8183, 'a')).text().size(), url::max_size);
}

TEST(Url, NeverShowsAPassword) {
    for (const std::string_view text :
         {"http://user:secret@x:0/", "http://user:secret@a b/", "http://user:sec/ret@x /",
          "http://user:sec@ret@x/", "user:secret@x", "ftp://user:secret@x/", "//user:secret@x",
          "http:user:secret@x/", "http://user:secret@[::1/"}) {
        const std::string message = error_of(text);
        EXPECT_EQ(message.find("sec"), std::string::npos) << message;
        EXPECT_EQ(message.find("ret"), std::string::npos) << message;
        EXPECT_NE(message.find("***@"), std::string::npos) << message;
    }
    std::ostringstream shown;
    shown << url::parse("http://user:secret@example.com/@x") << ' '
          << url::parse("http://user@example.com/");
    EXPECT_EQ(shown.str(), "http://user:***@example.com/@x http://user@example.com/");
}

TEST(Url, HasParts) {
    const url whole = url::parse("https://us%20er:p%3Aw@Example.com:8443/a%20b?c=d#e");
    EXPECT_EQ(whole.scheme(), "https");
    EXPECT_TRUE(whole.is_secure());
    EXPECT_TRUE(whole.has_credentials());
    EXPECT_EQ(whole.user(), "us er");
    EXPECT_EQ(whole.password(), "p:w");
    EXPECT_EQ(whole.host(), "example.com");
    EXPECT_EQ(whole.port(), 8443);
    EXPECT_FALSE(whole.has_default_port());
    EXPECT_EQ(whole.authority(), "example.com:8443");
    EXPECT_EQ(whole.path(), "/a%20b");
    EXPECT_EQ(whole.query(), "c=d");
    EXPECT_EQ(whole.fragment(), "e");
    EXPECT_EQ(whole.target(), "/a%20b?c=d");
    EXPECT_EQ(whole.origin(), "https://example.com:8443");
    EXPECT_EQ(whole.without_credentials().text(), "https://example.com:8443/a%20b?c=d#e");
    EXPECT_EQ(whole.without_fragment().text(), "https://us%20er:p%3Aw@example.com:8443/a%20b?c=d");
    EXPECT_EQ(whole.without_fragment().fragment(), "");
    EXPECT_EQ(whole.with_query("").without_credentials().text(),
              "https://example.com:8443/a%20b#e");
    EXPECT_EQ(whole.with_query("x=1").target(), "/a%20b?x=1");

    const url plain = url::parse("ws://[::1]");
    EXPECT_EQ(plain.host(), "::1");
    EXPECT_EQ(plain.authority(), "[::1]");
    EXPECT_EQ(plain.port(), 80);
    EXPECT_TRUE(plain.has_default_port());
    EXPECT_FALSE(plain.is_secure());
    EXPECT_FALSE(plain.has_credentials());
    EXPECT_EQ(plain.user() + plain.password(), "");
    EXPECT_EQ(plain.query(), "");
    EXPECT_EQ(plain.fragment(), "");
    EXPECT_EQ(plain.without_credentials(), plain);
    EXPECT_EQ(plain.origin(), "ws://[::1]");
    EXPECT_EQ(plain.address(), weir::io::address::loopback_v6(80));

    const url none;
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.text() + none.origin() + none.user(), "");
    EXPECT_EQ(none.host(), "");
    EXPECT_EQ(none.target(), "");
    EXPECT_THROW(none.resolve("http://x"), weir::invalid_state);
    EXPECT_NE(none, plain);
    const std::unordered_set<url> known{plain, whole, plain};
    EXPECT_EQ(known.size(), 2u);
}

// RFC 3986 section 5.4, and what is found in documents.
TEST(Url, ResolvesReferences) {
    const url base = url::parse("http://a/b/c/d;p?q");
    struct {
        std::string_view reference;
        std::string_view result;
    } const cases[] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y#s"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g#s/./x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
        {"https://Other.com", "https://other.com/"},
        {"//Other.com:8080/x", "http://other.com:8080/x"},
        {"a b?c d#e f", "http://a/b/c/a%20b?c%20d#e%20f"},
        {"./http://x", "http://a/b/c/http://x"},
        {"g?u=http://x/", "http://a/b/c/g?u=http://x/"},
        {"/x:y", "http://a/x:y"},
        {"?x:y", "http://a/b/c/d;p?x:y"},
        {"ü", "http://a/b/c/%C3%BC"},
        {"//0x7f.1/", "http://127.0.0.1/"},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(base.resolve(each.reference).text(), each.result) << each.reference;
        EXPECT_EQ(base.try_resolve(each.reference), base.resolve(each.reference));
    }
    for (const std::string_view bad :
         {"g:h", "mailto:a@b.c", "javascript:void(0)", "//a b/", "data:text/html,x", "//", "tel:1",
          "//x:99999/", "https:", "\\\\"}) {
        EXPECT_FALSE(base.try_resolve(bad).has_value()) << bad;
        EXPECT_THROW(base.resolve(bad), weir::invalid_argument) << bad;
    }
    EXPECT_EQ(base.resolve(std::string(1 << 20, ' ')), base);
    EXPECT_FALSE(base.try_resolve(std::string(url::max_size + 1, 'a')).has_value());
    EXPECT_FALSE(base.try_resolve("g" + std::string(url::max_size, '\n') + "h").has_value());

    const url page = url::parse("http://u:p@a/b?x=/y/z#f");
    EXPECT_EQ(page.resolve("c").text(), "http://u:p@a/c");
    EXPECT_EQ(page.resolve("#g").text(), "http://u:p@a/b?x=/y/z#g");
    EXPECT_EQ(page.resolve("//a/c").text(), "http://a/c");
}

// The text of a parsed URL parses again and means the same, to libcurl, too. Nothing but parse
// errors is thrown.
TEST(Url, ReadsWhatItWrites) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t count) { return random() % count; };
    const std::vector<std::string> pieces = {
        "http", "https", "ws",  "://", "/",     "//",   "?",      "#",  "@",    ":",  "a",
        "b.c",  "127.1", "0x7", "%",   "%41",   "%2e",  "%2f",    "..", ".",    "[",  "]",
        "::1",  "80",    "ü",   "\\",  "[::1]", "x:y@", "\u3002", "１", "xn--", "é.", "%25",
        "|",    " ",     ";",   "=",   "&",     "\x01", "\xff",   "*",  "+",    "~",  "8"};
    int taken = 0;
    for (int round = 0; round < 10'000; ++round) {
        std::string text = below(4) == 0 ? "" : "http://";
        const std::size_t count = 1 + below(8);
        for (std::size_t i = 0; i < count; ++i) {
            text += pieces[below(pieces.size())];
        }
        const auto read = url::try_parse(text);
        if (!read) {
            EXPECT_THROW(url::parse(text), weir::invalid_argument);
            continue;
        }
        ++taken;
        ASSERT_EQ(url::parse(read->text()), *read) << text;
        const url again = url::parse(read->text());
        ASSERT_EQ(again.host(), read->host());
        ASSERT_EQ(again.target(), read->target());
        const std::string host = curl_host(read->text());
        ASSERT_EQ(host.starts_with('[') ? host.substr(1, host.size() - 2) : host, read->host());
        for (const char each : read->text()) {
            ASSERT_TRUE(each > ' ' && each < 0x7f) << text;
        }
        const auto referred = read->try_resolve(text.substr(text.size() / 2));
        if (referred) {
            ASSERT_EQ(url::parse(referred->text()), *referred);
        }
    }
    EXPECT_GT(taken, 500);
}
