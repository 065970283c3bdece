// SPDX-License-Identifier: MIT
// One line for each page; columns that say nothing are empty.

#include "base/json_text.hpp"
#include "crawl/output/markup_text.hpp"
#include "crawl/output/warc_record.hpp"

#include <weir/crawl/csv_sink.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace weir::crawl {

std::string_view csv_header() noexcept {
    return "url,state,status,error,error_text,depth,found_as,referrer,location,attempts,fetched_at,"
           "total_ms,bytes,content_type,charset,title,canonical,links,new_links\r\n";
}

void append_csv_line(std::string& to, const page_record& page) {
    const auto text = [&](std::string_view value) {
        detail::append_csv_text(to, value);
        to += ',';
    };
    const auto number = [&](auto value) {
        base::append_number(to, value);
        to += ',';
    };
    text(page.url);
    text(name_of(page.state));
    number(page.status);
    text(page.error ? name_of(page.error.kind) : std::string_view());
    text(page.error.text);
    number(page.depth);
    text(name_of(page.found_as));
    text(page.referrer);
    text(page.location);
    number(page.attempts);
    text(page.state == page_state::pending ? "" : detail::warc_date(page.fetched_at));
    number(static_cast<double>(page.times.total.count()) / 1000);
    number(page.bytes);
    text(page.content_type);
    text(page.charset);
    text(page.title);
    text(page.canonical);
    number(page.links);
    number(page.new_links);
    to.back() = '\r';
    to += '\n';
}

csv_sink::csv_sink(std::string path) : file_sink("csv", std::move(path), csv_header()) {}

void csv_sink::write(const page& settled) {
    append_csv_line(text(), settled);
}

}  // namespace weir::crawl
