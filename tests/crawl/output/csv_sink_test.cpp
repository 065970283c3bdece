// SPDX-License-Identifier: MIT
// Lines of CSV, and a file that is cut to what was committed.

#include "crawl/output/output_place.hpp"

#include <weir/crawl/csv_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

namespace csv_sink_test {

using namespace output_place;
using weir::task;

TEST(CrawlCsvSink, FieldsAreQuotedAndNoFormula) {
    page made = page_of(1);
    made.title = "a, \"b\"";
    made.referrer = "=HYPERLINK(\"x\")";
    made.error = page_error(error_kind::timeout, fetch_stage::body, "line\nline");
    std::string line;
    append_csv_line(line, made);
    EXPECT_EQ(line,
              "http://a.example/1,done,200,timeout,\"line\nline\",0,seed,"
              "\"'=HYPERLINK(\"\"x\"\")\",,0,2023-11-14T22:13:20.123Z,0,0,text/html,,"
              "\"a, \"\"b\"\"\",,0,0\r\n");
    EXPECT_EQ(std::count(line.begin(), line.end(), ',') - 1,
              std::count(csv_header().begin(), csv_header().end(), ','));
}

task<> write_in_two_runs(const std::string& path) {
    csv_sink first(path);
    co_await first.open("");
    first.write(page_of(1));
    const std::string position = co_await first.flush();
    first.write(page_of(2));
    co_await first.flush();  // not committed

    csv_sink second(path);
    co_await second.open(position);
    second.write(page_of(2));
    co_await second.flush();
    co_await second.close(true);
}

TEST(CrawlCsvSink, ContinuesAtTheCommittedPosition) {
    const folder here;
    weir::run(write_in_two_runs(here.file("out.csv")));
    std::string expected(csv_header());
    append_csv_line(expected, page_of(1));
    append_csv_line(expected, page_of(2));
    EXPECT_EQ(content_of(here.file("out.csv")), expected);
}

}  // namespace csv_sink_test
