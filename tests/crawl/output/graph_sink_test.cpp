// SPDX-License-Identifier: MIT
// Edges of the link graph in each format.

#include "crawl/output/output_place.hpp"

#include <weir/crawl/graph_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

namespace graph_sink_test {

using namespace output_place;
using weir::task;

page page_with_links() {
    page made = page_of(1);
    made.base = "http://a.example/dir/";
    const auto add = [&](link_kind kind, std::string reference) {
        page_link& added = made.document_links.emplace_back();
        added.kind = kind;
        added.line = 3;
        added.column = 7;
        added.reference = std::move(reference);
    };
    add(link_kind::anchor, "x?a&b#f");
    add(link_kind::anchor, "mailto:someone");
    add(link_kind::image, "http://[");
    add(link_kind::image, "//b.example/i.png");
    return made;
}

task<> write_graph(const std::string& path, int runs) {
    std::string position;
    for (int run = 0; run < runs; ++run) {
        graph_sink out(path);
        co_await out.open(position);
        out.write(page_with_links());
        position = co_await out.flush();
        if (run + 1 < runs) {
            out.write(page_with_links());
            co_await out.flush();
        }
        co_await out.close(run + 1 == runs);
    }
}

std::string graph(const std::string& name, int runs = 1) {
    const folder here;
    weir::run(write_graph(here.file(name), runs));
    return content_of(here.file(name));
}

TEST(CrawlGraphSink, EachFormat) {
    EXPECT_EQ(graph("g.jsonl"),
              "{\"from\":\"http://a.example/1\",\"to\":\"http://a.example/dir/x?a&b\",\"kind\":"
              "\"anchor\",\"rel\":\"\",\"line\":3,\"column\":7}\n"
              "{\"from\":\"http://a.example/1\",\"to\":\"http://b.example/i.png\",\"kind\":"
              "\"image\",\"rel\":\"\",\"line\":3,\"column\":7}\n");
    EXPECT_EQ(graph("g.csv"),
              "from,to,kind,rel,line,column\r\n"
              "http://a.example/1,http://a.example/dir/x?a&b,anchor,,3,7\r\n"
              "http://a.example/1,http://b.example/i.png,image,,3,7\r\n");
    EXPECT_EQ(graph("g.dot"),
              "digraph crawl {\n"
              "\"http://a.example/1\" -> \"http://a.example/dir/x?a&b\" [kind=anchor];\n"
              "\"http://a.example/1\" -> \"http://b.example/i.png\" [kind=image];\n}\n");
    const std::string xml = graph("g.graphml");
    EXPECT_NE(xml.find("<edge source=\"http://a.example/1\" "
                       "target=\"http://a.example/dir/x?a&amp;b\"><data key=\"kind\">anchor<"),
              std::string::npos);
    EXPECT_TRUE(xml.ends_with("</graph>\n</graphml>\n"));
}

TEST(CrawlGraphSink, LosesItsEndWhenItIsContinued) {
    const std::string twice = graph("g.dot", 2);
    EXPECT_EQ(twice.find("}\n"), twice.size() - 2);
    EXPECT_EQ(std::count(twice.begin(), twice.end(), '\n'), 6);
}

}  // namespace graph_sink_test
