// SPDX-License-Identifier: MIT
// R17: iterators and generators: a range, pages of an interface, a comprehension, a class of one's
// own.

#include <weir/weir.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

weir::generator<int> slow_range(int first, int last) {
    for (int number = first; number < last; ++number) {
        co_await weir::sleep(100ms);
        co_yield number;
    }
}

struct page {
    int number;
    std::string url;
    std::vector<std::string> items;
};

weir::generator<page> fetch_pages(std::string url, int count) {
    co_await weir::defer([]() -> weir::task<> {
        co_await weir::sleep(50ms);  // say good-bye to the server
        std::puts("connection closed");
    });
    for (int number = 1; number <= count; ++number) {
        co_await weir::sleep(200ms);
        page fetched;
        fetched.number = number;
        fetched.url = url + "?page=" + std::to_string(number);
        for (int item = 0; item < 5; ++item) {
            fetched.items.push_back("item_" + std::to_string(number) + "_" + std::to_string(item));
        }
        co_yield weir::moved(fetched);
    }
}

// Anything with a next() will do.
class countdown {
public:
    explicit countdown(int from) : left_(from) {}
    weir::task<std::optional<int>> next() {
        co_await weir::yield();
        co_return left_ > 0 ? std::optional(left_--) : std::nullopt;
    }

private:
    int left_;
};

// Leaves half-way: the generator's clean-up is awaited before this task has ended.
weir::task<std::string> find_item(std::string wanted) {
    auto& pages = co_await weir::closing(fetch_pages("https://api.example.com/items", 1000));
    while (auto page = co_await pages.next()) {
        for (const std::string& item : page->items) {
            if (item == wanted) {
                co_return page->url;
            }
        }
    }
    co_return "nowhere";
}

weir::task<> main_task() {
    auto numbers = slow_range(1, 5);
    while (auto number = co_await numbers.next()) {
        std::printf("Number: %d\n", *number);
    }

    auto pages = fetch_pages("https://api.example.com/items", 3);
    while (auto page = co_await pages.next()) {
        std::printf("Page %d: %zu items\n", page->number, page->items.size());
    }

    const std::string found = co_await find_item("item_2_3");
    std::printf("found at %s\n", found.c_str());

    auto even = [](int value) { return value % 2 == 0; };
    auto square = [](int value) { return value * value; };
    const std::vector<int> squares =
        co_await weir::collect(weir::map(weir::filter(slow_range(0, 10), even), square));
    for (const int each : squares) {
        std::printf("%d ", each);
    }
    std::puts("");

    co_await weir::for_each(countdown(3), [](int value) { std::printf("%d...\n", value); });
}

int main() {
    weir::run(main_task(), {.driver = weir::driver_kind::simulated});
}
