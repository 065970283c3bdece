// SPDX-License-Identifier: MIT
// One attempt per run: the task's own retries are durable. The store does not start a task whose
// host cannot take a request, so nothing waits here; each run reports how the host behaved.

#include "base/json_text.hpp"
#include "base/option_checks.hpp"
#include "base/raw_json.hpp"
#include "base/utf8.hpp"
#include "service/handlers/reserved_headers.hpp"

#include <weir/error.hpp>
#include <weir/http/client.hpp>
#include <weir/http/host_policies.hpp>
#include <weir/http/json.hpp>
#include <weir/http/media_type.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/io/error.hpp>
#include <weir/refusal.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace weir::service {

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// Upper bound of Retry-After: a host must not delay tasks for years.
constexpr clock::duration max_retry_after = std::chrono::hours(24);
constexpr std::chrono::seconds max_timeout(3600);

struct delivery_request {
    std::string url;
    std::string method = "POST";
    std::string body;
    bool has_body = false;
    std::string content_type;
    http::headers headers;
    std::optional<double> timeout;
};

[[noreturn]] void throw_bad_delivery(const std::string& what) {
    throw permanent_failure("http: " + what);
}

void read_headers(delivery_request& request, const json::value& value) {
    if (!value.is_object()) {
        throw_bad_delivery("headers must be an object of texts");
    }
    for (const auto& [name, text] : value.get_object()) {
        if (!text.is_string()) {
            throw_bad_delivery("the header '" + std::string(name) + "' must be a text");
        }
        if (detail::is_reserved_header(name)) {
            throw_bad_delivery("the header '" + std::string(name) +
                               "' cannot be chosen: it belongs to the connection");
        }
        try {
            request.headers.set(name, text.get_string());
        } catch (const std::exception& error) {
            throw_bad_delivery(error.what());
        }
    }
}

// `raw` is the text of the payload: JSON is delivered byte by byte as it was submitted.
void read_body(delivery_request& request, const json::value& value, std::string_view raw) {
    request.has_body = true;
    if (value.is_string()) {
        request.body = value.get_string();
        request.content_type = "text/plain; charset=utf-8";
    } else {
        request.body = base::raw_member(raw, "body");
        request.content_type = "application/json";
    }
}

delivery_request read_delivery(const json::value& payload, std::string_view raw) {
    if (!payload.is_object()) {
        throw_bad_delivery("the payload must be an object with at least a url");
    }
    delivery_request request;
    for (const auto& [name, value] : payload.get_object()) {
        if (name == "url" && value.is_string()) {
            request.url = value.get_string();
        } else if (name == "method" && value.is_string()) {
            request.method = value.get_string();
        } else if (name == "headers") {
            read_headers(request, value);
        } else if (name == "body") {
            read_body(request, value, raw);
        } else if (name == "timeout" && value.is_number()) {
            request.timeout = value.to_number<double>();
            if (!(*request.timeout > 0 && *request.timeout <= max_timeout.count())) {
                throw_bad_delivery("timeout must be above 0, and 3600 seconds at most");
            }
        } else {
            throw_bad_delivery(
                "the member " + std::string(name) +
                " is unknown or has the wrong type; expected: url and method (texts), headers"
                " (an object of texts), body, timeout (seconds)");
        }
    }
    if (request.url.empty()) {
        throw_bad_delivery("url is missing");
    }
    return request;
}

http::client_request make_request(const delivery_request& from) {
    try {
        return http::client_request(from.method, from.url);
    } catch (const std::exception& error) {
        throw_bad_delivery(error.what());
    }
}

// The part of a body that fits into the result.
struct kept_body {
    std::string text;
    bool is_cut = false;
};

task<kept_body> read_some(http::client_response& from, std::size_t max_bytes) {
    kept_body kept;
    std::array<char, 4096> piece;
    for (;;) {
        const std::size_t count = co_await from.read(piece);
        if (count == 0) {
            break;
        }
        const std::size_t room = max_bytes - kept.text.size();
        kept.text.append(piece.data(), std::min(count, room));
        if (count > room) {
            kept.is_cut = true;
            break;
        }
    }
    co_return kept;
}

// A text that was cut may end inside a character, which has four bytes at most.
void drop_broken_character(std::string& text) {
    for (int i = 0; i < 3 && !base::is_utf8(text) && !text.empty(); ++i) {
        text.pop_back();
    }
}

bool is_json_answer(std::string_view content_type, const kept_body& body) {
    const std::optional<http::media_type> type = http::media_type::try_parse(content_type);
    if (body.is_cut || !type || !type->is_json()) {
        return false;
    }
    try {
        static_cast<void>(http::parse_json(body.text));
        return true;
    } catch (const http::problem&) {
        return false;
    }
}

