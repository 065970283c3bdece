// SPDX-License-Identifier: MIT
// Every parameter comes back unchanged, or is refused with a clear error: random values of every
// type, and hostile ones.

#include "support.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;
using pg_test::failed_query;
using pg_test::plain_connection;
using std::chrono::sys_time;
using std::chrono::system_clock;
using microsecond_time = sys_time<std::chrono::microseconds>;

// Random values, the odd ones more often than chance has them.
class random_values {
public:
    explicit random_values(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    std::int64_t integer() {
        // All sizes alike.
        const auto bits = static_cast<std::int64_t>(random_() >> below(64));
        return below(2) == 0 ? bits : -1 - bits;
    }
    double real() {
        switch (below(8)) {
            case 0:
                return std::numeric_limits<double>::infinity();
            case 1:
                return -std::numeric_limits<double>::infinity();
            case 2:
                return -0.0;
            case 3:
                return std::numeric_limits<double>::denorm_min();
            case 4:
                return std::numeric_limits<double>::max();
            default:
                break;
        }
        const auto number = std::bit_cast<double>(random_());
        return std::isnan(number) ? 0.5 : number;
    }
    // UTF-8 of all lengths, with what is special in SQL, in arrays and in escapes.
    std::string text() {
        static const std::vector<std::string> pieces = {
            "'", "\"",   "\\", "\\x", "{",  "}",   ",",  "NULL", "null",
            ";", "--",   "/*", "$1",  "%s", "\n",  "\t", " ",    "",
            "a", "\x7f", "ß",  "漢",  "🙂", "\\'", "''", "$$",   "\x01"};
        std::string result;
        for (std::uint64_t count = below(12); count > 0; --count) {
            result += pieces[below(pieces.size())];
        }
        return result;
    }
    pg::blob bytes() {
        pg::blob result(below(40));
        for (std::byte& each : result) {
            each = static_cast<std::byte>(below(256));
        }
        return result;
    }
    // From 4713 BC to 294246.
    microsecond_time time() {
        const auto span = static_cast<std::int64_t>(
            below(9'223'000'000'000'000'000ULL + 210'866'803'200'000'000ULL));
        return microsecond_time(std::chrono::microseconds(span - 210'866'803'200'000'000));
    }
    system_clock::time_point near_time() {
        return system_clock::time_point(
            std::chrono::microseconds(integer() % 9'000'000'000'000'000));
    }
    template <class Make>
    auto several(Make make) {
        std::vector<decltype(make())> all;
        for (std::uint64_t count = below(6); count > 0; --count) {
            all.push_back(make());
        }
        return all;
    }
    template <class Make>
    auto maybe(Make make) {
        using optional = std::optional<decltype(make())>;
        return below(4) == 0 ? optional() : optional(make());
    }

private:
    std::mt19937_64 random_;
};

template <class T>
void expect_back(plain_connection& server, const char* type, const T& sent) {
    const pg::rows found = server.query(std::string("SELECT $1::") + type, sent);
    EXPECT_EQ(found.one<T>(), sent) << type;
}

TEST(Parameter, EveryTypeComesBackUnchanged) {
    plain_connection server;
    server.query("SET TIME ZONE 'America/St_Johns'");
    random_values random(20'240'229);
    const int rounds = std::getenv("WEIR_STRESS") != nullptr ? 3000 : 100;
    for (int round = 0; round < rounds; ++round) {
        expect_back(server, "boolean", random.below(2) == 0);
        const std::int64_t number = random.integer();
        expect_back(server, "bigint", number);
        expect_back(server, "integer", static_cast<std::int32_t>(number));
        expect_back(server, "smallint", static_cast<std::int16_t>(number));
        expect_back(server, "oid", static_cast<std::uint32_t>(number));
        expect_back(server, "float8", random.real());
        const auto single = static_cast<float>(random.integer());
        expect_back(server, "float4", single / 3);
        expect_back(server, "numeric", static_cast<double>(number) / 1024);
        expect_back(server, "text", random.text());
        expect_back(server, "bytea", random.bytes());
        expect_back(server, "timestamptz", random.time());
        expect_back(server, "timestamp", random.time());
        expect_back(server, "timestamptz", random.near_time());
        expect_back(server, "date", std::chrono::floor<std::chrono::days>(random.time()));
        const auto text = [&] { return random.text(); };
        expect_back(server, "text", random.maybe(text));
        expect_back(server, "text[]", random.several(text));
        expect_back(server, "text[]", random.several([&] { return random.maybe(text); }));
        expect_back(server, "bytea[]", random.several([&] { return random.bytes(); }));
        expect_back(server, "bigint[]", random.several([&] { return random.integer(); }));
        expect_back(server, "float8[]", random.several([&] { return random.real(); }));
        expect_back(server, "boolean[]", random.several([&] { return random.below(2) == 0; }));
        expect_back(server, "timestamptz[]", random.several([&] { return random.time(); }));
        if (HasFailure()) {
            return;
        }
    }
}

TEST(Parameter, TheEndsOfTheRanges) {
    plain_connection server;
    expect_back(server, "bigint", std::numeric_limits<std::int64_t>::min());
    expect_back(server, "bigint", std::numeric_limits<std::int64_t>::max());
    expect_back(server, "timestamptz", system_clock::time_point::max());
    expect_back(server, "timestamptz", system_clock::time_point::min());
    expect_back(server, "date", std::chrono::sys_days::max());
    expect_back(server, "timestamptz", microsecond_time::min());
    EXPECT_TRUE(std::isnan(server.query("SELECT $1::float8", std::nan("")).one<double>()));
    EXPECT_EQ(server.query("SELECT $1::numeric", std::numeric_limits<std::uint64_t>::max())
                  .one<std::string>(),
              "18446744073709551615");
    EXPECT_EQ(server.query("SELECT $1::timestamptz", system_clock::time_point(1999ns))
                  .one<system_clock::time_point>(),
              system_clock::time_point(1us));
    EXPECT_EQ(server.query("SELECT $1::timestamptz", system_clock::time_point(-1ns))
                  .one<system_clock::time_point>(),
              system_clock::time_point(-1us));
    EXPECT_EQ(server.query("SELECT $1::int IS NULL AND $2::text IS NULL", nullptr, std::nullopt)
                  .one<bool>(),
              true);
    EXPECT_EQ(server
                  .query("SELECT count(*) FROM generate_series(1, 9) AS n WHERE n = ANY($1)",
                         std::vector<int>{2, 3, 100})
                  .one<int>(),
              2);
    EXPECT_THROW(pg::parameter(std::chrono::sys_days(std::chrono::days(2'000'000'000))),
                 db::mapping_error);
    static_assert(!std::constructible_from<pg::parameter, int*>);
    static_assert(!std::constructible_from<pg::parameter, char>);
}

TEST(Parameter, InjectionAttemptsAreOnlyText) {
    plain_connection server;
    server.query("CREATE TEMPORARY TABLE kept (body text)");
    const std::vector<std::string> attacks = {
        "'; DROP TABLE kept; --",
        "\\'; DROP TABLE kept; --",
        "' OR '1'='1",
        "$$; DROP TABLE kept; $$",
        "\xbf' OR 1=1 --",  // half a character that hides a quote from escaping by bytes
        "%s%n%d",
        "\\x27",
        "{\"a\",'b'}",
        "\xe2\x80\xae evil",
        std::string(100'000, '\''),
    };
    for (const std::string& each : attacks) {
        try {
            server.query("INSERT INTO kept VALUES ($1)", each);
            EXPECT_EQ(
                server.query("SELECT body FROM kept WHERE body = $1", each).one<std::string>(),
                each);
            expect_back(server, "text[]", std::vector<std::string>{each, each});
        } catch (const failed_query& refused) {
            EXPECT_EQ(refused.sqlstate, "22021") << each;
            EXPECT_EQ(each[0], '\xbf');
        }
    }
    EXPECT_EQ(server.query("SELECT count(*) FROM kept").one<std::size_t>(), attacks.size() - 1);
}

TEST(Parameter, TheServerRefusesInvalidUtf8) {
    plain_connection server;
    for (const char* each :
         {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\x80"}) {
        try {
            server.query("SELECT $1::text", each);
            ADD_FAILURE() << "taken";
        } catch (const failed_query& refused) {
            EXPECT_EQ(refused.sqlstate, "22021");
        }
    }
    EXPECT_EQ(server.query("SELECT 1").one<int>(), 1);
}

TEST(Parameter, RefusesTextWithNul) {
    plain_connection server;
    const std::string with_nul("abc\0'; DROP TABLE kept", 22);
    const auto refusal = [&](auto&&... all) -> std::string {
        try {
            pg::detail::to_parameters(all...);
            return "nothing was refused";
        } catch (const db::mapping_error& refused) {
            return refused.what();
        }
    };
    const std::string expected =
        " contains a NUL, which PostgreSQL does not allow in text; send bytes, for a bytea";
    EXPECT_EQ(refusal(1, with_nul), "parameter $2" + expected);
    EXPECT_EQ(refusal(std::vector<std::string>{"a", with_nul}), "parameter $1" + expected);
    EXPECT_EQ(refusal(std::optional<std::string>(with_nul)), "parameter $1" + expected);
    EXPECT_EQ(refusal(std::vector<pg::parameter>{1, "x", with_nul}), "parameter $3" + expected);
    EXPECT_EQ(refusal(std::vector<pg::parameter>(65'536)),
              "a query has 65536 parameters; PostgreSQL allows at most 65535: pass an array");
    EXPECT_EQ(refusal(std::vector<pg::parameter>(65'535)), "nothing was refused");
    // Into a text by way of bytes: the server has the last word.
    try {
        server.query("SELECT $1::text", pg::blob{std::byte{'a'}, std::byte{0}});
        ADD_FAILURE() << "taken";
    } catch (const failed_query& refused) {
        EXPECT_EQ(refused.sqlstate, "22021");
    }
}

TEST(Parameter, AcceptsTheMostThatPostgresAllows) {
    plain_connection server;
    std::string sql = "SELECT array_length(ARRAY[";
    std::vector<pg::parameter> all;
    for (int number = 1; number <= 65'535; ++number) {
        sql += (number == 1 ? "$" : ",$") + std::to_string(number);
        all.emplace_back(number);
    }
    sql += "], 1)";
    EXPECT_EQ(server.query(sql, std::move(all)).one<int>(), 65'535);
}

TEST(Parameter, AcceptsHugeValues) {
    plain_connection server;
    std::string text(12'000'000, 'x');
    for (std::size_t at = 0; at < text.size(); at += 1000) {
        text[at] = "'\"\\{},"[at / 1000 % 6];
    }
    EXPECT_EQ(server.query("SELECT $1::text", text).one<std::string_view>(), text);
    pg::blob bytes(12'000'000);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        bytes[at] = static_cast<std::byte>(at * 31 >> 3U);
    }
    EXPECT_EQ(server.query("SELECT $1::bytea", bytes).one<pg::blob>(), bytes);
    const std::vector<std::string> two = {text.substr(0, 3'000'000),
                                          text.substr(3'000'000, 3'000'000)};
    EXPECT_EQ(server.query("SELECT $1::text[]", two).one<std::vector<std::string>>(), two);
    // More than a message may hold would cost the connection, so it is not sent.
    try {
        pg::detail::check({std::string(600, 'x'), pg::blob(600)}, 1000);
        ADD_FAILURE() << "taken";
    } catch (const db::mapping_error& refused) {
        EXPECT_STREQ(refused.what(),
                     "parameters up to $2 have 1216 bytes; PostgreSQL allows at most 1000");
    }
}

}  // namespace
