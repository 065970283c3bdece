// SPDX-License-Identifier: MIT
// One request at a time. A batch stays in the buffer until it was answered, so the buffer's limit
// counts it too.

#include "base/option_checks.hpp"
#include "service/engine/wall_clock.hpp"
#include "service/tracing/otlp_json.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/http/client.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/service/otlp_exporter.hpp>
#include <weir/sync/event.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace weir::service {

namespace {

otlp_options checked(otlp_options options) {
    using weir::detail::throw_bad_option;
    const std::optional<http::url> parsed = http::url::try_parse(options.endpoint);
    if (!parsed || (parsed->scheme() != "http" && parsed->scheme() != "https")) {
        throw_bad_option("otlp_exporter", "endpoint", std::string_view(options.endpoint),
                         "a URL such as http://127.0.0.1:4318");
    }
    if (options.max_batch == 0 || options.max_buffered < options.max_batch) {
        throw_bad_option("otlp_exporter", "max_batch", static_cast<double>(options.max_batch),
                         "1 to max_buffered");
    }
    const std::pair<std::string_view, clock::duration> durations[] = {
        {"interval", options.interval},
        {"timeout", options.timeout},
        {"initial_delay", options.initial_delay}};
    for (const auto& [name, value] : durations) {
        if (value <= clock::duration::zero()) {
            throw_bad_option("otlp_exporter", name, value, "more than 0");
        }
    }
    while (options.endpoint.ends_with('/')) {
        options.endpoint.pop_back();
    }
    return options;
}

// How a request has ended.
struct attempt_result {
    enum class verdict : unsigned char { exported, again, refused };
    attempt_result() = default;

    verdict what = verdict::again;
    clock::duration least_delay{0};  // that the collector asked for
    std::string problem;
};

}  // namespace

struct otlp_exporter::state {
    explicit state(otlp_options settings)
        : options(checked(std::move(settings))),
          url(options.endpoint + "/v1/traces"),
          client({.max_connections = 1,
                  .max_per_host = 1,
                  .timeout = options.timeout,
                  .redirects = http::redirects::none,
                  .user_agent = "weir"}) {}

    task<> run();
    task<> send_all();
    // Sends the first spans of the buffer. False: they must be sent again.
    task<bool> send_batch();
    task<attempt_result> send(std::string body);
    void note(const attempt_result& result);
    clock::duration next_delay(const attempt_result& last);

    const otlp_options options;
    const std::string url;
    http::client client;
    std::deque<span> buffer;
    event wake;  // a batch is full, or the exporter stops
    event stopped;
    bool is_stopping = false;
    clock::duration delay{0};
    clock::time_point not_before{};  // the next request
    bool works = true;
    otlp_stats counts;
};

otlp_exporter::otlp_exporter(otlp_options options)
    : state_(std::make_unique<state>(std::move(options))) {}
otlp_exporter::~otlp_exporter() = default;

void otlp_exporter::record(span ended) noexcept {
    try {
        if (state_->buffer.size() < state_->options.max_buffered) {
            state_->buffer.push_back(std::move(ended));
            if (state_->buffer.size() == state_->options.max_batch) {
                state_->wake.set();
            }
            return;
        }
    } catch (const std::exception&) {
        // Out of memory.
    }
    ++state_->counts.dropped;
}

task<> otlp_exporter::run() {
    return state_->run();
}

otlp_stats otlp_exporter::stats() const noexcept {
    otlp_stats all = state_->counts;
    all.buffered = state_->buffer.size();
    return all;
}

void otlp_exporter::write_metrics(metric_writer& to) const {
    const otlp_stats now = stats();
    to.counter("weir_tracing_exported_total", "Spans that the collector has taken", {},
               static_cast<double>(now.exported));
    to.counter("weir_tracing_dropped_total",
               "Spans dropped because the buffer was full or the collector refused them", {},
               static_cast<double>(now.dropped));
    to.counter("weir_tracing_failures_total", "Requests to the collector that failed", {},
               static_cast<double>(now.failures));
    to.gauge("weir_tracing_buffered", "Spans that wait for their export", {},
             static_cast<double>(now.buffered));
}

// A stop lets the request in flight end, since the collector may have its spans already.
task<> otlp_exporter::state::run() {
    is_stopping = false;
    stopped.clear();
    auto body = [this](task_group& group) -> task<> {
        const any_handle sending = group.spawn(send_all(), {.name = "otlp exporter"});
        weir::outcome<> stop = co_await intercept(sleep_forever());
        is_stopping = true;
        wake.set();
        stopped.set();
        auto rest = [&sending]() -> task<> { co_await sending.wait(); };
        co_await shield(timeout_or(options.flush_limit, rest(), unit{}));
        sending.cancel();
        co_await std::move(stop);
    };
    co_await with_group(body);
}

// Until the exporter stops; then what is left, without another attempt after a failure.
task<> otlp_exporter::state::send_all() {
    for (bool is_taken = true; !is_stopping || (is_taken && !buffer.empty());) {
        if (!is_stopping && not_before > weir::now()) {
            co_await detail::wait_until(stopped, not_before);
        } else if (!is_stopping && buffer.size() < options.max_batch) {
            wake.clear();
            co_await detail::wait_until(wake, weir::now() + options.interval);
        }
        if (!buffer.empty()) {
            is_taken = co_await send_batch();
        }
    }
}

task<bool> otlp_exporter::state::send_batch() {
    const std::size_t count = std::min(buffer.size(), options.max_batch);
    const std::vector<span> batch(buffer.begin(),
                                  buffer.begin() + static_cast<std::ptrdiff_t>(count));
    const attempt_result result =
        co_await send(detail::otlp_body(batch, options.service_name, options.version));
    note(result);
    if (result.what == attempt_result::verdict::again) {
        not_before = weir::now() + next_delay(result);
        co_return false;
    }
    delay = {};
    (result.what == attempt_result::verdict::exported ? counts.exported : counts.dropped) += count;
    buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
    co_return true;
}

task<attempt_result> otlp_exporter::state::send(std::string body) {
    attempt_result result;
    try {
        http::client_request request(http::method::post, url);
        request.set_body(std::move(body), "application/json");
        http::client_response answer = co_await client.send(std::move(request));
        constexpr std::size_t max_answer = 64 << 10;
        const std::string text = co_await answer.text(max_answer);
        if (http::is_success(answer.status())) {
            result.what = attempt_result::verdict::exported;
        } else {
            result.problem = "it answers " + std::to_string(http::number_of(answer.status()));
            if (http::is_retryable(answer.status())) {
                result.least_delay =
                    http::retry_after(answer.headers()).value_or(clock::duration::zero());
            } else {
                result.what = attempt_result::verdict::refused;
            }
        }
    } catch (const std::exception& error) {
        result.problem = error.what();
    }
    co_return result;
}

// The log has one line when the collector begins to fail, and one when it works again.
void otlp_exporter::state::note(const attempt_result& result) {
    const bool is_well = result.what == attempt_result::verdict::exported;
    counts.failures += is_well ? 0 : 1;
    if (std::exchange(works, is_well) != is_well && options.log) {
        options.log(is_well ? "traces are exported again"
                            : "traces cannot be exported to " + options.endpoint + ": " +
                                  result.problem);
    }
}

clock::duration otlp_exporter::state::next_delay(const attempt_result& last) {
    delay = std::min(delay == clock::duration::zero() ? options.initial_delay : 2 * delay,
                     options.max_delay);
    constexpr clock::duration max_requested = std::chrono::minutes(5);
    return std::max(delay, std::min(last.least_delay, max_requested));
}

}  // namespace weir::service