// As JSON. A body that is JSON is kept byte by byte.
std::string result_of(http::status code, const http::headers& headers, kept_body body) {
    std::string result = R"({"status":)" + std::to_string(static_cast<int>(code));
    const std::string_view type = headers.get("Content-Type");
    if (!type.empty()) {
        result += R"(,"content_type":)";
        base::append_json_string(result, type);
    }
    if (body.is_cut) {
        drop_broken_character(body.text);
    }
    if (is_json_answer(type, body)) {
        result += R"(,"body":)";
        result += base::trim_json(body.text);
    } else if (base::is_utf8(body.text)) {
        result += R"(,"body":)";
        base::append_json_string(result, body.text);
    }
    return result + (body.is_cut ? R"(,"truncated":true})" : R"(,"truncated":false})");
}

std::string excerpt(std::string_view text) {
    constexpr std::size_t max_bytes = 200;
    return std::string(text.substr(0, max_bytes)) + (text.size() > max_bytes ? "..." : "");
}

// The URL as errors show it, without its query: more people see errors than payloads, and many
// receivers take a password from the query.
class loggable_url {
public:
    explicit loggable_url(const http::url& to) : whole_(to.text()), shown_(whole_) {
        if (!to.query().empty()) {
            shown_ = to.with_query("").text() + "?...";
        }
    }
    const std::string& text() const noexcept { return shown_; }
    std::string in(std::string message) const {
        if (const std::size_t at = message.find(whole_); at != std::string::npos) {
            message.replace(at, whole_.size(), shown_);
        }
        return message;
    }

private:
    std::string whole_;
    std::string shown_;
};

// The span of a request, if the task has a trace. It ends with the answer's body.
class delivery_span {
public:
    delivery_span(const job& of, const delivery_request& delivery, const http::url& to,
                  const loggable_url& name)
        : job_(of), span_(of.begin_span(delivery.method, span_kind::client)) {
        if (span_.context.is_set()) {
            span_.attributes.emplace_back("http.request.method", delivery.method);
            span_.attributes.emplace_back("url.full", name.text());
            span_.attributes.emplace_back("server.address", std::string(to.host()));
            span_.attributes.emplace_back("server.port", std::int64_t{to.port()});
            span_.is_error = true;  // until an answer says otherwise
            span_.error = "no answer";
        }
    }
    delivery_span(const delivery_span&) = delete;
    delivery_span& operator=(const delivery_span&) = delete;
    ~delivery_span() { end(); }

    const trace_context& context() const noexcept { return span_.context; }
    void answered(http::status code) {
        span_.attributes.emplace_back("http.response.status_code",
                                      static_cast<std::int64_t>(http::number_of(code)));
        span_.is_error = !http::is_success(code);
        span_.error.clear();
        end();
    }
    void failed(std::string problem) { span_.error = std::move(problem); }
    // No request was sent.
    void drop() noexcept { is_open_ = false; }

private:
    void end() noexcept {
        if (std::exchange(is_open_, false)) {
            job_.end_span(std::move(span_));
        }
    }

    const job& job_;
    span span_;
    bool is_open_ = true;
};

struct delivered {
    // What the policies of the host look at.
    http::status status() const noexcept { return code; }
    const http::headers& headers() const noexcept { return fields; }

    http::status code{};
    http::headers fields;
    kept_body body;
};

const http_delivery_options& checked_delivery(const http_delivery_options& options) {
    using weir::detail::throw_bad_option;
    if (options.timeout <= clock::duration::zero()) {
        throw_bad_option("http_delivery", "timeout", options.timeout, "more than 0");
    }
    if (options.max_pause < clock::duration::zero()) {
        throw_bad_option("http_delivery", "max_pause", options.max_pause, "0 or more");
    }
    check(options.hosts);
    return options;
}

std::string destination_of(const json::value& payload) {
    const json::string& to = payload.at("url").as_string();
    const http::url parsed = http::url::parse(std::string_view(to.data(), to.size()));
    std::string name = parsed.origin();
    if (parsed.host().ends_with('.')) {  // the same host
        name.erase(
            parsed.scheme().size() + std::string_view("://").size() + parsed.host().size() - 1, 1);
    }
    return name;
}

// The URL without its query, which many senders use for what belongs to one message, and without a
// password: people see the names of endpoints.
std::string endpoint_of(const json::value& payload) {
    const json::string& to = payload.at("url").as_string();
    return http::url::parse(std::string_view(to.data(), to.size()))
        .without_credentials()
        .with_query("")
        .without_fragment()
        .canonical()
        .text();
}

// A host that tells when to come back works. One that only refuses may be overloaded.
void report_answer(job& job, http::status code, std::optional<clock::duration> retry_after,
                   clock::duration max_pause) {
    if (!http::is_retryable(code)) {
        job.report(destination_outcome::answered);
        return;
    }
    const clock::duration pause =
        std::min(retry_after.value_or(clock::duration::zero()), max_pause);
    const bool works = code == http::status::too_many_requests && pause > clock::duration::zero();
    job.report(works ? destination_outcome::answered : destination_outcome::failed,
               std::chrono::ceil<milliseconds>(pause));
}

}  // namespace

