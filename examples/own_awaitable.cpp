// SPDX-License-Identifier: MIT
// A user-defined awaitable: a door that tasks wait at until another task opens it.

#include <weir/weir.hpp>

#include <cstdio>

using namespace std::chrono_literals;

class door {
public:
    class passage final : public weir::operation {
    public:
        explicit passage(door& through) : door_(through) {}
        bool ready() noexcept override { return door_.is_open_; }
        bool start() noexcept override {
            door_.waiting_ = this;
            return true;  // complete() will come
        }
        bool cancel() noexcept override {
            door_.waiting_ = nullptr;
            return true;  // no buffer is lent out: the operation has ended
        }
        void resume() const noexcept {}  // the result of co_await

    private:
        friend door;
        door& door_;
    };

    passage pass() { return passage(*this); }
    void open() {
        is_open_ = true;
        if (passage* first = std::exchange(waiting_, nullptr)) {
            first->complete();
        }
    }

private:
    bool is_open_ = false;
    passage* waiting_ = nullptr;
};

weir::task<> visit(door& front) {
    std::puts("visitor: waiting at the door");
    co_await front.pass();
    std::puts("visitor: inside");
}

weir::task<> main_task() {
    door front;
    try {
        co_await weir::timeout(1s, front.pass());
    } catch (const weir::timed_out&) {
        std::puts("never opened: a timeout works with it as with everything");
    }
    auto visitor = weir::spawn(visit, std::ref(front));
    co_await weir::sleep(2s);
    std::puts("host: opening");
    front.open();
    co_await visitor;
}

int main() {
    weir::run(main_task(), {.driver = weir::driver_kind::simulated});
}
