// SPDX-License-Identifier: MIT
// Ranges of bytes, against a table and a plain model.

#include "http/files/ranges.hpp"

#include <weir/http/date.hpp>
#include <weir/http/request.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace http = weir::http;
using http::detail::byte_range;
using http::detail::choose_ranges;
using http::detail::range_choice;

std::string show(std::string_view header, std::uint64_t size, std::size_t most = 4) {
    std::vector<byte_range> chosen;
    switch (choose_ranges(header, size, most, chosen)) {
        case range_choice::whole:
            EXPECT_TRUE(chosen.empty());
            return "whole";
        case range_choice::unsatisfiable:
            EXPECT_TRUE(chosen.empty());
            return "unsatisfiable";
        case range_choice::parts:
            break;
    }
    std::string all;
    for (const byte_range& each : chosen) {
        all += (all.empty() ? "" : " ") + std::to_string(each.first) + "-" +
               std::to_string(each.first + each.size - 1);
    }
    return all;
}

TEST(Ranges, FollowTheTable) {
    EXPECT_EQ(show("bytes=0-0", 10), "0-0");
    EXPECT_EQ(show("bytes=0-", 10), "0-9");
    EXPECT_EQ(show("bytes=9-", 10), "9-9");
    EXPECT_EQ(show("bytes=2-100", 10), "2-9");
    EXPECT_EQ(show("bytes=-3", 10), "7-9");
    EXPECT_EQ(show("bytes=-30", 10), "0-9");
    EXPECT_EQ(show("BYTES=0-1", 10), "0-1");
    EXPECT_EQ(show("bytes=0-1, 4-5", 10), "0-1 4-5");
    EXPECT_EQ(show("bytes= 4-5\t,,\t0-1 ,", 10), "4-5 0-1");  // in the order of asking
    EXPECT_EQ(show("bytes=0-1,2-3", 10), "0-1 2-3");          // neighbours do not overlap
    EXPECT_EQ(show("bytes=0-1,10-,99-100", 10), "0-1");       // what is not there is left out
    EXPECT_EQ(show("bytes=0-18446744073709551615", 10), "0-9");
    EXPECT_EQ(show("bytes=0-99999999999999999999999999", 10), "0-9");
    EXPECT_EQ(show("bytes=-99999999999999999999999999", 10), "0-9");
    EXPECT_EQ(show("bytes=18446744073709551614-", UINT64_MAX),
              "18446744073709551614-"
              "18446744073709551614");

    for (const char* each : {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=10-,11-12,-0",
                             "bytes=99999999999999999999999999-"}) {
        EXPECT_EQ(show(each, 10), "unsatisfiable") << each;
    }
    for (const char* each : {"",
                             "bytes",
                             "bytes=",
                             "bytes=,",
                             "bytes= ,, ",
                             "bytes=-",
                             "bytes=1",
                             "bytes=a-b",
                             "bytes=5-4",
                             "bytes=0-1,5-4",
                             "bytes=0-1,x",
                             "bytes=0--1",
                             "bytes=+1-2",
                             "bytes=0x1-2",
                             "bytes=1 - 2",
                             "bytes=1- 2",
                             "bytes =0-1",
                             " bytes=0-1",
                             "lines=0-1",
                             "bytes:0-1",
                             "bytes=0-1;2-3",
                             "bytes=0-1 2-3",
                             "bytes=--5",
                             "bytes=1-2-3"}) {
        EXPECT_EQ(show(each, 10), "whole") << each;
    }
    EXPECT_EQ(show("bytes=0-5,5-6", 10), "whole");  // a byte twice
    EXPECT_EQ(show("bytes=0-0,-10", 10), "whole");
    EXPECT_EQ(show("bytes=0-0,2-2,4-4,6-6", 10), "0-0 2-2 4-4 6-6");
    EXPECT_EQ(show("bytes=0-0,2-2,4-4,6-6,8-8", 10), "whole");  // too many
    EXPECT_EQ(show("bytes=90-,90-,90-,90-,90-", 10), "whole");  // also of what is not there
    EXPECT_EQ(show("bytes=0-0", 0), "whole");                   // an empty file has no ranges
    EXPECT_EQ(show("bytes=-5", 0), "whole");
    EXPECT_EQ(http::detail::content_range({2, 3}, 10), "bytes 2-4/10");
    EXPECT_EQ(http::detail::content_range_of_none(10), "bytes */10");
}

