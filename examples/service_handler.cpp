// SPDX-License-Identifier: MIT
// A task service inside a program, with a handler of its own.

#include <weir/finally.hpp>
#include <weir/http/json.hpp>
#include <weir/run.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/service.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <cstdio>
#include <stdexcept>

using namespace std::chrono_literals;
namespace service = weir::service;

// Makes thumbnails of the picture that the payload names. The first attempt finds the disk busy.
weir::task<boost::json::value> make_thumbnail(service::job& job) {
    const auto picture = weir::http::member<std::string>(job.payload(), "picture");
    if (picture.empty()) {
        throw service::permanent_failure("there is no picture");  // another attempt is no use
    }
    if (job.attempt() == 1) {
        throw std::runtime_error("the disk is busy");  // tried again, a little later
    }
    job.progress(0.5, "scaling");
    co_await weir::sleep(10ms);
    co_return boost::json::object{{"thumbnail", "small-" + picture}};
}

weir::task<service::task_detail> wait_for(service::service& tasks, service::task_id id) {
    for (;;) {
        std::optional<service::task_detail> found = co_await tasks.find(id);
        if (found.has_value() && service::is_final(found->task.state)) {
            co_return std::move(*found);
        }
        co_await weir::sleep(5ms);
    }
}

void print(const service::task_detail& ended) {
    const service::task_record& task = ended.task;
    std::printf("%s: %s\n", std::string(to_string(task.state)).c_str(),
                task.result.empty() ? task.error.c_str() : task.result.c_str());
    for (const service::attempt_record& each : ended.attempts) {
        std::printf("  run %u %s: %s\n", each.run, std::string(to_string(each.end)).c_str(),
                    each.error.c_str());
    }
}

weir::task<> demo() {
    service::memory_store store;  // to keep tasks: co_await service::open_sqlite_store("tasks.db")
    service::service tasks(store, {.workers = 8});
    tasks.handle("thumbnail", make_thumbnail);
    const auto running = weir::spawn(tasks.run());

    service::new_task wanted("thumbnail", R"({"picture": "cat.png"})");
    wanted.retry.backoff = 20ms;
    const service::submit_result first = co_await tasks.submit(wanted);
    const service::submit_result second =
        co_await tasks.submit(service::new_task("thumbnail", R"({"picture": ""})"));
    const service::task_detail finished = co_await wait_for(tasks, first.id);
    print(finished);
    const service::task_detail refused = co_await wait_for(tasks, second.id);
    print(refused);

    running.cancel();  // it drains: it waits for running tasks
    co_await running.wait();
    std::printf("%llu completed, %llu failed for good\n",
                static_cast<unsigned long long>(tasks.stats().completed),
                static_cast<unsigned long long>(tasks.stats().dead));
}

int main() {
    weir::run(demo());
}
