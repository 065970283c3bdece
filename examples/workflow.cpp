// SPDX-License-Identifier: MIT
// A workflow: two downloads run side by side, a merge runs after both, and a report when all have
// ended. One download fails for good: the merge runs nevertheless, and sees that.

#include <weir/service/memory_store.hpp>
#include <weir/service/service.hpp>
#include <weir/service/workflow_desk.hpp>
#include <weir/weir.hpp>

#include <boost/json/serialize.hpp>

#include <cstdio>
#include <string>

namespace {

using namespace weir;
namespace json = boost::json;

task<json::value> download(service::job& job) {
    const std::string name(job.payload().as_string());
    if (name == "b") {
        throw service::permanent_failure("there is no " + name);
    }
    std::printf("downloaded %s\n", name.c_str());
    co_return name;
}

task<json::value> merge(service::job& job) {
    for (const service::dependency_record& each : job.task().parents) {
        std::printf("merge: a download has %s\n", std::string(to_string(each.outcome)).c_str());
    }
    co_return nullptr;
}

task<json::value> report(service::job& job) {
    const json::value& group = job.payload().at("group");
    std::printf(
        "report: %s of %s completed, %s failed\n", json::serialize(group.at("completed")).c_str(),
        json::serialize(group.at("total")).c_str(), json::serialize(group.at("failed")).c_str());
    co_return nullptr;
}

task<> run_workflow(service::service& tasks) {
    using service::failure_policy;
    service::workflow flow;
    const auto a = flow.add(service::new_task("download", "\"a\""));
    const auto b = flow.add(service::new_task("download", "\"b\""));
    flow.add(service::new_task("merge"),
             {a.with(failure_policy::run), b.with(failure_policy::run)});
    flow.group.emplace().callback = service::new_task("report");
    flow.group->on_failure = failure_policy::run;
    const auto made = co_await tasks.workflows().submit(std::move(flow));
    for (;;) {
        const auto group = co_await tasks.workflows().find(made.group);
        if (is_final(group->state)) {
            break;
        }
        co_await sleep(std::chrono::milliseconds(10));
    }
    co_await sleep(std::chrono::milliseconds(50));  // for the report
}

task<> run_all() {
    service::memory_store store;
    service::service tasks(store);
    tasks.handle("download", &download);
    tasks.handle("merge", &merge);
    tasks.handle("report", &report);
    const auto running = spawn(tasks.run());
    co_await run_workflow(tasks);
    running.cancel();
    co_await running.wait();
}

}  // namespace

int main() {
    weir::run(run_all());
}