// By the letter, and byte by byte.
std::string model(const std::string& header, std::uint64_t size, std::size_t most) {
    static const std::regex whole("[Bb][Yy][Tt][Ee][Ss]=(.*)");
    static const std::regex one("[ \t]*(?:([0-9]+)-([0-9]*)|-([0-9]+))[ \t]*");
    std::smatch parts;
    if (size == 0 || !std::regex_match(header, parts, whole)) {
        return "whole";
    }
    const std::string list = parts[1].str() + ",";
    std::vector<int> taken(size);
    std::string all;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = list.find(',', begin);
        const std::string each = list.substr(begin, end - begin);
        begin = end + 1;
        if (each.find_first_not_of(" \t") == std::string::npos) {
            continue;
        }
        std::smatch found;
        if (!std::regex_match(each, found, one)) {
            return "whole";
        }
        ++count;
        const double none = -1;
        const double first = found[1].matched ? std::stod(found[1]) : none;
        const double last = found[2].matched && found[2].length() > 0 ? std::stod(found[2]) : 1e300;
        const double suffix = found[3].matched ? std::stod(found[3]) : none;
        if (last < first) {
            return "whole";
        }
        std::optional<std::uint64_t> from;
        std::uint64_t to = 0;
        for (std::uint64_t i = 0; i < size; ++i) {
            const auto place = static_cast<double>(i);
            const bool is_in = suffix != none ? place >= static_cast<double>(size) - suffix
                                              : place >= first && place <= last;
            if (is_in) {
                from = from.value_or(i);
                to = i;
                ++taken[i];
            }
        }
        if (from) {
            all += (all.empty() ? "" : " ") + std::to_string(*from) + "-" + std::to_string(to);
        }
    }
    if (count == 0 || count > most ||
        std::any_of(taken.begin(), taken.end(), [](int times) { return times > 1; })) {
        return "whole";
    }
    return all.empty() ? "unsatisfiable" : all;
}

TEST(Ranges, AgreeWithAPlainModel) {
    std::mt19937 random(20261);
    const auto below = [&](unsigned limit) { return random() % limit; };
    int parts = 0;
    for (int round = 0; round < 6000; ++round) {
        const std::uint64_t size = below(3) == 0 ? below(4) : below(60);
        std::string header = "bytes=";
        for (unsigned count = 1 + below(4); count > 0; --count) {
            const unsigned first = below(70);
            switch (below(4)) {
                case 0:
                    header += std::to_string(first) + "-";
                    break;
                case 1:
                    header += "-" + std::to_string(below(20));
                    break;
                default:
                    header += std::to_string(first) + "-" + std::to_string(first + below(9));
            }
            if (count > 1) {
                header += below(2) == 0 ? "," : " , ";
            }
        }
        for (unsigned mutations = below(3) == 0 ? 1 + below(3) : 0; mutations > 0; --mutations) {
            constexpr std::string_view letters = "0123456789-,= \tbB;";
            const char letter = letters[below(static_cast<unsigned>(letters.size()))];
            const std::size_t at = below(static_cast<unsigned>(header.size()));
            switch (below(3)) {
                case 0:
                    header.insert(at, 1, letter);
                    break;
                case 1:
                    header.erase(at, 1);
                    break;
                default:
                    header[at] = letter;
            }
        }
        const std::string expected = model(header, size, 3);
        parts += expected[0] >= '0' && expected[0] <= '9' ? 1 : 0;
        ASSERT_EQ(show(header, size, 3), expected) << "'" << header << "' of " << size;
    }
    EXPECT_GT(parts, 1000);  // the generator finds what it is to find
}

}  // namespace
