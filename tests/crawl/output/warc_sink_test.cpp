// SPDX-License-Identifier: MIT
// Records of a web archive, read back one member of gzip at a time.

#include "crawl/output/output_place.hpp"
#include "crawl/output/warc_reader.hpp"
#include "crawl/output/warc_record.hpp"

#include <weir/crawl/warc_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace warc_sink_test {

using namespace output_place;
using warc_reader::record;
using warc_reader::records_of;
using weir::task;

std::string types_of(const std::vector<record>& records) {
    std::string types;
    for (const record& each : records) {
        types += (types.empty() ? "" : " ") + each.fields.at("WARC-Type");
    }
    return types;
}

task<> write_archive(const std::string& path) {
    warc_sink out(path);
    co_await out.open("");
    page first = page_of(1);
    first.request_headers.add("User-Agent", "test");
    first.headers.add("Content-Encoding", "gzip");
    out.write(first);
    out.write(page_of(2));  // the same body
    page failed = page_of(3);
    failed.status = 0;
    out.write(failed);
    const std::string position = co_await out.flush();
    out.write(page_of(4, "other"));
    co_await out.flush();  // not committed

    warc_sink again(path);
    co_await again.open(position);
    page moved = page_of(5, "");
    moved.status = 301;
    moved.headers.add("Location", "/6");
    again.write(moved);
    co_await again.flush();
    co_await again.close(true);
}

TEST(CrawlWarcSink, RecordsAndRevisits) {
    const folder here;
    weir::run(write_archive(here.file("site.warc.gz")));
    const auto records = records_of(here.file("site.warc.gz"));
    ASSERT_EQ(types_of(records), "warcinfo response request revisit request response request");
    EXPECT_EQ(records[0].fields.at("WARC-Filename"), "site.warc.gz");
    // No transfer coding, and no content coding where the body is decoded.
    EXPECT_EQ(records[1].block,
              "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
              "Content-Length: 11\r\n\r\n<p>text</p>");
    EXPECT_EQ(records[1].fields.at("WARC-Target-URI"), "http://a.example/1");
    EXPECT_EQ(records[1].fields.at("WARC-Date"), "2023-11-14T22:13:20.123Z");
    EXPECT_EQ(records[2].block, "GET /1 HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\n\r\n");
    EXPECT_EQ(records[2].fields.at("WARC-Concurrent-To"), records[1].fields.at("WARC-Record-ID"));
    EXPECT_EQ(records[3].fields.at("WARC-Refers-To-Target-URI"), "http://a.example/1");
    EXPECT_EQ(records[3].fields.at("WARC-Payload-Digest"),
              records[1].fields.at("WARC-Payload-Digest"));
    EXPECT_TRUE(records[3].block.ends_with("\r\n\r\n"));
    EXPECT_TRUE(records[5].block.starts_with("HTTP/1.1 301 "));
}

task<> write_raw(const std::string& path) {
    warc_sink out(path);
    co_await out.open("");
    page packed = page_of(1);
    packed.headers.add("Content-Encoding", "gzip");
    packed.raw_body = "compressed";
    out.write(packed);
    page cut = page_of(2, "half");
    cut.raw_body = cut.body;
    cut.headers.add("Content-Length", "1000");
    cut.truncated = "disconnect";
    out.write(cut);
    out.write(cut);  // half a body is no copy of another half
    page head = page_of(3, "");
    head.is_head = true;
    head.http_version = 10;
    head.headers.add("Content-Length", "77");
    out.write(head);
    co_await out.flush();
    co_await out.close(true);
}

TEST(CrawlWarcSink, RawBodiesHeadRequestsAndTruncatedResponses) {
    const folder here;
    weir::run(write_raw(here.file("site.warc.gz")));
    const auto records = records_of(here.file("site.warc.gz"));
    ASSERT_EQ(types_of(records),
              "warcinfo response request response request response request response request");
    EXPECT_EQ(records[1].block,
              "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
              "Content-Length: 10\r\n\r\ncompressed");
    EXPECT_EQ(records[1].fields.at("WARC-Payload-Digest"), detail::warc_digest("compressed"));
    EXPECT_FALSE(records[1].fields.contains("WARC-Truncated"));
    EXPECT_EQ(records[3].fields.at("WARC-Truncated"), "disconnect");
    EXPECT_TRUE(records[3].block.ends_with("\r\nContent-Length: 1000\r\n\r\nhalf"));
    EXPECT_TRUE(records[7].block.starts_with("HTTP/1.0 200 "));
    EXPECT_TRUE(records[7].block.ends_with("\r\nContent-Length: 77\r\n\r\n"));
    EXPECT_TRUE(records[8].block.starts_with("HEAD /3 HTTP/1.1\r\n"));
}

task<> write_rotated(const std::string& path, int runs) {
    warc_options options;
    options.rotate_at = 1;  // each flush fills a file
    std::string position;
    for (int run = 0; run < runs; ++run) {
        warc_sink out(path, options);
        co_await out.open(position);
        out.write(page_of(run));
        position = co_await out.flush();
        out.write(page_of(99));
        co_await out.flush();  // not committed
    }
}

TEST(CrawlWarcSink, FilesAreRotated) {
    const folder here;
    weir::run(write_rotated(here.file("site.warc.gz"), 1));
    EXPECT_EQ(types_of(records_of(here.file("site.warc.gz"))), "warcinfo response request");
    const auto second = records_of(here.file("site-00002.warc.gz"));
    EXPECT_EQ(types_of(second), "warcinfo revisit request");
    EXPECT_EQ(second[0].fields.at("WARC-Filename"), "site-00002.warc.gz");
}

TEST(CrawlWarcSink, FilesThatWereNotCommittedAreRemoved) {
    const folder here;
    weir::run(write_rotated(here.file("site.warc.gz"), 3));
    // Each run continues in the file of its position, which is full, and so does its first flush.
    EXPECT_EQ(types_of(records_of(here.file("site.warc.gz"))),
              "warcinfo response request response request response request");
    EXPECT_TRUE(std::filesystem::exists(here.file("site-00002.warc.gz")));
}

TEST(CrawlWarcSink, DigestsAreThoseOfOtherTools) {
    // echo -n '' | sha1sum, in base32.
    EXPECT_EQ(detail::warc_digest(""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    EXPECT_EQ(detail::new_warc_id().size(), 47u);
    EXPECT_NE(detail::new_warc_id(), detail::new_warc_id());
}

}  // namespace warc_sink_test
