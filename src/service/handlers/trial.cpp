// SPDX-License-Identifier: MIT
// An echo has the text of its payload as result, byte by byte. A sleep reports its progress twenty
// times.

#include <weir/service/handlers/trial.hpp>
#include <weir/time.hpp>

#include <chrono>
#include <stdexcept>

namespace weir::service {

namespace json = boost::json;

weir::task<json::value> echo(job& job) {
    const json::value& payload = job.payload();
    if (payload.is_object()) {
        const json::value* const message = payload.get_object().if_contains("fail");
        if (message != nullptr && message->is_string()) {
            throw std::runtime_error(std::string(message->get_string()));
        }
    }
    job.set_result(job.task().payload);
    co_return nullptr;
}

weir::task<json::value> sleep_handler(job& job) {
    const json::value& payload = job.payload();
    const json::value* duration = &payload;
    if (payload.is_object() && payload.get_object().contains("seconds")) {
        duration = &payload.get_object().at("seconds");
    }
    const double seconds = duration->is_number() ? duration->to_number<double>() : -1;
    if (!(seconds >= 0 && seconds <= 86400)) {
        throw permanent_failure(
            R"(sleep: the payload must be 0 to 86400, or {"seconds": 0 to 86400})");
    }
    constexpr int steps = 20;
    for (int i = 0; i < steps; ++i) {
        job.progress(static_cast<double>(i) / steps);
        co_await sleep(std::chrono::duration_cast<clock::duration>(
            std::chrono::duration<double>(seconds / steps)));
    }
    json::object result;
    result["slept"] = *duration;
    co_return result;
}

}  // namespace weir::service
