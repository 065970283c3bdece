// SPDX-License-Identifier: MIT
// Sources of the stream functions: streams, queues and ranges.

#include "support.hpp"

#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/stream_source.hpp>

namespace {

using namespace stream_tests;

generator<int> numbers() {
    co_yield 1;
    co_yield 2;
}

template <class Source>
task<std::vector<int>> read_all(Source&& source) {
    std::vector<int> found;
    auto items =
        weir::map_concurrent(std::forward<Source>(source), 1, [](int each) { return each; });
    while (auto each = co_await items.next()) {
        found.push_back(*each);
    }
    co_return found;
}

const std::vector<int> one_two{1, 2};

TEST(StreamSource, AcceptsStreamsQueuesAndRanges) {
    static_assert(weir::stream_source<generator<int>>);
    static_assert(weir::stream_source<weir::queue<int>&>);
    static_assert(weir::stream_source<std::vector<int>&>);
    static_assert(weir::stream_source<std::vector<int>>);
    static_assert(!weir::stream_source<int>);
}

WEIR_TEST(StreamSource, ReadsAStreamToItsEnd) {
    const std::vector<int> found = co_await read_all(numbers());
    EXPECT_EQ(found, one_two);
}

WEIR_TEST(StreamSource, ReadsAQueueUntilItIsClosedAndFinishesItsItems) {
    weir::queue<int> items(10);
    co_await items.put(1);
    co_await items.put(2);
    items.close();
    const std::vector<int> found = co_await read_all(items);
    EXPECT_EQ(found, one_two);
    co_await items.join();
}

WEIR_TEST(StreamSource, CopiesTheElementsOfAnLvalueRange) {
    std::vector<int> items = one_two;
    const std::vector<int> found = co_await read_all(items);
    EXPECT_EQ(found, one_two);
    EXPECT_EQ(items, one_two);
    const std::vector<int> moved = co_await read_all(std::move(items));
    EXPECT_EQ(moved, one_two);
}

}  // namespace
