// SPDX-License-Identifier: MIT
// A value that is aligned more strictly than coroutine frames, in each place that may hold one.
#include <weir/io/channel.hpp>
#include <weir/weir.hpp>

struct alignas(ALIGNMENT) lanes {
    float values[16];
};

#if defined(IN_task)
weir::task<lanes> make() {
    co_return lanes{};
}
#elif defined(IN_argument)
weir::task<> use(lanes) {
    co_return;
}
void start() {
    weir::spawn(use, lanes{});
}
#elif defined(IN_callable)
void start() {
    lanes captured{};
    weir::spawn([captured]() -> weir::task<> {
        (void)captured;
        co_return;
    });
}
#elif defined(IN_generator)
weir::generator<lanes> make() {
    co_yield lanes{};
}
#elif defined(IN_future)
void keep() {
    weir::promise<lanes> promise;
    promise.set_value(lanes{});
}
#elif defined(IN_queue)
void keep() {
    weir::queue<lanes> items(1);
    items.put_now(lanes{});
}
#elif defined(IN_channel)
void keep() {
    weir::channel<lanes> items(1);
}
#endif
