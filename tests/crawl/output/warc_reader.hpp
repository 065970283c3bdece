// SPDX-License-Identifier: MIT
// Reads a web archive, one member of gzip at a time, and checks lengths and digests.
#pragma once

#include "crawl/output/warc_record.hpp"
#include "crawl/sitemap/gunzip.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warc_reader {

struct record {
    std::map<std::string, std::string> fields;
    std::string block;
};

// Each member of gzip is one record.
inline std::vector<record> records_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string packed(std::istreambuf_iterator<char>(in), {});
    std::string_view rest = packed;
    std::vector<record> all;
    while (!rest.empty()) {
        weir::crawl::detail::gunzip member;
        std::string text;
        while (!member.is_complete()) {
            if (member.run(rest, text, 100'000) == weir::crawl::detail::gunzip::step::failed ||
                rest.empty()) {
                break;
            }
        }
        EXPECT_TRUE(member.is_complete());
        EXPECT_TRUE(text.starts_with("WARC/1.1\r\n"));
        EXPECT_TRUE(text.ends_with("\r\n\r\n"));
        record read;
        const std::size_t end = text.find("\r\n\r\n");
        for (std::size_t at = 10; at < end;) {
            const std::size_t line_end = text.find("\r\n", at);
            const std::size_t colon = text.find(": ", at);
            read.fields[text.substr(at, colon - at)] = text.substr(colon + 2, line_end - colon - 2);
            at = line_end + 2;
        }
        read.block = text.substr(end + 4, text.size() - end - 8);
        EXPECT_EQ(read.fields["Content-Length"], std::to_string(read.block.size()));
        EXPECT_EQ(read.fields["WARC-Block-Digest"], weir::crawl::detail::warc_digest(read.block));
        all.push_back(std::move(read));
    }
    return all;
}

}  // namespace warc_reader
