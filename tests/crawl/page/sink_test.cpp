// SPDX-License-Identifier: MIT
// A sink in memory, as the crawl uses it: what was flushed is kept, the rest is cut on open.

#include <weir/crawl/sink.hpp>
#include <weir/testing/testing.hpp>

namespace sink_test {

using namespace weir::crawl;
using weir::task;

class lines final : public sink {
public:
    std::string_view name() const noexcept override { return "lines"; }
    task<> open(std::string position) override {
        text.resize(position.empty() ? 0 : std::stoul(position));
        co_return;
    }
    void write(const page& settled) override { text += settled.url + "\n"; }
    std::size_t buffered() const noexcept override { return text.size(); }
    task<std::string> flush() override { co_return std::to_string(text.size()); }
    task<> close(bool) override { co_return; }

    std::string text;
};

WEIR_TEST(CrawlSink, ContinuesAtThePositionOfItsFlush) {
    lines out;
    co_await out.open("");
    page first;
    first.url = "http://a/";
    out.write(first);
    const std::string position = co_await out.flush();
    out.write(first);
    co_await out.open(position);
    EXPECT_EQ(out.text, "http://a/\n");
    EXPECT_FALSE(out.wants_raw_body());
}

}  // namespace sink_test
