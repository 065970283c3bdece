// SPDX-License-Identifier: MIT
// One task lives as long as the client: it waits for work, connects, and then reads and writes at
// the same time until the connection is lost. The writer takes all commands that wait and sends
// them as one text; answers come in the order of commands, so each goes to the oldest entry.

#include "db/redis/client_core.hpp"

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
    return core_->enter(*this);
}

bool exchange_call::cancel() noexcept {
    core_->withdraw(*this);
    return true;
}

void exchange_call::answered(std::vector<value> replies) noexcept {
    replies_ = std::move(replies);
    entry_ = nullptr;
    complete();
}

void exchange_call::failed(std::exception_ptr why) noexcept {
    failure_ = std::move(why);
    entry_ = nullptr;
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
    : at_(options),
      options_(options),
      answers_(options.max_reply_bytes, options.max_reply_elements) {}

void client_core::start() {
    running_ = spawn(run(shared_from_this()), {.name = "redis"});
}

void client_core::stop() noexcept {
    is_closed_ = true;
    running_.cancel();
}

bool client_core::enter(exchange_call& asked) noexcept {
    if (is_closed_ || unsent_ + sent_.size() >= options_.max_pending) {
        asked.failure_ = std::make_exception_ptr(
            connection_error(is_closed_ ? "redis: the client has gone"
                                        : "redis: " + std::to_string(options_.max_pending) +
                                              " commands are under way already; more are refused",
                             db::retry_advice::yes));
        return false;
    }
    asked.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &asked;
    last_ = &asked;
    asked.is_queued_ = true;
    ++unsent_;
    if (!work_.is_set()) {
        work_.set();
    }
    return true;
}

void client_core::withdraw(exchange_call& asked) noexcept {
    if (asked.is_queued_) {
        (asked.previous_ != nullptr ? asked.previous_->next_ : first_) = asked.next_;
        (asked.next_ != nullptr ? asked.next_->previous_ : last_) = asked.previous_;
        asked.is_queued_ = false;
        --unsent_;
    } else if (asked.entry_ != nullptr) {
        asked.entry_->waiter = nullptr;
    }
}

exchange_call* client_core::pop_unsent() noexcept {
    exchange_call* const taken = first_;
    if (taken != nullptr) {
        withdraw(*taken);
    }
    return taken;
}

void client_core::fail_unsent(const std::exception_ptr& why) noexcept {
    while (exchange_call* const each = pop_unsent()) {
        each->failed(why);
    }
}

void client_core::fail_sent(const std::string& why) noexcept {
    counts_.lost += sent_.size();
    for (sent_entry& each : sent_) {
        if (each.waiter != nullptr) {
            each.waiter->failed(std::make_exception_ptr(
                connection_error(at_.named() + ": " + why, db::retry_advice::if_harmless)));
        }
    }
    sent_.clear();
}

client_stats client_core::stats() const noexcept {
    client_stats now = counts_;
    now.pending = unsent_ + sent_.size();
    now.is_connected = is_connected_;
    return now;
}

// ---- the task

task<> client_core::run(std::shared_ptr<client_core> own) {
    // However it ends, whoever waits is told.
    struct at_the_end {
        client_core& of;
        ~at_the_end() {
            of.is_closed_ = true;
            of.is_connected_ = false;
            of.fail_sent("the client has gone");
            of.fail_unsent(std::make_exception_ptr(
                connection_error("redis: the client has gone", db::retry_advice::yes)));
        }
    };
    const at_the_end tells{*own};
    co_await own->live();
}

task<> client_core::live() {
    for (;;) {
        while (first_ == nullptr) {
            work_.clear();
            co_await work_.wait();
        }
        if (failures_ > 0) {
            co_await sleep(options_.pause_after(failures_));
        }
        outcome<io::any_stream> opened = co_await settle(at_.open(answers_));
        if (!opened.has_value()) {
            ++failures_;
            fail_unsent(opened.error());
            continue;
        }
        failures_ = 0;
        ++counts_.connections;
        is_connected_ = true;
        co_await talk(std::move(opened).value());
        is_connected_ = false;
    }
}

task<> client_core::talk(io::any_stream stream) {
    std::string why = "the connection was closed";
    auto side = [&](task_group& group, task<> work) -> task<> {
        try {
            co_await std::move(work);
        } catch (const std::exception& error) {
            why = error.what();
        }
        group.cancel();
    };
    auto both = [&](task_group& group) -> task<> {
        group.spawn(side(group, read(stream)));
        group.spawn(side(group, write(stream)));
        co_return;
    };
    co_await with_group(both);
    fail_sent(why);
}

task<> client_core::read(io::any_stream& from) {
    struct mark {
        cancel_scope*& place;
        ~mark() { place = nullptr; }
    };
    std::vector<char> buffer(16 << 10);
    for (;;) {
        cancel_scope limit(
            sent_.empty() ? clock::time_point::max()
                          : weir::detail::after(sent_.front().since, options_.response_timeout));
        std::optional<std::size_t> count;
        {
            const mark here{reading_ = &limit};
            count = co_await limit.run(from.read(buffer));
        }
        if (!count.has_value()) {
            throw connection_error("no answer came within the response_timeout",
                                   db::retry_advice::if_harmless);
        }
        if (*count == 0) {
            co_return;
        }
        answers_.feed(std::string_view(buffer.data(), *count));
        for (std::optional<value> reply = answers_.next(); reply.has_value();
             reply = answers_.next()) {
            take(std::move(*reply));
        }
    }
}

void client_core::take(value reply) {
    if (sent_.empty()) {
        throw connection_error("an answer came to no command", db::retry_advice::if_harmless);
    }
    sent_entry& oldest = sent_.front();
    oldest.replies.push_back(std::move(reply));
    if (--oldest.count > 0) {
        return;
    }
    if (oldest.waiter != nullptr) {
        oldest.waiter->answered(std::move(oldest.replies));
    }
    sent_.pop_front();
}

// The entries are there before the text is sent: answers may come while it is being written.
void client_core::gather(std::string& into) {
    constexpr std::size_t enough = 256 << 10;
    const clock::time_point sent_at = now();
    const bool was_empty = sent_.empty();
    while (first_ != nullptr && into.size() < enough) {
        sent_.push_back({first_, first_->count_, sent_at, {}});
        exchange_call& next = *pop_unsent();
        into += next.encoded_;
        next.entry_ = &sent_.back();
        counts_.commands += next.count_;
    }
    if (was_empty && reading_ != nullptr && !sent_.empty()) {
        reading_->reschedule(weir::detail::after(sent_at, options_.response_timeout));
    }
}

task<> client_core::write(io::any_stream& to) {
    std::string text;
    for (;;) {
        while (first_ == nullptr) {
            work_.clear();
            co_await work_.wait();
        }
        text.clear();
        gather(text);
        ++counts_.writes;
        co_await to.write(text);
    }
}

}  // namespace weir::redis::detail
