// SPDX-License-Identifier: MIT
// JSON in and out: valid and malformed input, the messages of errors, and conversion to types.

#include <weir/error.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/testing/testing.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir_json_test {

namespace bj = boost::json;

struct point {
    int x = 0;
    int y = 0;
};
point tag_invoke(bj::value_to_tag<point>, const bj::value& from) {
    return {weir::http::member<int>(from, "x"),
            weir::http::optional_member<int>(from, "y").value_or(0)};
}
void tag_invoke(bj::value_from_tag, bj::value& to, const point& from) {
    to = {{"x", from.x}, {"y", from.y}};
}

// One that knows nothing of problems.
struct plain {
    std::string name;
};
plain tag_invoke(bj::value_to_tag<plain>, const bj::value& from) {
    return {bj::value_to<std::string>(from.at("name"))};
}

}  // namespace weir_json_test

namespace {

namespace bj = boost::json;
using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;
using weir_json_test::plain;
using weir_json_test::point;

// 'status: text' of the problem, or the value.
template <class Ask>
std::string said_by(Ask ask) {
    try {
        return bj::serialize(bj::value_from(ask()));
    } catch (const http::problem& error) {
        return std::to_string(number_of(error.code())) + ": " + error.what();
    }
}

TEST(Json, IsWrittenAsPeopleWriteIt) {
    for (const char* text : {"0.5", "30.0", "-1.0", "1e+100", "0.1", "3.5", "[]", "{}", "[[],{}]",
                             R"({"a":[1,2.5,null,true,""],"b":{"c":"\"\\\n"}})",
                             "18446744073709551615", "-9223372036854775808"}) {
        EXPECT_EQ(http::to_json(http::parse_json(text)), text);
    }
    // Digits enough for every number to come back.
    std::mt19937_64 random(5);
    for (int i = 0; i < 2000; ++i) {
        const double number = std::bit_cast<double>(random());
        if (std::isfinite(number)) {
            const auto back = http::parse_json(http::to_json(number));
            ASSERT_TRUE(back.is_double());
            // Boost's parser is off by the last digit now and then.
            ASSERT_NEAR(back.get_double() / number, 1, 1e-15);
        }
    }
}

// Boost's parser may give the neighbour of the nearest double.
TEST(Json, NumbersAreTheNearestThereAre) {
    EXPECT_EQ(http::parse_json("5.282345227897166e-9").as_double(), 5.282345227897166e-9);
    EXPECT_EQ(http::parse_json("3.9181316758123315e18").as_double(), 3.9181316758123315e18);
    std::mt19937_64 random(1);
    for (int i = 0; i < 5000; ++i) {
        const auto number = std::bit_cast<double>(random());
        if (std::isfinite(number)) {
            char digits[32];
            const std::string text(digits, std::to_chars(digits, digits + 32, number).ptr);
            EXPECT_EQ(http::parse_json("[" + text + "]").at(0).to_number<double>(), number) << text;
        }
    }
}

TEST(Json, SaysWhereItIsNone) {
    const std::string deep(33, '[');
    const struct {
        std::string text;
        std::string_view expected;
    } cases[] = {
        {R"({"a": [1, -2, 3.5, true, null, "\u00e9"]})",
         "{\"a\":[1,-2,3.5E0,true,null,\"\xc3\xa9\"]}"},
        {" 7 \n", "7"},
        {"18446744073709551615", "18446744073709551615"},
        {std::string(31, '[') + std::string(31, ']'), "as given"},
        {"", "400: invalid JSON at line 1, column 1: it is incomplete"},
        {" \n ", "400: invalid JSON at line 2, column 2: it is incomplete"},
        {"{\"a\":1", "400: invalid JSON at line 1, column 7: it is incomplete"},
        {"[1,]", "400: invalid JSON at line 1, column 4: syntax error"},
        {"{\n \"a\": x}", "400: invalid JSON at line 2, column 7: syntax error"},
        {"{'a':1}", "400: invalid JSON at line 1, column 2: syntax error"},
        {"[1 /* no */]", "400: invalid JSON at line 1, column 4: syntax error"},
        {"1 2", "400: invalid JSON at line 1, column 3: unexpected text after the end"},
        {"NaN", "400: invalid JSON at line 1, column 1: syntax error"},
        {"1e400", "400: invalid JSON at line 1, column 6: the number is too large"},
        {"[-1e999]", "400: invalid JSON at line 1, column 8: the number is too large"},
        {"\"\xff\"", "400: invalid JSON at line 1, column 2: syntax error"},
        {"\"\\ud800\"", "400: invalid JSON at line 1, column 8: syntax error"},
        {"\xef\xbb\xbf{}", "400: invalid JSON at line 1, column 1: syntax error"},
        {deep, "400: invalid JSON at line 1, column 33: it is nested more than 32 levels deep"},
        {R"({"a":1,"b":2,"a":3})",
         "400: invalid JSON at line 1, column 19: the key 'a' occurs twice in one object"},
        {R"({"a":{"x":1},"b":{"x":1}})", R"({"a":{"x":1},"b":{"x":1}})"},
        {R"([{"":1,"":2}])",
         "400: invalid JSON at line 1, column 12: the key '' occurs twice in one object"},
        {R"({"ab":1,"\u0061b":2})",
         "400: invalid JSON at line 1, column 20: the key 'ab' occurs twice in one object"},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(said_by([&] { return http::parse_json(each.text); }),
                  each.expected == "as given" ? std::string_view(each.text) : each.expected)
            << each.text;
    }
    EXPECT_EQ(
        said_by([] { return http::parse_json("{\"a\":1,\"a\":2}", {.allow_duplicates = true}); }),
        "{\"a\":2}");
    EXPECT_EQ(said_by([] { return http::parse_json("[[1]]", {.max_depth = 1}); }),
              "400: invalid JSON at line 1, column 2: it is nested more than 1 levels deep");
}

