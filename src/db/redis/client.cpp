// SPDX-License-Identifier: MIT
// Commands as texts, and the few that have functions of their own.

#include "base/option_checks.hpp"
#include "db/redis/client_core.hpp"

#include <weir/db/redis/client.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace weir::redis {

namespace detail {

namespace {

// The second is in capitals.
bool is_word(std::string_view given, std::string_view name) noexcept {
    return given.size() == name.size() &&
           std::equal(given.begin(), given.end(), name.begin(), [](char one, char other) {
               return (one >= 'a' && one <= 'z' ? one - 'a' + 'A' : one) == other;
           });
}

}  // namespace

void check_command(std::string_view name, std::string_view second) {
    constexpr std::array<std::string_view, 10> refused = {
        "SUBSCRIBE",    "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE",
        "SUNSUBSCRIBE", "MONITOR",    "HELLO",      "SYNC",        "PSYNC"};
    const bool is_refused =
        std::any_of(refused.begin(), refused.end(),
                    [&](std::string_view each) { return is_word(name, each); }) ||
        (is_word(name, "CLIENT") && is_word(second, "REPLY"));
    if (is_refused) {
        throw invalid_argument("redis: " + std::string(name) +
                               " changes how Redis answers, on a connection that all tasks share; "
                               "subscribe() has one of "
                               "its own");
    }
}

void append_count(std::string& to, char kind, std::size_t count) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    to += kind;
    to.append(digits.data(), end).append("\r\n");
}

void append_word(std::string& to, std::string_view word) {
    append_count(to, '$', word.size());
    to.append(word).append("\r\n");
}

void append_number(std::string& to, std::int64_t number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    append_word(to, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void append_number(std::string& to, double number) {
    if (!std::isfinite(number)) {
        throw invalid_argument("redis: a number in a command is not finite");
    }
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    append_word(to, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace detail

namespace {

void check(const client_options& options) {
    using weir::detail::throw_bad_option;
    constexpr std::string_view of = "redis::client";
    const auto above_zero = [&](std::string_view name, auto given) {
        if (given <= decltype(given){}) {
            if constexpr (std::is_same_v<decltype(given), clock::duration>) {
                throw_bad_option(of, name, given, "more than 0");
            } else {
                throw_bad_option(of, name, static_cast<double>(given), "more than 0");
            }
        }
    };
    if (options.host.empty()) {
        throw invalid_argument(
            "redis::client: host is empty; it must be a name, an address or "
            "'unix:' and a path");
    }
    if (options.database < 0) {
        throw_bad_option(of, "database", options.database, "0 or more");
    }
    if (!options.user.empty() && options.password.empty()) {
        throw invalid_argument("redis::client: a user is given, and no password");
    }
    above_zero("connect_timeout", options.connect_timeout);
    above_zero("response_timeout", options.response_timeout);
    above_zero("reconnect_delay", options.reconnect_delay);
    above_zero("max_reconnect_delay", options.max_reconnect_delay);
    above_zero("max_pending", options.max_pending);
    above_zero("max_reply_bytes", options.max_reply_bytes);
    above_zero("max_reply_elements", options.max_reply_elements);
}

}  // namespace

clock::duration client_options::pause_after(std::size_t failures) const noexcept {
    clock::duration pause = reconnect_delay;
    for (std::size_t i = 1; i < failures && pause < max_reconnect_delay; ++i) {
        pause *= 2;
    }
    return std::min(pause, max_reconnect_delay);
}

reply_error::reply_error(const std::string& words)
    : db::error(words, words.starts_with("BUSY") || words.starts_with("LOADING") ||
                               words.starts_with("TRYAGAIN") || words.starts_with("MASTERDOWN")
                           ? db::retry_advice::yes
                           : db::retry_advice::no),
      kind_(words.substr(0, words.find(' '))) {}

script::script(std::string source) : source_(std::move(source)) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    if (EVP_Digest(source_.data(), source_.size(), bytes.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw std::runtime_error("redis::script: there is no SHA-1 here");
    }
    for (unsigned i = 0; i < size; ++i) {
        constexpr std::string_view digits = "0123456789abcdef";
        digest_ += digits[bytes[i] >> 4];
        digest_ += digits[bytes[i] & 15];
    }
}

client::client(const client_options& options) {
    check(options);
    core_ = std::make_shared<detail::client_core>(options);
    core_->start();
}

client::~client() {
    core_->stop();
}

detail::command_call client::command_of(std::span<const std::string> words) {
    if (words.empty()) {
        throw invalid_argument("redis: a command has at least its name");
    }
    detail::check_command(words[0], words.size() > 1 ? std::string_view(words[1]) : "");
    std::string encoded;
    detail::append_count(encoded, '*', words.size());
    for (const std::string& each : words) {
        detail::append_word(encoded, each);
    }
    return {core_, std::move(encoded), 1};
}

detail::batch_call client::send(const batch& commands) {
    if (commands.count_ == 0) {
        throw invalid_argument("redis: the batch is empty");
    }
    return {core_, commands.encoded_, commands.count_};
}

task<value> client::run(const script& what, std::vector<std::string> keys,
                        std::vector<std::string> arguments) {
    std::vector<std::string> words = {"EVALSHA", what.digest(), std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    try {
        co_return co_await command_of(words);
    } catch (const reply_error& error) {
        if (error.kind() != "NOSCRIPT") {
            throw;
        }
    }
    words[0] = "EVAL";
    words[1] = what.source();
    co_return co_await command_of(words);
}

task<std::optional<std::string>> client::get(std::string key) {
    value found = co_await command("GET", key);
    if (found.is_nil()) {
        co_return std::nullopt;
    }
    co_return std::move(found).text();
}

task<> client::set(std::string key, std::string text) {
    co_await command("SET", key, text);
}

task<bool> client::remove(std::string key) {
    const value removed = co_await command("DEL", key);
    co_return removed.number() > 0;
}

task<std::int64_t> client::increment(std::string key, std::int64_t by) {
    const value now = co_await command("INCRBY", key, by);
    co_return now.number();
}

client_stats client::stats() const noexcept {
    return core_->stats();
}

}  // namespace weir::redis
