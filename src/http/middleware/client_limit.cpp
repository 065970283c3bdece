// SPDX-License-Identifier: MIT
// A keyed_limiter with numbers as keys for addresses, and texts for the keys of a user's function.
// The time until a whole burst is available again tells how much of it is available now.

#include "base/option_checks.hpp"
#include "base/quoted.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/problem.hpp>

#include <netinet/in.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weir::http {

namespace {

std::uint64_t whole_seconds(clock::duration time) {
    return static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::seconds>(std::max(time, clock::duration::zero())).count());
}

template <class Key>
keyed_limiter_options<Key> limiter_options(const client_limit_options& options) {
    return {.rate = options.rate,
            .per = options.per,
            .burst = options.burst,
            .max_keys = options.max_clients,
            .name = options.name};
}

// The remaining quota of one client.
struct allowance {
    std::uint64_t remaining = 0;
    std::uint64_t reset = 0;  // seconds
};

}  // namespace

class client_limit::state {
public:
    explicit state(const client_limit_options& options)
        : quota_(static_cast<std::uint64_t>(options.burst)),
          per_second_(options.rate / std::chrono::duration<double>(options.per).count()),
          burst_(options.burst),
          name_(options.name),
          quota_text_(std::to_string(quota_)),
          policy_("\"" + name_ + "\";q=" + quota_text_ + ";w=" +
                  std::to_string(static_cast<std::uint64_t>(
                      std::clamp(std::ceil(burst_ / per_second_), 1.0, 1e15)))) {}
    virtual ~state() = default;

    struct decision {
        bool has_limit = true;
        admission<let_through> result = let_through{};
        allowance left;
    };
    virtual decision decide(const request& request) = 0;
    virtual client_limit_stats stats() const = 0;
    virtual void write_metrics(metric_writer& to) const = 0;

    // The older headers have room for one limit: of several, the tightest.
    void add_headers(headers& to, const allowance& left) const {
        const std::string remaining = std::to_string(left.remaining);
        const std::string reset = std::to_string(left.reset);
        const std::string_view other = to.get("RateLimit-Remaining");
        const bool is_tighter =
            other.empty() || remaining.size() < other.size() ||
            (remaining.size() == other.size() && remaining < other);  // both without leading zeros
        if (is_tighter) {
            to.set("RateLimit-Limit", quota_text_);
            to.set("RateLimit-Remaining", remaining);
            to.set("RateLimit-Reset", reset);
        }
        to.add("RateLimit-Policy", policy_);
        to.add("RateLimit", "\"" + name_ + "\";r=" + remaining + ";t=" + reset);
    }

protected:
    allowance left_after(clock::duration until_full) const {
        // Whole requests, with a tolerance of a billionth.
        const double missing = std::chrono::duration<double>(until_full).count() * per_second_;
        const double left = std::clamp(std::floor(burst_ - missing + 1e-9), 0.0, burst_);
        return {static_cast<std::uint64_t>(left), whole_seconds(until_full)};
    }
    double burst() const noexcept { return burst_; }

private:
    std::uint64_t quota_;
    double per_second_;
    double burst_;
    std::string name_;
    std::string quota_text_;
    std::string policy_;
};

template <class Key>
class client_limit::keyed_state final : public state {
public:
    keyed_state(const client_limit_options& options, key_function key)
        : state(options),
          limiter_(limiter_options<Key>(options)),
          ipv6_prefix_(options.ipv6_prefix),
          key_(std::move(key)) {}

    decision decide(const request& request) override {
        Key key{};
        if constexpr (std::same_as<Key, std::string>) {
            key = key_(request);
            if (key.empty()) {
                return {.has_limit = false, .result = let_through{}, .left = {}};
            }
        } else {
            key = client_key(request.client_address(), ipv6_prefix_);
        }
        admission<let_through> result = limiter_.try_acquire(key);
        return {.has_limit = true,
                .result = std::move(result),
                .left = left_after(limiter_.retry_after(key, burst()))};
    }

