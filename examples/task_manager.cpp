// SPDX-License-Identifier: MIT
// P13: a background task manager: submit, watch, cancel, and get results by id
#include <weir/flow/task_manager.hpp>
#include <weir/weir.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

// A coroutine that reports its progress.
weir::task<std::string> process(weir::task_context& context, std::string data) {
    for (int step = 1; step <= 4; ++step) {
        co_await weir::sleep(500ms);
        context.progress(step / 4.0, "step " + std::to_string(step));
    }
    co_return "processed " + data;
}

weir::task<> import_data() {
    co_await weir::sleep(200ms);
    throw std::runtime_error("the source is not available");
}

// A plain function may block, so it goes to an executor. A program would give one with threads;
// this one lets simulated time pass instead.
int checksum(const std::string& text) {
    int sum = 0;
    for (const char each : text) {
        sum += each;
    }
    return sum;
}
class pretended_threads final : public weir::executor {
public:
    weir::task<void> run(work what) override {
        co_await weir::sleep(300ms);
        what();
    }
};

void show(const weir::managed_task& task) {
    std::cout << task.id << ": " << to_string(task.state);
    if (task.started_at && task.finished_at) {
        std::cout << " after "
                  << std::chrono::duration_cast<std::chrono::milliseconds>(*task.finished_at -
                                                                           *task.started_at)
                         .count()
                  << " ms";
    }
    if (!task.result.empty()) {
        std::cout << ", result: " << task.result;
    }
    if (!task.error.empty()) {
        std::cout << ", because: " << task.error;
    }
    std::cout << "\n";
}

weir::task<> print_events(weir::task_events events) {
    while (auto event = co_await events.next()) {
        std::cout << "  [" << event->id << " " << to_string(event->kind);
        if (event->kind == weir::task_event_kind::progress) {
            std::cout << " " << event->progress * 100 << " %, " << event->message;
        }
        std::cout << "]\n";
    }
}

weir::task<> run() {
    pretended_threads threads;
    weir::task_manager manager(
        {.concurrency = 2, .keep = 100, .keep_for = 1h, .executor = &threads});
    const auto printing = weir::spawn(print_events(manager.subscribe()));

    (void)co_await manager.submit({.id = "upload", .name = "process"}, process, "a file");
    (void)co_await manager.submit({.id = "import"}, import_data);
    (void)co_await manager.submit({.id = "sum"}, checksum, std::string("weir"));
    (void)co_await manager.submit({.id = "unwanted"}, process, "nothing");

    const bool cancelled = co_await manager.cancel("unwanted", "changed my mind");  // never runs
    std::cout << "cancelled: " << std::boolalpha << cancelled << "\n";
    try {
        (void)co_await manager.submit({.id = "upload"}, process, "another file");
    } catch (const weir::refused& refusal) {
        std::cout << refusal.what() << "\n";
    }

    co_await weir::sleep(1200ms);
    const auto halfway = co_await manager.get("upload");
    std::cout << "upload is " << halfway->progress * 100 << " % done\n";
    const std::string result = co_await manager.result<std::string>("upload");
    std::cout << result << "\n";

    co_await manager.close();  // accepted tasks are done first; new ones are refused
    co_await printing;
    const std::vector<weir::managed_task> all = co_await manager.list();
    for (const weir::managed_task& each : all) {
        show(each);
    }
}

int main() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    weir::run(run(), std::move(options));
}