WEIR_TEST(Json, IsReadFromRequests) {
    const struct {
        std::string_view type;
        std::string_view body;
        status code;
    } cases[] = {
        {"application/json", "{}", status::ok},
        {"Application/JSON; charset=UTF-8", "{}", status::ok},
        {"application/json;charset=\"utf-8\" ; x=y", "{}", status::ok},
        {"application/vnd.api+json", "{}", status::ok},
        {"application/json; charset=latin1", "{}", status::unsupported_media_type},
        {"application/jsonp", "{}", status::unsupported_media_type},
        {"text/json", "{}", status::unsupported_media_type},
        {"text/plain", "{}", status::unsupported_media_type},
        {"+json", "{}", status::unsupported_media_type},
        {"", "{}", status::unsupported_media_type},
        {"application/json", "", status::bad_request},
        {"application/json", "{}   ", status::content_too_large},
    };
    for (const auto& each : cases) {
        request incoming(method::post, "/");
        if (!each.type.empty()) {
            incoming.headers().set("Content-Type", each.type);
        }
        incoming.set_body(std::string(each.body));
        const http::json_options options{.max_bytes = 4};
        status code = status::ok;
        try {
            const bj::value value = co_await http::read_json(incoming, options);
            EXPECT_TRUE(value.is_object());
        } catch (const http::problem& error) {
            code = error.code();
        }
        EXPECT_EQ(number_of(code), number_of(each.code)) << each.type << ' ' << each.body;
    }
    request untyped(method::post, "/");
    untyped.set_body("[1]");
    const bj::value value = co_await http::read_json(untyped, {.any_content_type = true});
    EXPECT_EQ(value, bj::parse("[1]"));
}

WEIR_TEST(Json, BecomesTypes) {
    const auto ask = [](std::string body) -> task<std::string> {
        request incoming(method::post, "/");
        incoming.headers().set("Content-Type", "application/json");
        incoming.set_body(std::move(body));
        try {
            const auto points = co_await http::read_json<std::vector<point>>(incoming);
            co_return bj::serialize(bj::value_from(points));
        } catch (const http::problem& error) {
            co_return std::to_string(number_of(error.code())) + ": " + error.what();
        }
    };
    const struct {
        std::string_view body;
        std::string_view expected;
    } cases[] = {
        {R"([{"x":1,"y":2},{"x":3,"y":null},{"x":4}])",
         R"([{"x":1,"y":2},{"x":3,"y":0},{"x":4,"y":0}])"},
        {"[{}]", "422: the member 'x' is missing"},
        {"[7]", "422: a JSON object is expected"},
        {"7", "422: the JSON must be of another type"},
        {R"([{"x":"1"}])", "422: the member 'x' must be an integer from -2147483648 to 2147483647"},
        {R"([{"x":1.5}])", "422: the member 'x' must be an integer from -2147483648 to 2147483647"},
        {R"([{"x":1,"y":4000000000}])",
         "422: the member 'y' must be an integer from -2147483648 to 2147483647"},
    };
    for (const auto& each : cases) {
        const std::string answer = co_await ask(std::string(each.body));
        EXPECT_EQ(answer, each.expected);
    }
}