    client_limit_stats stats() const override {
        const keyed_limiter_stats counted = limiter_.stats();
        return {.let_in = counted.granted,
                .refused = counted.limited,
                .full = counted.full,
                .clients = counted.keys};
    }
    void write_metrics(metric_writer& to) const override { limiter_.write_metrics(to); }

private:
    keyed_limiter<Key> limiter_;
    unsigned ipv6_prefix_;
    key_function key_;
};

namespace {

const client_limit_options& checked(const client_limit_options& options) {
    if (options.ipv6_prefix < 1 || options.ipv6_prefix > 64) {
        weir::detail::throw_bad_option("client_limit", "ipv6_prefix", options.ipv6_prefix,
                                       "from 1 to 64");
    }
    if (!weir::detail::is_positive(options.rate)) {
        weir::detail::throw_bad_option("client_limit", "rate", options.rate, "more than 0");
    }
    if (options.per <= clock::duration::zero()) {
        weir::detail::throw_bad_option("client_limit", "per", options.per, "more than 0");
    }
    if (!(options.burst >= 1 && options.burst <= 1e9)) {
        weir::detail::throw_bad_option("client_limit", "burst", options.burst,
                                       "from 1 to a billion");
    }
    if (options.name.empty() || !detail::is_quotable(options.name)) {
        throw invalid_argument("client_limit: the name " + base::quoted(options.name) +
                               " cannot be in a header");
    }
    return options;
}

}  // namespace

client_limit::client_limit(const client_limit_options& options)
    : state_(std::make_shared<keyed_state<std::uint64_t>>(checked(options), key_function())) {}

client_limit::client_limit(const client_limit_options& options, key_function key) {
    if (!key) {
        throw invalid_argument("client_limit: the key function is empty");
    }
    state_ = std::make_shared<keyed_state<std::string>>(checked(options), std::move(key));
}

task<response> client_limit::operator()(request& request, next inner) const {
    const state::decision decided = state_->decide(request);
    if (!decided.has_limit) {
        co_return co_await inner(request);
    }
    if (decided.result) {
        response answer = co_await answered(inner, request);
        state_->add_headers(answer.headers(), decided.left);
        co_return answer;
    }
    const refusal& refusal = decided.result.refusal();
    const bool is_full = refusal.reason == refusal_reason::too_many_keys;
    const std::string wait = to_retry_after(refusal.retry_after);
    problem_details details(is_full ? status::service_unavailable : status::too_many_requests);
    details.detail(is_full ? "too many clients" : "too many requests")
        .header("Retry-After", wait)
        .json_member("retry_after", wait);
    response answer = details.to_response();
    if (!is_full) {
        state_->add_headers(answer.headers(), decided.left);
    }
    co_return answer;
}

client_limit_stats client_limit::stats() const {
    return state_->stats();
}

void client_limit::write_metrics(metric_writer& to) const {
    state_->write_metrics(to);
}

std::uint64_t client_key(const io::address& client, unsigned ipv6_prefix) noexcept {
    // No IPv6 address begins with 0000:0000:ffff, so there is room for IPv4.
    constexpr std::uint64_t ipv4 = std::uint64_t{0xffff} << 32;
    const auto number_at = [](const unsigned char* bytes, std::size_t count) {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < count; ++i) {
            number = number << 8 | bytes[i];
        }
        return number;
    };
    if (client.kind() == io::address::family::ipv4) {
        sockaddr_in raw;
        std::memcpy(&raw, client.data(), sizeof raw);
        return ipv4 | ntohl(raw.sin_addr.s_addr);
    }
    if (client.kind() == io::address::family::ipv6) {
        sockaddr_in6 raw;
        std::memcpy(&raw, client.data(), sizeof raw);
        const unsigned char* const bytes = raw.sin6_addr.s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&raw.sin6_addr)) {
            return ipv4 | number_at(bytes + 12, 4);
        }
        return number_at(bytes, 8) >> (64 - ipv6_prefix) << (64 - ipv6_prefix);
    }
    return 1;
}

}  // namespace weir::http
