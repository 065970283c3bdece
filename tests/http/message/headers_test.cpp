// SPDX-License-Identifier: MIT
// Header fields: what set() replaces, and values that refer to the headers themselves.

#include <weir/error.hpp>
#include <weir/http/headers.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weir;

TEST(Headers, MayBeGivenTheirOwnText) {
    http::headers fields;
    fields.add("A", "some text that is long enough");
    for (int i = 0; i < 100; ++i) {  // the text moves, now and then
        fields.add(fields[0].name, fields.get("a"));
        fields.set("B", fields.get("A"));
        fields.set_default("C" + std::to_string(i), fields.get("B"));
    }
    EXPECT_EQ(fields.count("A"), 101u);
    EXPECT_EQ(fields.count("B"), 1u);
    EXPECT_EQ(fields.size(), 202u);
    for (const auto& [name, value] : fields) {
        EXPECT_EQ(value, "some text that is long enough") << name;
    }
    fields.set(fields[0].name, fields[7].value);
    EXPECT_EQ(fields.size(), 102u);
}

TEST(Headers, SetReplacesAllAndKeepsTheRest) {
    http::headers fields{{"A", "1"}, {"b", "2"}, {"a", "3"}};
    fields.set("A", "");
    EXPECT_EQ(fields.size(), 2u);
    EXPECT_EQ(fields.find("a"), "");
    EXPECT_EQ(fields[0].name, "b");
    EXPECT_THROW(fields.set("b", "x\n"), invalid_argument);
    EXPECT_THROW(fields.set("", "x"), invalid_argument);
    EXPECT_EQ(fields.get("B"), "2");
    EXPECT_EQ(fields.size(), 2u);
}

}  // namespace
