// SPDX-License-Identifier: MIT
// Lines of JSON, and a file that is cut to what was committed.

#include <weir/crawl/jsonl_sink.hpp>
#include <weir/crawl/store.hpp>
#include <weir/run.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace jsonl_sink_test {

using namespace weir::crawl;
using weir::task;

std::string content_of(const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

class place {
public:
    place() {
        std::string name = (std::filesystem::temp_directory_path() / "weir-jsonl-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~place() { std::filesystem::remove_all(folder_); }
    std::string file() const { return folder_ + "/out.jsonl"; }

private:
    std::string folder_;
};

page page_of(int number) {
    page made;
    made.id = static_cast<url_id>(number);
    made.url = "http://a/" + std::to_string(number);
    made.state = page_state::done;
    made.status = 200;
    return made;
}

TEST(CrawlJsonlSink, ALineHasWhatIsKnown) {
    page made = page_of(7);
    made.title = "a \"quoted\" title\n";
    made.redirects = {"http://a/x", "http://a/y"};
    made.error = page_error(error_kind::content, fetch_stage::body, "why");
    made.fetched_at = timestamp(std::chrono::milliseconds(1'700'000'000'123));
    made.times.total = std::chrono::microseconds(1500);
    made.links = 3;
    std::string line;
    append_json_line(line, made);
    EXPECT_EQ(line, R"({"id":7,"url":"http://a/7","state":"done","status":200,)"
                    R"("error":{"kind":"content","stage":"body","text":"why"},"depth":0,)"
                    R"("found_as":"seed","redirects":["http://a/x","http://a/y"],"attempts":0,)"
                    R"("fetched_at":"2023-11-14T22:13:20.123Z",)"
                    R"("times":{"queued":0,"ttfb":0,"total":1.5},"bytes":0,"wire_bytes":0,)"
                    R"("title":"a \"quoted\" title\n","links":{"out":3,"new":0,"cut":0}})"
                    "\n");
}

TEST(CrawlJsonlSink, IsCutToThePositionThatWasCommitted) {
    const place at;
    const auto body = [&]() -> task<> {
        std::string position;
        {
            jsonl_sink sink(at.file());
            co_await sink.open("");
            sink.write(page_of(1));
            EXPECT_GT(sink.buffered(), 0u);
            position = co_await sink.flush();
            sink.write(page_of(2));
            co_await sink.flush();  // never committed
        }
        EXPECT_NE(content_of(at.file()).find("http://a/2"), std::string::npos);
        jsonl_sink again(at.file());
        co_await again.open(position);
        again.write(page_of(3));
        co_await again.close(true);
    };
    weir::run(body());
    const std::string text = content_of(at.file());
    EXPECT_EQ(text.find("http://a/2"), std::string::npos);
    EXPECT_NE(text.find("http://a/1\""), std::string::npos);
    EXPECT_NE(text.find("http://a/3\""), std::string::npos);
}

// A kill between the first flush and its commit.
TEST(CrawlJsonlSink, IsEmptiedIfNothingWasCommitted) {
    const place at;
    const auto body = [&]() -> task<> {
        {
            jsonl_sink sink(at.file());
            co_await sink.open("");
            sink.write(page_of(1));
            co_await sink.flush();
        }
        jsonl_sink again(at.file());
        co_await again.open(std::string(jsonl_sink::nothing_written));
        again.write(page_of(2));
        co_await again.close(true);
    };
    weir::run(body());
    EXPECT_EQ(content_of(at.file()).find("http://a/1"), std::string::npos);
}

TEST(CrawlJsonlSink, AFileOfAnotherCrawlIsNotOverwritten) {
    const place at;
    std::ofstream(at.file()) << "precious\n";
    const auto body = [&]() -> task<> {
        for (const char* const position : {"", "1000"}) {
            jsonl_sink sink(at.file());
            bool is_refused = false;
            try {
                co_await sink.open(position);
            } catch (const store_error&) {
                is_refused = true;
            }
            EXPECT_TRUE(is_refused) << position;
        }
    };
    weir::run(body());
    EXPECT_EQ(content_of(at.file()), "precious\n");
}

}  // namespace jsonl_sink_test
