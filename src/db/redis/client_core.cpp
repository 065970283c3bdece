// SPDX-License-Identifier: MIT
// One task lives as long as the client: it waits for a command, connects, and then reads and writes
// at the same time until the connection is lost. The writer takes all commands that wait and sends
// them with one write; replies come in the order of commands, so each belongs to the oldest entry.

#include "db/redis/client_core.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/loop.hpp>
#include <weir/outcome.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <array>

namespace weir::redis::detail {

// ---- calls

bool exchange_call::start() noexcept {
    if (weir::detail::fault_at(io_point::query, "redis").error != 0) {
        failure_ = std::make_exception_ptr(connection_error(
            "redis: the connection was lost (injected by a test)", db::retry_advice::yes));
        return false;
    }
    return core_->enter(*this);
}

bool exchange_call::cancel() noexcept {
    core_->withdraw(*this);
    return true;
}

void exchange_call::succeed(std::vector<value> replies) noexcept {
    replies_ = std::move(replies);
    sent_ = nullptr;
    complete();
}

void exchange_call::fail(std::exception_ptr error) noexcept {
    failure_ = std::move(error);
    sent_ = nullptr;
    complete();
}

std::vector<value> exchange_call::resume() {
    if (failure_ != nullptr) {
        std::rethrow_exception(failure_);
    }
    return std::move(replies_);
}

value command_call::resume() {
    std::vector<value> replies = exchange_call::resume();
    if (replies.front().is_error()) {
        throw reply_error(replies.front().error());
    }
    return std::move(replies.front());
}

// ---- the line

client_core::client_core(const client_options& options)
    : server_(options),
      options_(options),
      replies_(options.max_reply_bytes, options.max_reply_elements) {}

void client_core::start() {
    running_ = spawn(run(shared_from_this()), {.name = "redis"});
}

void client_core::stop() noexcept {
    is_closed_ = true;
    running_.cancel();
}

bool client_core::enter(exchange_call& call) noexcept {
    if (is_closed_ || unsent_count_ + sent_.size() >= options_.max_pending) {
        call.failure_ = std::make_exception_ptr(connection_error(
            is_closed_ ? "redis: the client was closed"
                       : "redis: " + std::to_string(options_.max_pending) +
                             " commands are pending, which is max_pending; the command is refused",
            db::retry_advice::yes));
        return false;
    }
    unsent_.push_back(call);
    ++unsent_count_;
    if (!has_work_.is_set()) {
        has_work_.set();
    }
    return true;
}

void client_core::withdraw(exchange_call& call) noexcept {
    if (call.is_linked()) {
        unsent_.remove(call);
        --unsent_count_;
    } else if (call.sent_ != nullptr) {
        call.sent_->waiter = nullptr;
    }
}

exchange_call& client_core::pop_unsent() noexcept {
    --unsent_count_;
    return unsent_.pop_front();
}

void client_core::fail_unsent(const std::exception_ptr& error) noexcept {
    while (!unsent_.empty()) {
        pop_unsent().fail(error);
    }
}

void client_core::fail_sent(const std::string& reason) noexcept {
    counts_.lost += sent_.size();
    for (sent_entry& each : sent_) {
        if (each.waiter != nullptr) {
            each.waiter->fail(std::make_exception_ptr(
                connection_error(server_.name() + ": " + reason, db::retry_advice::if_harmless)));
        }
    }
    sent_.clear();
}

client_stats client_core::stats() const noexcept {
    client_stats now = counts_;
    now.pending = unsent_count_ + sent_.size();
    now.is_connected = is_connected_;
    return now;
}

// ---- the task

task<> client_core::run(std::shared_ptr<client_core> self) {
    // However the task ends, all calls are completed.
    struct end_guard {
        client_core& core;
        ~end_guard() {
            core.is_closed_ = true;
            core.is_connected_ = false;
            core.fail_sent("the client was closed");
            core.fail_unsent(std::make_exception_ptr(
                connection_error("redis: the client was closed", db::retry_advice::yes)));
        }
    };
    const end_guard guard{*self};
    co_await self->connect_and_serve();
}

task<> client_core::connect_and_serve() {
    for (;;) {
        while (unsent_.empty()) {
            has_work_.clear();
            co_await has_work_.wait();
        }
        if (failures_ > 0) {
            co_await sleep(options_.pause_after(failures_));
        }
        outcome<io::any_stream> opened = co_await settle(server_.open(replies_));
        if (!opened.has_value()) {
            ++failures_;
            fail_unsent(opened.error());
            continue;
        }
        failures_ = 0;
        ++counts_.connections;
        is_connected_ = true;
        co_await serve(std::move(opened).value());
        is_connected_ = false;
    }
}

task<> client_core::serve(io::any_stream stream) {
    std::string reason = "the connection was closed";
    auto side = [&](task_group& group, task<> work) -> task<> {
        try {
            co_await std::move(work);
        } catch (const std::exception& error) {
            reason = error.what();
        }
        group.cancel();
    };
    auto both = [&](task_group& group) -> task<> {
        group.spawn(side(group, read(stream)));
        group.spawn(side(group, write(stream)));
        co_return;
    };
    co_await with_group(both);
    fail_sent(reason);
}

task<> client_core::read(io::any_stream& from) {
    struct reset_guard {
        cancel_scope*& pointer;
        ~reset_guard() { pointer = nullptr; }
    };
    std::vector<char> buffer(16 << 10);
    for (;;) {
        cancel_scope limit(
            sent_.empty() ? clock::time_point::max()
                          : weir::detail::after(sent_.front().since, options_.response_timeout));
        std::optional<std::size_t> count;
        {
            const reset_guard guard{reading_ = &limit};
            count = co_await limit.run(from.read(buffer));
        }
        if (!count.has_value()) {
            throw connection_error("no answer within the response_timeout",
                                   db::retry_advice::if_harmless);
        }
        if (*count == 0) {
            co_return;
        }
        replies_.feed(std::string_view(buffer.data(), *count));
        for (std::optional<value> reply = replies_.next(); reply.has_value();
             reply = replies_.next()) {
            take(std::move(*reply));
        }
    }
}

void client_core::take(value reply) {
    if (sent_.empty()) {
        throw connection_error("Redis sent a reply without a command",
                               db::retry_advice::if_harmless);
    }
    sent_entry& oldest = sent_.front();
    oldest.replies.push_back(std::move(reply));
    if (--oldest.count > 0) {
        return;
    }
    if (oldest.waiter != nullptr) {
        oldest.waiter->succeed(std::move(oldest.replies));
    }
    sent_.pop_front();
}

// The entries exist before the commands are written: replies may come during the write.
void client_core::take_unsent(std::string& encoded) {
    constexpr std::size_t enough = 256 << 10;
    const clock::time_point sent_at = now();
    const bool was_empty = sent_.empty();
    while (!unsent_.empty() && encoded.size() < enough) {
        sent_.push_back({&unsent_.front(), unsent_.front().count_, sent_at, {}});
        exchange_call& call = pop_unsent();
        encoded += call.encoded_;
        call.sent_ = &sent_.back();
        counts_.commands += call.count_;
    }
    if (was_empty && reading_ != nullptr && !sent_.empty()) {
        reading_->reschedule(weir::detail::after(sent_at, options_.response_timeout));
    }
}

task<> client_core::write(io::any_stream& to) {
    std::string text;
    for (;;) {
        while (unsent_.empty()) {
            has_work_.clear();
            co_await has_work_.wait();
        }
        text.clear();
        take_unsent(text);
        ++counts_.writes;
        co_await to.write(text);
    }
}

}  // namespace weir::redis::detail