struct http_delivery::state {
    state(const http_delivery_options& settings, http::address_filter filter,
          std::vector<webhook_key> signing)
        : options(checked_delivery(settings)),
          keys(std::move(signing)),
          client({.max_connections = settings.max_connections,
                  .max_per_host = settings.hosts.max_running > 0 ? settings.hosts.max_running
                                                                 : settings.max_connections,
                  .redirects = http::redirects::none,
                  .user_agent = settings.user_agent,
                  .resolver = settings.resolver},
                 std::move(filter)) {}

    task<delivered> send(const delivery_request& delivery, std::string_view id,
                         const trace_context& trace) {
        http::client_request request = make_request(delivery);
        if (trace.is_set()) {
            request.set_header("traceparent", trace.traceparent());
            if (!trace.tracestate.empty()) {
                request.set_header("tracestate", trace.tracestate);
            }
        }
        for (const auto& [name, value] : delivery.headers) {
            request.set_header(name, value);
        }
        if (!keys.empty()) {
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
            request.set_header("webhook-id", id);
            request.set_header("webhook-timestamp", std::to_string(seconds));
            request.set_header("webhook-signature", sign_webhook(keys, id, seconds, delivery.body));
        }
        if (delivery.has_body) {
            if (delivery.headers.get("Content-Type").empty()) {
                request.set_header("Content-Type", delivery.content_type);
            }
            request.set_body(delivery.body);
        }
        request.set_timeout(delivery.timeout.has_value()
                                ? std::chrono::duration_cast<clock::duration>(
                                      std::chrono::duration<double>(*delivery.timeout))
                                : options.timeout);
        http::client_response answer = co_await client.send(std::move(request));
        delivered all;
        all.code = answer.status();
        all.fields = answer.headers();
        all.body = co_await read_some(answer, options.max_answer_bytes);
        co_return all;
    }

    // Through the policies that other users of the host go through as well, if there are such.
    task<delivered> send_politely(const http::url& to, const delivery_request& delivery,
                                  std::string_view id, const trace_context& trace) {
        if (options.shared == nullptr) {
            co_return co_await send(delivery, id, trace);
        }
        const clock::duration wait = options.shared->status_of(to).retry_after;
        if (wait > clock::duration::zero()) {
            throw postponed(to.origin() + " must not be used now",
                            std::chrono::ceil<milliseconds>(wait));
        }
        const auto call = [&] { return send(delivery, id, trace); };
        delivered answer = co_await options.shared->run(to, http::repeatable::never, call);
        co_return answer;
    }

    const http_delivery_options options;
    const std::vector<webhook_key> keys;
    http::client client;
};

http_delivery::http_delivery(const http_delivery_options& options, http::address_filter filter,
                             std::vector<webhook_key> keys)
    : state_(std::make_unique<state>(options, std::move(filter), std::move(keys))) {}
http_delivery::~http_delivery() = default;

destination_rule http_delivery::destinations() const {
    return {&destination_of, state_->options.hosts, &endpoint_of};
}

void http_delivery::check(const json::value& payload) {
    static_cast<void>(make_request(read_delivery(payload, {})));
}

weir::task<json::value> http_delivery::deliver(job& job) {
    const delivery_request delivery = read_delivery(job.payload(), job.task().payload);
    const http::url to = make_request(delivery).url();
    const loggable_url name(to);
    const std::string id = job.id().text();
    std::optional<delivered> answer;
    delivery_span traced(job, delivery, to, name);
    try {
        answer.emplace(co_await state_->send_politely(to, delivery, id, traced.context()));
        traced.answered(answer->code);
    } catch (const postponed&) {
        traced.drop();
        throw;
    } catch (const refused& error) {
        traced.drop();
        throw postponed(error.what(), std::chrono::ceil<milliseconds>(error.retry_after()));
    } catch (const http::address_refused& error) {
        throw permanent_failure(name.in(error.what()));
    } catch (const invalid_argument& error) {
        throw permanent_failure(name.in(error.what()));
    } catch (const limit_exceeded& error) {
        throw std::runtime_error(name.in(error.what()));
    } catch (const std::exception& error) {
        job.report(destination_outcome::failed);
        traced.failed(name.in(error.what()));
        throw std::runtime_error(name.in(error.what()));
    }
    const std::optional<clock::duration> requested = http::retry_after(answer->fields);
    report_answer(job, answer->code, requested, state_->options.max_pause);
    if (http::is_success(answer->code)) {
        job.set_result(result_of(answer->code, answer->fields, std::move(answer->body)));
        co_return nullptr;
    }
    const std::string problem = delivery.method + " " + name.text() + ": " +
                                std::to_string(static_cast<int>(answer->code)) + " " +
                                excerpt(answer->body.text);
    if (answer->code == http::status::gone) {
        job.report_gone();
        throw permanent_failure(problem);
    }
    if (requested.has_value()) {
        throw retry_later(problem,
                          std::chrono::ceil<milliseconds>(std::min(*requested, max_retry_after)));
    }
    throw std::runtime_error(problem);
}

}  // namespace weir::service
