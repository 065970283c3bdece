// SPDX-License-Identifier: MIT
// JSON as text: its parts as they were written, and when two texts mean the same.

#include "base/raw_json.hpp"

#include "support/random_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace raw_json_test {

using weir::base::raw_elements;
using weir::base::raw_member;
using weir::base::same_json;
using weir_test::random_json;

TEST(RawJson, MembersAreAsTheyWereWritten) {
    EXPECT_EQ(raw_member(R"({"a": 1.10 , "b" :[1, {"a": 2}] })", "a"), "1.10");
    EXPECT_EQ(raw_member(R"({"a": 1.10 , "b" :[1, {"a": 2}] })", "b"), R"([1, {"a": 2}])");
    EXPECT_EQ(raw_member(R"({"x": {"a": 1}, "y": "\"a\": 2", "a":true})", "a"), "true");
    EXPECT_EQ(raw_member(R"({"a": 1})", "b"), "");
    EXPECT_EQ(raw_member("{}", "a"), "");
    EXPECT_EQ(raw_member(R"( {"\u0061\u0062": "x\"}"} )", "ab"), R"("x\"}")");
    EXPECT_EQ(raw_member(R"({"\u0061": 1, "a\n": 2, "ab": 3})", "ab"), "3");
    EXPECT_EQ(raw_member(R"({"\u0161": 1})", "a"), "");
    EXPECT_EQ(weir::base::trim_json(" \n[ 1 ]\t\r "), "[ 1 ]");
}

TEST(RawJson, PartsOfRandomDocumentsAreFound) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        random_json random(seed, seed);
        std::vector<std::string> parts;
        std::string array = random.blanks() + "[";
        std::string object = "{";
        for (int i = 0; i < 5; ++i) {
            parts.push_back(random.text());
            array += (i > 0 ? "," : "") + random.blanks() + parts.back() + random.blanks();
            object += (i > 0 ? "," : "") + random.blanks() + "\"m" + std::to_string(i) + "\"" +
                      random.blanks() + ":" + random.blanks() + parts.back() + random.blanks();
        }
        array += "]" + random.blanks();
        object += "}";
        const std::vector<std::string_view> found = raw_elements(array);
        ASSERT_EQ(found.size(), parts.size()) << array;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            EXPECT_EQ(found[i], parts[i]) << array;
            EXPECT_EQ(raw_member(object, "m" + std::to_string(i)), parts[i]) << object;
        }
    }
}

TEST(RawJson, SpellingMakesNoDifference) {
    const std::pair<const char*, const char*> same[] = {
        {"100", "1e2"},
        {"100", "1.00E+02"},
        {"0.5", "5e-1"},
        {"0", "-0.0e5"},
        {"123456789012345678901234", "1.23456789012345678901234e23"},
        {R"("a\u00e9\n")", "\"a\u00e9\\u000A\""},
        {R"("\ud83d\ude00\/")", "\"\U0001f600/\""},
        {R"({"a": 1, "b": [ ]})", R"({"b":[],"\u0061":1.0})"},
    };
    for (const auto& [one, other] : same) {
        EXPECT_TRUE(same_json(one, other)) << one << " and " << other;
    }
    const std::pair<const char*, const char*> different[] = {
        {"1", "-1"},
        {"1", "10"},
        {"0.1", "0.10000000000000000000001"},
        {"123456789012345678901234", "123456789012345678901235"},
        {R"("1")", "1"},
        {"null", "0"},
        {"[]", "{}"},
        {"[1,2]", "[2,1]"},
        {R"({"a":1})", R"({"a":1,"b":null})"},
        {R"(["a","b"])", R"(["a,b"])"},
        {R"({"a":{"b":1}})", R"({"a":{},"b":1})"},
    };
    for (const auto& [one, other] : different) {
        EXPECT_FALSE(same_json(one, other)) << one << " and " << other;
    }
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const std::string one = random_json(seed, seed).text();
        const std::string respelled = random_json(seed, seed + 1).text();
        const std::string changed = "[" + respelled + ",0]";
        EXPECT_TRUE(same_json(one, respelled)) << one << "\n" << respelled;
        EXPECT_FALSE(same_json("[" + one + ",1]", changed)) << one;
    }
}

}  // namespace raw_json_test
