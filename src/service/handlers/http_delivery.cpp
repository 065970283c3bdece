// SPDX-License-Identifier: MIT
// One attempt per run: the task's own retries are durable, so the client's are switched off. A
// request that the host's policies refuse was not sent, so the task is postponed.

#include "base/utf8.hpp"

#include <weir/error.hpp>
#include <weir/http/client.hpp>
#include <weir/http/json.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/refusal.hpp>
#include <weir/service/handlers/http_delivery.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

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

// Headers that frame the request or control the connection, which other tasks share: a payload that
// set them could inject requests.
bool is_reserved(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 9> reserved = {
        "Connection", "Content-Length",    "Expect", "Host", "Keep-Alive", "TE",
        "Trailer",    "Transfer-Encoding", "Upgrade"};
    constexpr std::string_view proxy = "Proxy-";
    return std::any_of(reserved.begin(), reserved.end(),
                       [&](std::string_view each) { return http::same_name(name, each); }) ||
           http::same_name(name.substr(0, proxy.size()), proxy);
}

void read_headers(delivery_request& request, const json::value& value) {
    if (!value.is_object()) {
        throw_bad_delivery("headers must be an object of texts");
    }
    for (const auto& [name, text] : value.get_object()) {
        if (!text.is_string()) {
            throw_bad_delivery("the header '" + std::string(name) + "' must be a text");
        }
        if (is_reserved(name)) {
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

void read_body(delivery_request& request, const json::value& value) {
    request.has_body = true;
    if (value.is_string()) {
        request.body = value.get_string();
        request.content_type = "text/plain; charset=utf-8";
    } else {
        request.body = http::to_json(value);
        request.content_type = "application/json";
    }
}

delivery_request read_delivery(const json::value& payload) {
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
            read_body(request, value);
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

json::value result_of(http::status code, const http::headers& headers, kept_body body) {
    json::object result;
    result["status"] = static_cast<int>(code);
    if (const std::string_view type = headers.get("Content-Type"); !type.empty()) {
        result["content_type"] = type;
    }
    if (body.is_cut) {
        drop_broken_character(body.text);
    }
    if (base::is_utf8(body.text)) {
        result["body"] = body.text;
    }
    result["truncated"] = body.is_cut;
    return result;
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

struct delivered {
    http::status code{};
    http::headers fields;
    kept_body body;

    http::status status() const noexcept { return code; }
    const http::headers& headers() const noexcept { return fields; }
};

// Refused tasks wait in the store, where waiting is free, and not in a worker. The time limit is
// set per request, so the limit of the policies must not be shorter than the longest of them.
http::host_policies_options for_tasks(http::host_policies_options options) {
    options.max_attempts = 1;
    if (options.attempt_timeout > clock::duration::zero()) {  // otherwise host_policies refuses it
        options.attempt_timeout =
            std::max<clock::duration>(options.attempt_timeout, 2 * max_timeout);
    }
    options.max_wait = std::min<clock::duration>(options.max_wait, std::chrono::seconds(1));
    return options;
}

}  // namespace

struct http_delivery::state {
    state(const http_delivery_options& settings, http::address_filter filter,
          std::vector<webhook_key> signing)
        : options(settings),
          keys(std::move(signing)),
          client({.max_connections = settings.max_connections,
                  .max_per_host = settings.hosts.max_concurrent,
                  .redirects = http::redirects::none,
                  .user_agent = settings.user_agent,
                  .resolver = settings.resolver},
                 std::move(filter)),
          hosts(for_tasks(settings.hosts)) {}

    task<delivered> send(const delivery_request& delivery, std::string_view id) {
        http::client_request request = make_request(delivery);
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
                                : options.hosts.attempt_timeout);
        http::client_response answer = co_await client.send(std::move(request));
        delivered all;
        all.code = answer.status();
        all.fields = answer.headers();
        all.body = co_await read_some(answer, options.max_answer_bytes);
        co_return all;
    }

    const http_delivery_options options;
    const std::vector<webhook_key> keys;
    http::client client;
    http::host_policies hosts;
};

http_delivery::http_delivery(const http_delivery_options& options, http::address_filter filter,
                             std::vector<webhook_key> keys)
    : state_(std::make_unique<state>(options, std::move(filter), std::move(keys))) {}
http_delivery::~http_delivery() = default;

http::host_policies& http_delivery::hosts() noexcept {
    return state_->hosts;
}

void http_delivery::check(const json::value& payload) {
    static_cast<void>(make_request(read_delivery(payload)));
}

weir::task<json::value> http_delivery::deliver(job& job) {
    const delivery_request delivery = read_delivery(job.payload());
    const http::url to = make_request(delivery).url();
    const loggable_url name(to);
    const std::string id = job.id().text();
    const auto send = [&] { return state_->send(delivery, id); };
    std::optional<delivered> answer;
    std::optional<postponed> later;
    try {
        answer.emplace(co_await state_->hosts.run(to, http::repeatable::never, send));
    } catch (const refused& error) {
        // At least a moment: a task that is refused at once must not be claimed again at once.
        const auto wait = std::chrono::ceil<milliseconds>(std::clamp<clock::duration>(
            error.retry_after(), milliseconds(100), std::chrono::hours(1)));
        later.emplace(error.what(), wait);
    } catch (const http::address_refused& error) {
        throw permanent_failure(name.in(error.what()));
    } catch (const invalid_argument& error) {
        throw permanent_failure(name.in(error.what()));
    } catch (const std::exception& error) {
        throw std::runtime_error(name.in(error.what()));
    }
    if (later.has_value()) {
        throw *later;
    }
    if (http::is_success(answer->code)) {
        co_return result_of(answer->code, answer->fields, std::move(answer->body));
    }
    const std::string problem = delivery.method + " " + name.text() + ": " +
                                std::to_string(static_cast<int>(answer->code)) + " " +
                                excerpt(answer->body.text);
    if (answer->code == http::status::gone) {
        throw permanent_failure(problem);
    }
    if (const auto requested = http::retry_after(answer->fields)) {
        throw retry_later(problem,
                          std::chrono::ceil<milliseconds>(std::min(*requested, max_retry_after)));
    }
    throw std::runtime_error(problem);
}

}  // namespace weir::service
