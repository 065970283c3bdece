// SPDX-License-Identifier: MIT
// A handler of three steps. Its first run fails after the second: the next run goes on with the
// third, and does not charge the card again.

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
using json = boost::json::value;

weir::task<json> reserve(std::string article) {
    std::printf("reserving %s\n", article.c_str());
    co_return boost::json::object{{"shelf", 12}};
}

// A payment service takes the same key only once: a crash between the payment and the end of the
// step does no harm, either.
weir::task<json> charge(std::string idempotency_key) {
    std::printf("charging the card\n");
    co_return boost::json::object{{"receipt", "R-1"}, {"key_bytes", idempotency_key.size()}};
}

weir::task<json> ship(std::int64_t shelf, std::uint32_t attempt) {
    if (attempt == 1) {
        throw std::runtime_error("no parcel service today");
    }
    std::printf("shipping from shelf %lld\n", static_cast<long long>(shelf));
    co_return "on its way";
}

weir::task<json> order(service::job& job) {
    const auto article = weir::http::member<std::string>(job.payload(), "article");
    std::printf("run %u\n", job.task().run);
    const json place = co_await job.step("reserve", [&] { return reserve(article); });
    const json paid =
        co_await job.step("charge", [&] { return charge(job.id().text() + "/charge"); });
    const auto shelf = weir::http::member<std::int64_t>(place, "shelf");
    const json sent = co_await job.step("ship", [&] { return ship(shelf, job.attempt()); });
    co_return boost::json::object{{"receipt", paid.at("receipt")}, {"state", sent}};
}

weir::task<> demo() {
    service::memory_store store;
    service::service tasks(store);
    tasks.handle("order", order);
    const auto running = weir::spawn(tasks.run());

    service::new_task wanted("order", R"({"article": "teapot"})");
    wanted.retry.backoff = 20ms;
    const service::submit_result submitted = co_await tasks.submit(wanted);
    std::optional<service::task_detail> found;
    do {
        co_await weir::sleep(5ms);
        found = co_await tasks.find(submitted.id);
    } while (!service::is_final(found->task.state));
    std::printf("%s\n", found->task.result.c_str());
    for (const service::step_record& each : found->task.steps) {
        std::printf("kept: %s\n", each.name.c_str());
    }
    running.cancel();
    co_await running.wait();
}

int main() {
    weir::run(demo());
}
