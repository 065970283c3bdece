// SPDX-License-Identifier: MIT
// All headers, and templates that have given users warnings: compiled with more warnings than ours,
// which are errors, under the address sanitizer with little optimisation, and without RTTI.
#include <weir/crawl/crawler.hpp>
#include <weir/crawl/csv_sink.hpp>
#include <weir/crawl/file_sink.hpp>
#include <weir/crawl/graph_sink.hpp>
#include <weir/crawl/http_fetcher.hpp>
#include <weir/crawl/jsonl_sink.hpp>
#include <weir/crawl/memory_store.hpp>
#include <weir/crawl/mirror_sink.hpp>
#include <weir/crawl/sitemap_sink.hpp>
#include <weir/crawl/sqlite_store.hpp>
#include <weir/crawl/warc_sink.hpp>
#include <weir/db/pg/copy.hpp>
#include <weir/db/pg/database.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/db/redis/limiter.hpp>
#include <weir/db/redis/sliding_window.hpp>
#include <weir/db/redis/token_bucket.hpp>
#include <weir/db/sqlite/database.hpp>
#include <weir/flow/flow.hpp>
#include <weir/http/http.hpp>
#include <weir/io/io.hpp>
#include <weir/io/tls.hpp>
#include <weir/io/uring.hpp>
#include <weir/program/program.hpp>
#include <weir/service/access.hpp>
#include <weir/service/api.hpp>
#include <weir/service/callback.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/dependency.hpp>
#include <weir/service/destination.hpp>
#include <weir/service/flow_key.hpp>
#include <weir/service/handlers/crawl_tasks.hpp>
#include <weir/service/handlers/exec.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/service/handlers/trial.hpp>
#include <weir/service/handlers/webhook_signature.hpp>
#include <weir/service/job.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/move_store.hpp>
#include <weir/service/node_channel.hpp>
#include <weir/service/operation.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/service/postgres_store.hpp>
#include <weir/service/queue.hpp>
#include <weir/service/schedule.hpp>
#include <weir/service/service.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/service/store.hpp>
#include <weir/service/store_mover.hpp>
#include <weir/service/task.hpp>
#include <weir/service/task_id.hpp>
#include <weir/service/trace.hpp>
#include <weir/service/worker.hpp>
#include <weir/service/workflow.hpp>
#include <weir/service/workflow_desk.hpp>
#include <weir/service/workflow_store.hpp>
#include <weir/testing/faults.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/testing/io/simulated_network.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>
#include <weir/ws/ws.hpp>

#include <stdexcept>

using namespace std::chrono_literals;

weir::task<int> work(int number) {
    co_await weir::sleep(1ms);
    co_return number;
}

weir::task<> scene() {
    weir::token_bucket limiter({.rate = 1, .burst = 1});
    co_await limiter.acquire();
    weir::cancel_scope scope(100ms);
    const auto got = co_await weir::settle(scope.run(limiter.acquire()));
    const auto none = co_await weir::settle(weir::sleep(1ms));
    weir::bulkhead bulkhead({.max_concurrent = 1, .max_waiting = 10});
    co_await weir::timeout(1s, bulkhead.run([] { return work(1); }));
    const auto retried =
        co_await weir::settle(weir::retry({.max_attempts = 2}, [] { return work(1); }));
    auto results = weir::map_concurrent(weir::range(3), 2, work);
    while (auto each = co_await results.next()) {
        if (!got || !none || !retried) {
            throw std::runtime_error("none");
        }
    }
}
