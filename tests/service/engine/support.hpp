// SPDX-License-Identifier: MIT
// Shared by the tests of the engine: a service on a memory store, started and ended.
#pragma once

#include <weir/http/json.hpp>
#include <weir/service/memory_store.hpp>
#include <weir/service/service.hpp>
#include <weir/testing/testing.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::service::testing {

using namespace std::chrono_literals;
using json = boost::json::value;
using weir::testing::advance;
using weir::testing::settle_all;

// A service that runs.
class started {
public:
    explicit started(service& what) : running_(weir::spawn(what.run())) {}
    started(const started&) = delete;
    started& operator=(const started&) = delete;

    void stop() { running_.cancel(); }
    task<> ended() { co_await running_.wait(); }
    // Stops it and waits until it has drained.
    task<> end() {
        stop();
        co_await running_.wait();
    }
    bool has_ended() const { return running_.done(); }

private:
    handle<> running_;
};

inline task<task_record> record_of(store& in, task_id id) {
    std::optional<task_detail> found = co_await in.find(id);
    co_return found.has_value() ? std::move(found->task) : task_record();
}

inline task<std::vector<attempt_record>> attempts_of(store& in, task_id id) {
    std::optional<task_detail> found = co_await in.find(id);
    co_return found.has_value() ? std::move(found->attempts) : std::vector<attempt_record>();
}

inline task<task_id> submit(service& to, new_task what) {
    const submit_result result = co_await to.submit(std::move(what));
    co_return result.id;
}
inline task<task_id> submit(service& to, std::string kind, std::string payload = "null") {
    return submit(to, new_task(std::move(kind), std::move(payload)));
}

}  // namespace weir::service::testing
