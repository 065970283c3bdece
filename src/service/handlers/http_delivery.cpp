// SPDX-License-Identifier: MIT
// One attempt per run: the task's own retries are durable, so the client's are switched off. What
// the policies refuse was not sent, and becomes a postponement.

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

// Of Retry-After: a host may not put off our tasks for years.
constexpr clock::duration longest_wait = std::chrono::hours(24);
constexpr std::chrono::seconds longest_answer(3600);

struct delivery_request {
    std::string url;
    std::string method = "POST";
    std::string body;
    bool has_body = false;
    std::string content_type;
    http::headers headers;
    std::optional<double> timeout;
};

[[noreturn]] void refuse(const std::string& what) {
    throw permanent_failure("http: " + what);
}

// They say where a request ends, whose it is, or what becomes of its connection, which other tasks
// share: who could set them could speak for those.
bool is_the_clients(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 9> own = {"Connection", "Content-Length",    "Expect",
                                                     "Host",       "Keep-Alive",        "TE",
                                                     "Trailer",    "Transfer-Encoding", "Upgrade"};
    constexpr std::string_view proxy = "Proxy-";
    return std::any_of(own.begin(), own.end(),
                       [&](std::string_view each) { return http::same_name(name, each); }) ||
           http::same_name(name.substr(0, proxy.size()), proxy);
}

void read_headers(delivery_request& into, const json::value& given) {
    if (!given.is_object()) {
        refuse("headers must be an object of texts");
    }
    for (const auto& [name, value] : given.get_object()) {
        if (!value.is_string()) {
            refuse("the header '" + std::string(name) + "' must be a text");
        }
        if (is_the_clients(name)) {
            refuse("the header '" + std::string(name) +
                   "' cannot be chosen: it belongs to the connection");
        }
        try {
            into.headers.set(name, value.get_string());
        } catch (const std::exception& error) {
            refuse(error.what());
        }
    }
}

void read_body(delivery_request& into, const json::value& given) {
    into.has_body = true;
    if (given.is_string()) {
        into.body = given.get_string();
        into.content_type = "text/plain; charset=utf-8";
    } else {
        into.body = http::to_json(given);
        into.content_type = "application/json";
    }
}

delivery_request read_request(const json::value& payload) {
    if (!payload.is_object()) {
        refuse("the payload must be an object with at least a url");
    }
    delivery_request made;
    for (const auto& [name, value] : payload.get_object()) {
        if (name == "url" && value.is_string()) {
            made.url = value.get_string();
        } else if (name == "method" && value.is_string()) {
            made.method = value.get_string();
        } else if (name == "headers") {
            read_headers(made, value);
        } else if (name == "body") {
            read_body(made, value);
        } else if (name == "timeout" && value.is_number()) {
            made.timeout = value.to_number<double>();
            if (!(*made.timeout > 0 && *made.timeout <= longest_answer.count())) {
                refuse("timeout must be above 0, and 3600 seconds at most");
            }
        } else {
            refuse("the member " + std::string(name) +
                   " is not known or of another type; there are url and method (texts), headers"
                   " (an object of texts), body, timeout (seconds)");
        }
    }
    if (made.url.empty()) {
        refuse("url is missing");
    }
    return made;
}

http::client_request make_request(const delivery_request& from) {
    try {
        return http::client_request(from.method, from.url);
    } catch (const std::exception& error) {
        refuse(error.what());
    }
}

// What fits into the result: text, cut at a character.
struct kept_answer {
    std::string text;
    bool is_cut = false;
};

task<kept_answer> read_some(http::client_response& from, std::size_t most) {
    kept_answer kept;
    std::array<char, 4096> piece;
    for (;;) {
        const std::size_t count = co_await from.read(piece);
        if (count == 0) {
            break;
        }
        const std::size_t room = most - kept.text.size();
        kept.text.append(piece.data(), std::min(count, room));
        if (count > room) {
            kept.is_cut = true;
            break;
        }
    }
    co_return kept;
}

