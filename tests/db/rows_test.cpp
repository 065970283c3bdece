// SPDX-License-Identifier: MIT
// What the rows of all databases have in common, on rows that need no database.

#include <weir/db/error.hpp>
#include <weir/db/rows.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace db = weir::db;

struct text_value {
    std::string text;
    template <class T>
    T as() const {
        if constexpr (std::is_same_v<T, int>) {
            return std::stoi(text);
        } else {
            return text;
        }
    }
};

class text_row : public db::readable_row<text_row> {
public:
    explicit text_row(std::vector<std::string> values) : values_(std::move(values)) {}
    std::size_t size() const noexcept { return values_.size(); }
    text_value operator[](std::size_t column) const {
        if (column >= size()) {
            db::detail::throw_no_column(column, size());
        }
        return {values_[column]};
    }
    text_value operator[](std::string_view column) const {
        if (column != "first") {
            db::detail::throw_no_column(column, {"first", "second"});
        }
        return {values_[0]};
    }

private:
    std::vector<std::string> values_;
};

class text_rows : public db::readable_rows<text_rows, text_row> {
public:
    explicit text_rows(std::vector<std::vector<std::string>> rows) : rows_(std::move(rows)) {}
    std::size_t size() const noexcept { return rows_.size(); }
    text_row operator[](std::size_t index) const noexcept { return text_row(rows_[index]); }

private:
    std::vector<std::vector<std::string>> rows_;
};

struct pair_of_both {
    int number;
    std::string text;
};

template <class Function>
std::string message_of(Function function) {
    try {
        function();
    } catch (const db::mapping_error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Rows, AreReadByPositionAndName) {
    const text_row row({"7", "seven"});
    EXPECT_EQ(row.get<int>(std::size_t{0}), 7);
    EXPECT_EQ(row.get<std::string>(std::size_t{1}), "seven");
    EXPECT_EQ(row.get<int>("first"), 7);
    EXPECT_EQ(message_of([&] { row.get<int>(std::size_t{2}); }),
              "column 2 does not exist: the row has 2 columns");
    EXPECT_EQ(message_of([&] { row.get<int>("third"); }),
              "column 'third' does not exist; the columns are first, second");
}

TEST(Rows, BecomeStructs) {
    const text_rows rows({{"1", "one"}, {"2", "two"}});
    const auto all = rows.as<pair_of_both>();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1].number, 2);
    EXPECT_EQ(all[1].text, "two");
    EXPECT_EQ(rows.first<pair_of_both>()->text, "one");
    EXPECT_EQ(message_of([&] { rows.as<int>(); }), "a row of 2 columns cannot be read as 1 member");
}

TEST(Rows, OneExpectsExactlyOneRow) {
    EXPECT_EQ(text_rows({{"5"}}).one<int>(), 5);
    EXPECT_EQ(message_of([] { text_rows({}).one<int>(); }),
              "one row was expected, but there are 0");
    EXPECT_EQ(message_of([] { text_rows({{"1"}, {"2"}}).one<int>(); }),
              "one row was expected, but there are 2");
    EXPECT_EQ(text_rows({}).first<int>(), std::nullopt);
    EXPECT_TRUE(text_rows({}).empty());
}

TEST(Rows, CanBeIterated) {
    int sum = 0;
    for (const text_row each : text_rows({{"1"}, {"2"}, {"3"}})) {
        sum += each.as<int>();
    }
    EXPECT_EQ(sum, 6);
}

}  // namespace
