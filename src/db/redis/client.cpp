// SPDX-License-Identifier: MIT
// The client forwards commands to its core, which its task shares.

#include "base/option_checks.hpp"
#include "base/quoted.hpp"
#include "db/redis/client_core.hpp"
#include "db/redis/dedicated_line.hpp"
#include "db/redis/subscription.hpp"

#include <weir/db/redis/client.hpp>
#include <weir/error.hpp>
#include <weir/flow/decision/backoff.hpp>
#include <weir/loop.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace weir::redis {

namespace {

void check(const client_options& options) {
    using weir::detail::throw_bad_option;
    constexpr std::string_view owner = "redis::client";
    const auto above_zero = [&](std::string_view name, auto value) {
        if (value <= decltype(value){}) {
            if constexpr (std::is_same_v<decltype(value), clock::duration>) {
                throw_bad_option(owner, name, value, "more than 0");
            } else {
                throw_bad_option(owner, name, static_cast<double>(value), "more than 0");
            }
        }
    };
    if (options.host.empty()) {
        throw invalid_argument(
            "redis::client: host is empty; it must be a name, an address or "
            "'unix:' and a path");
    }
    if (options.database < 0) {
        throw_bad_option(owner, "database", options.database, "0 or more");
    }
    if (!options.user.empty() && options.password.empty()) {
        throw invalid_argument("redis::client: user is set, but password is empty");
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
    const backoff_options delays{.initial = std::min(reconnect_delay, max_reconnect_delay),
                                 .maximum = max_reconnect_delay,
                                 .jitter = jitter::none()};
    decision::backoff delay(delays);
    decision::random_source random;  // without jitter it is not used
    clock::duration pause = delay.next(random);
    for (std::size_t i = 1; i < failures && pause < max_reconnect_delay; ++i) {
        pause = delay.next(random);
    }
    return pause;
}

script::script(std::string source) : source_(std::move(source)) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    if (EVP_Digest(source_.data(), source_.size(), bytes.data(), &size, EVP_sha1(), nullptr) != 1) {
        throw std::runtime_error("redis::script: OpenSSL offers no SHA-1");
    }
    for (unsigned i = 0; i < size; ++i) {
        base::append_hex(digest_, static_cast<char>(bytes[i]), "0123456789abcdef");
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
        throw invalid_argument("redis: a command needs at least its name");
    }
    detail::check_for_shared(words[0], words.size() > 1 ? std::string_view(words[1]) : "");
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
    commands.rules_.check_complete();
    return {core_, commands.encoded_, commands.count_};
}

namespace {

task<connection> open_dedicated(std::shared_ptr<const detail::client_core> core) {
    auto line = std::make_unique<detail::dedicated_line>(core->server(), core->options());
    co_await line->open();
    co_return connection(std::move(line));
}

}  // namespace

task<connection> client::connect() const {
    return open_dedicated(core_);
}

task<value> client::run(const script& called, std::vector<std::string> keys,
                        std::vector<std::string> arguments) {
    std::vector<std::string> words = {"EVALSHA", called.digest(), std::to_string(keys.size())};
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
    words[1] = called.source();
    co_return co_await command_of(words);
}

generator<message> client::subscribe(std::vector<std::string> channels,
                                     std::vector<std::string> patterns) {
    if (channels.empty() && patterns.empty()) {
        throw invalid_argument("redis: a subscription needs at least one channel or pattern");
    }
    return detail::subscribe(core_->server(), core_->options(), std::move(channels),
                             std::move(patterns));
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

task<std::int64_t> client::increment(std::string key, std::int64_t amount) {
    const value now = co_await command("INCRBY", key, amount);
    co_return now.number();
}

client_stats client::stats() const noexcept {
    return core_->stats();
}

}  // namespace weir::redis
