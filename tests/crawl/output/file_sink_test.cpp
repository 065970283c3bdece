// SPDX-License-Identifier: MIT
// A sink of one's own, as the header shows it.

#include "crawl/output/output_place.hpp"

#include <weir/crawl/file_sink.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

namespace file_sink_test {

using namespace output_place;
using weir::task;

class titles final : public file_sink {
public:
    explicit titles(std::string path) : file_sink("titles", std::move(path), "begin\n", "end\n") {}
    void write(const page& settled) override { text() += settled.url + "\n"; }
};

TEST(CrawlFileSink, HasItsFirstAndLastTextOnceHoweverOftenItIsOpened) {
    const folder here;
    const std::string path = here.file("titles");
    const auto body = [&]() -> task<> {
        std::string position;
        for (int run = 0; run < 3; ++run) {
            titles out(path);
            EXPECT_EQ(out.name(), "titles:" + path);
            co_await out.open(position);
            out.write(page_of(run));
            EXPECT_GT(out.buffered(), 0u);
            position = co_await out.flush();
            EXPECT_EQ(out.buffered(), 0u);
            out.write(page_of(99));  // not committed
            if (run == 1) {
                co_await out.close(false);
            }
        }
        titles last(path);
        co_await last.open(position);
        co_await last.flush();
        co_await last.close(true);
    };
    weir::run(body());
    EXPECT_EQ(content_of(path),
              "begin\nhttp://a.example/0\nhttp://a.example/1\nhttp://a.example/2\nend\n");
}

TEST(CrawlFileSink, AFullDiskIsAnErrorWithItsReason) {
    const auto body = []() -> task<> {
        titles out("/dev/full");
        co_await out.open("");
        out.write(page_of(1));
        std::string reason;
        try {
            co_await out.flush();
        } catch (const std::exception& error) {
            reason = error.what();
        }
        EXPECT_NE(reason.find("/dev/full: No space left on device; free some space"),
                  std::string::npos)
            << reason;
    };
    weir::run(body());
}

}  // namespace file_sink_test