// A text that was cut may end in the middle of a character, of four bytes at most.
void drop_broken_character(std::string& text) {
    for (int i = 0; i < 3 && !base::is_utf8(text) && !text.empty(); ++i) {
        text.pop_back();
    }
}

json::value result_of(http::status code, const http::headers& headers, kept_answer body) {
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

std::string shown(std::string_view text) {
    constexpr std::size_t most = 200;
    return std::string(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

// Errors are seen by more people than payloads, and many a receiver takes its password from the
// query.
class nameable {
public:
    explicit nameable(const http::url& to) : whole_(to.text()), shown_(whole_) {
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
    kept_answer body;

    http::status status() const noexcept { return code; }
    const http::headers& headers() const noexcept { return fields; }
};

// Tasks wait in the store, where it costs nothing, and not with a worker. How long an answer may
// take is a matter of each request: the limit for all of them must not cut short those that ask for
// more.
http::host_policies_options for_tasks(http::host_policies_options given) {
    given.max_attempts = 1;
    if (given.attempt_timeout > clock::duration::zero()) {  // else it is refused, as it should be
        given.attempt_timeout =
            std::max<clock::duration>(given.attempt_timeout, 2 * longest_answer);
    }
    given.max_wait = std::min<clock::duration>(given.max_wait, std::chrono::seconds(1));
    return given;
}

}  // namespace

struct http_delivery::state {
    state(const http_delivery_options& given, http::address_filter filter,
          std::vector<webhook_key> signing)
        : options(given),
          keys(std::move(signing)),
          client({.max_connections = given.max_connections,
                  .max_per_host = given.hosts.max_concurrent,
                  .redirects = http::redirects::none,
                  .user_agent = given.user_agent,
                  .resolver = given.resolver},
                 std::move(filter)),
          hosts(for_tasks(given.hosts)) {}

    task<delivered> send(const delivery_request& wanted, std::string_view id) {
        http::client_request request = make_request(wanted);
        for (const auto& [name, value] : wanted.headers) {
            request.set_header(name, value);
        }
        if (!keys.empty()) {
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
            request.set_header("webhook-id", id);
            request.set_header("webhook-timestamp", std::to_string(seconds));
            request.set_header("webhook-signature", sign_webhook(keys, id, seconds, wanted.body));
        }
        if (wanted.has_body) {
            if (wanted.headers.get("Content-Type").empty()) {
                request.set_header("Content-Type", wanted.content_type);
            }
            request.set_body(wanted.body);
        }
        request.set_timeout(wanted.timeout.has_value()
                                ? std::chrono::duration_cast<clock::duration>(
                                      std::chrono::duration<double>(*wanted.timeout))
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
    static_cast<void>(make_request(read_request(payload)));
}

weir::task<json::value> http_delivery::deliver(job& what) {
    const delivery_request wanted = read_request(what.payload());
    const http::url to = make_request(wanted).url();
    const nameable name(to);
    const std::string id = what.id().text();
    const auto send = [&] { return state_->send(wanted, id); };
    std::optional<delivered> answer;
    std::optional<postponed> later;
    try {
        answer.emplace(co_await state_->hosts.run(to, http::repeatable::never, send));
    } catch (const refused& error) {
        // Not less than a moment: whoever is refused at once must not be claimed again at once.
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
    const std::string problem = wanted.method + " " + name.text() + ": " +
                                std::to_string(static_cast<int>(answer->code)) + " " +
                                shown(answer->body.text);
    if (answer->code == http::status::gone) {
        throw permanent_failure(problem);
    }
    if (const auto asked = http::retry_after(answer->fields)) {
        throw retry_later(problem, std::chrono::ceil<milliseconds>(std::min(*asked, longest_wait)));
    }
    throw std::runtime_error(problem);
}

}  // namespace weir::service
