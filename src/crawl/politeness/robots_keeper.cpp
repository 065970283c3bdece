// SPDX-License-Identifier: MIT
// A server that fails to give its rules gets no requests: 5xx, 429, no answer and a body that is
// cut short mean that nothing is allowed for now. 4xx means that there are no rules.

#include "crawl/politeness/robots_keeper.hpp"

#include "base/ascii.hpp"
#include "base/wall_time.hpp"

#include <weir/crawl/robots_txt.hpp>
#include <weir/http/retry_after.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace weir::crawl::detail {

namespace {

constexpr std::chrono::seconds shortest_lifetime = std::chrono::minutes(1);
constexpr std::chrono::seconds longest_lifetime = std::chrono::hours(24);

// How long the answer may be used: max-age of Cache-Control, from a minute to a day.
std::chrono::seconds lifetime_of(const http::headers& headers) {
    std::chrono::seconds found = longest_lifetime;
    const auto visit = [&found](std::string_view directive) {
        const std::size_t equals = std::min(directive.find('='), directive.size());
        const std::string_view name = directive.substr(0, equals);
        if (http::same_name(name, "no-store") || http::same_name(name, "no-cache")) {
            found = shortest_lifetime;
        } else if (http::same_name(name, "max-age") && equals < directive.size()) {
            std::uint32_t seconds = 0;
            const std::string_view value = directive.substr(equals + 1);
            const auto read = std::from_chars(value.data(), value.data() + value.size(), seconds);
            if (read.ec == std::errc()) {
                found = std::min(found, std::max(shortest_lifetime, std::chrono::seconds(seconds)));
            }
        }
    };
    base::for_each_element(headers.joined("Cache-Control"), visit);
    return found;
}

}  // namespace

std::string robots_token(std::string_view user_agent) {
    const auto end = std::find_if_not(user_agent.begin(), user_agent.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    });
    return std::string(user_agent.begin(), end);
}

robots_keeper::robots_keeper(const crawl_options& options, fetcher& from)
    : options_(options), fetcher_(from), token_(robots_token(options.user_agent)) {}

bool robots_keeper::is_ignored(const crawl_host& host) const {
    if (!options_.obey_robots) {
        return true;
    }
    const std::string_view origin = host.row.origin;
    const std::string_view authority = origin.substr(origin.find("//") + 2);
    return std::any_of(options_.ignore_robots.begin(), options_.ignore_robots.end(),
                       [authority](const std::string& name) {
                           return authority == name ||
                                  authority.substr(0, authority.rfind(':')) == name;
                       });
}

bool robots_keeper::is_current(const crawl_host& host) const {
    if (is_ignored(host)) {
        return true;
    }
    const host_row& row = host.row;
    return (row.robots == robots_state::rules || row.robots == robots_state::absent) &&
           weir::detail::wall_time() - row.robots_at < max_age;
}

void robots_keeper::apply(crawl_host& host) const {
    host.robots = nullptr;
    host.is_prepared = is_current(host);
    host.prepared_until =
        is_ignored(host) ? clock::time_point::max()
                         : now() + (max_age - (weir::detail::wall_time() - host.row.robots_at));
    if (is_ignored(host) || host.row.robots != robots_state::rules) {
        return;
    }
    host.robots =
        std::make_shared<const robots_txt>(robots_txt::parse(host.row.robots_text, token_));
    if (const auto delay = host.robots->crawl_delay()) {
        host.gate.slow_down(std::min<clock::duration>(*delay, options_.max_crawl_delay));
    }
}

bool robots_keeper::allows(const crawl_host& host, std::string_view target) const {
    return host.robots == nullptr || host.robots->allows(target);
}

task<fetch_result> robots_keeper::ask(http::url url) {
    fetch_request request;
    request.url = std::move(url);
    request.body = body_wish::all;
    request.timeout = std::min<clock::duration>(timeout, options_.timeout);
    request.max_body = max_size;
    fetch_result answer = co_await fetcher_.fetch(std::move(request));
    co_return answer;
}

task<> robots_keeper::update(crawl_host& host) {
    http::url url = http::url::parse(host.row.origin + "/robots.txt");
    fetch_result answer = co_await ask(url);
    int hops = 0;
    for (; !answer.error && answer.status >= 300 && answer.status < 400; ++hops) {
        const std::string_view location = answer.headers.get("location");
        const std::optional<http::url> next = url.try_resolve(location);
        if (hops == max_hops || location.empty() || !next || !next->scheme().starts_with("http")) {
            answer.status = 404;  // RFC 9309: too many redirects are as good as no file
            break;
        }
        url = *next;
        answer = co_await ask(url);
    }
    take_answer(host, answer, hops);
}

void robots_keeper::take_answer(crawl_host& host, const fetch_result& answer, int hops) const {
    host_row& row = host.row;
    if (answer.is_local_fault) {
        host.gate.wait_until(now() + local_fault_pause, host_gate::wait_reason::robots);
        return;
    }
    if (answer.error.kind == error_kind::address_refused && hops == 0) {
        // Nothing of the host is contacted: each page fails with the same reason. A host that only
        // redirects to such an address could be contacted, and has rules that nobody may read.
        row.robots = robots_state::absent;
        row.robots_at = weir::detail::wall_time();
        apply(host);
        return;
    }
    const bool is_long = answer.error.kind == error_kind::too_large && answer.status != 0;
    if ((answer.error && !is_long) || answer.status == 429 || answer.status >= 500) {
        fail(host, answer);
        return;
    }
    const bool has_rules = answer.status >= 200 && answer.status < 300;
    row.robots = has_rules ? robots_state::rules : robots_state::absent;
    row.robots_text = has_rules ? answer.body.substr(0, max_size) : std::string();
    row.robots_at = weir::detail::wall_time() - (max_age - lifetime_of(answer.headers));
    row.robots_failures = 0;
    apply(host);
}

void robots_keeper::fail(crawl_host& host, const fetch_result& answer) const {
    host_row& row = host.row;
    // A host that cannot be reached fails like its pages would; one that answers badly gets time.
    const bool is_unreachable = answer.status == 0 && answer.error.kind != error_kind::truncated &&
                                answer.error.kind != error_kind::address_refused;
    clock::duration pause = is_unreachable ? options_.retry_delay : options_.robots_retry_delay;
    if (const auto wait = http::retry_after(answer.headers)) {
        pause = std::max<clock::duration>(pause, std::min(*wait, options_.max_retry_after));
    }
    if (row.robots == robots_state::rules || row.robots == robots_state::absent) {
        // The old copy counts until the next try.
        row.robots_at = weir::detail::wall_time() - max_age +
                        std::chrono::duration_cast<std::chrono::microseconds>(pause);
        apply(host);
        return;
    }
    row.robots = robots_state::failed;
    if (++row.robots_failures < max_failures) {
        host.gate.wait_until(now() + pause, host_gate::wait_reason::robots);
        return;
    }
    row.given_up_kind = is_unreachable ? answer.error.kind : error_kind::robots;
    row.given_up = row.origin + "/robots.txt could not be fetched: " +
                   (answer.error ? answer.error.text
                                 : "it was answered with status " + std::to_string(answer.status));
}

}  // namespace weir::crawl::detail