TEST(Json, MembersAreNamed) {
    const bj::value document = bj::parse(
        R"({"s":"text","b":true,"n":-1,"d":0.5,"p":{"x":"no"},"l":[1,2],"q":{"name":5},"z":null})");
    EXPECT_EQ(http::member<std::string>(document, "s"), "text");
    EXPECT_EQ(http::member<double>(document, "d"), 0.5);
    EXPECT_TRUE(http::member<bool>(document, "b"));
    EXPECT_EQ(http::member<std::vector<int>>(document, "l"), (std::vector{1, 2}));
    EXPECT_TRUE(http::member<bj::value>(document, "z").is_null());
    EXPECT_EQ(http::optional_member<int>(document, "z"), std::nullopt);
    EXPECT_EQ(http::optional_member<int>(document, "none"), std::nullopt);
    EXPECT_EQ(http::optional_member<int>(document, "n"), -1);
    EXPECT_EQ(said_by([&] { return http::member<std::string>(document, "n"); }),
              "422: the member 'n' must be a string");
    EXPECT_EQ(said_by([&] { return http::member<bool>(document, "n"); }),
              "422: the member 'n' must be true or false");
    EXPECT_EQ(said_by([&] { return http::member<double>(document, "s"); }),
              "422: the member 's' must be a number");
    EXPECT_EQ(said_by([&] { return http::member<std::uint64_t>(document, "n"); }),
              "422: the member 'n' must be an integer from 0 to 18446744073709551615");
    EXPECT_EQ(said_by([&] { return http::member<point>(document, "p"); }),
              "422: in 'p': the member 'x' must be an integer from -2147483648 to 2147483647");
    EXPECT_EQ(said_by([&] { return http::member<point>(document, "q").x; }),
              "422: in 'q': the member 'x' is missing");
    EXPECT_EQ(said_by([&] { return http::member<plain>(document, "p").name; }),
              "422: the member 'p' must be of another type");
    EXPECT_EQ(said_by([&] { return http::json_to<plain>(document).name; }),
              "422: the JSON must be of another type");
    EXPECT_EQ(http::member<plain>(bj::parse(R"({"q":{"name":"n"}})"), "q").name, "n");
}

TEST(Json, IsAnswered) {
    const response answer = http::json({{"id", 7}, {"list", {1, 2}}}, status::created);
    EXPECT_EQ(answer.status(), status::created);
    EXPECT_EQ(answer.content_type(), "application/json");
    EXPECT_EQ(answer.body().text(), R"({"id":7,"list":[1,2]})");
    EXPECT_EQ(http::json(point{1, 2}).body().text(), R"({"x":1,"y":2})");
    EXPECT_EQ(http::json(std::vector<point>{{1, 2}}).body().text(), R"([{"x":1,"y":2}])");
    EXPECT_EQ(http::json(std::map<std::string, bool>{{"a", true}}).body().text(), R"({"a":true})");
    EXPECT_EQ(http::json("text").body().text(), R"("text")");
    EXPECT_EQ(http::json(std::string("text")).body().text(), R"("text")");
    EXPECT_EQ(http::json(nullptr).body().text(), "null");
    EXPECT_EQ(http::json(true).body().text(), "true");
    EXPECT_EQ(http::json({{"a", {NAN, 1, {{"b", INFINITY}}}}}).body().text(),
              R"({"a":[null,1,{"b":null}]})");
}

TEST(Json, AnyTextIsReadOrRefused) {
    std::mt19937 random(3);
    const std::string_view letters = "{}[]\",:0123456789eE+-.\\untrfalse \n\x80\xc3\xa9";
    int taken = 0;
    for (int round = 0; round < 8'000; ++round) {
        std::string text = R"({"a":[1,2.5,{"b":"c\u00e9"}],"d":null,"e":true})";
        for (unsigned change = random() % 4; change > 0; --change) {
            const std::size_t at = random() % text.size();
            if (random() % 3 == 0) {
                text.erase(at, 1);
            } else {
                text.insert(at, 1, letters[random() % letters.size()]);
            }
        }
        try {
            const bj::value value = http::parse_json(text);
            EXPECT_EQ(http::parse_json(http::to_json(value)), value) << text;
            ++taken;
            bj::error_code error;
            EXPECT_EQ(bj::parse(text, error), value) << text;  // the library agrees
        } catch (const http::problem& error) {
            EXPECT_EQ(error.code(), status::bad_request);
        }
    }
    EXPECT_GT(taken, 1500);
}

}  // namespace
