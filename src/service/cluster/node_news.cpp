// SPDX-License-Identifier: MIT
// One fiber listens, one tells. What is to be told while a message is on its way, or before the
// rate allows the next, goes into that next one. Each message has the state of its sender, so that
// a lost one does not matter for long; its number shows that there was one.

#include "service/cluster/node_news.hpp"

#include "service/engine/wall_clock.hpp"

#include <weir/group.hpp>
#include <weir/loop.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {

using namespace std::chrono_literals;

constexpr double most_batches = 20;  // a second
constexpr double most_at_once = 5;
constexpr clock::duration watched_interval = 1s;

std::string name_of_process(std::uint64_t seed) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string name;
    for (int i = 0; i < 16; ++i) {
        name += digits[seed & 15U];
        seed >>= 4U;
    }
    return name;
}

}  // namespace

node_news::node_news(store& source, news_engine& engine, clock::duration heartbeat)
    : source_(source),
      engine_(engine),
      heartbeat_(heartbeat),
      collected_([this](std::string_view kind) { return engine_.is_remote(kind); }),
      allowed_({.rate = most_batches, .burst = most_at_once}) {}

// ---- telling

void node_news::tell_soon() noexcept {
    is_urgent_ = true;
    wake_.set();
}

void node_news::changed(std::span<const task_event> events) noexcept {
    if (!is_listening_ || others_.empty()) {
        return;
    }
    try {
        if (collected_.add(events, others_.wanted())) {
            tell_soon();
        }
    } catch (const std::exception&) {
        // Out of memory: the others look for themselves.
    }
}

void node_news::queue_changed(std::string_view) noexcept {
    if (is_listening_ && !others_.empty()) {
        collected_.queue_changed();
        tell_soon();
    }
}

void node_news::no_worker_is_free() noexcept {
    if (!is_listening_ || !work_for_.empty()) {
        return;
    }
    try {
        work_for_ = others_.take_free(random_);
    } catch (const std::exception&) {
    }
    if (!work_for_.empty()) {
        tell_soon();
    }
}

void node_news::claimed(bool is_idle) noexcept {
    is_idle_ = is_idle;
    if (is_idle && told_free_ == 0 && is_listening_ && !others_.empty() &&
        engine_.free_workers() > 0) {
        tell_soon();
    }
}

clock::duration node_news::vary(clock::duration poll) noexcept {
    constexpr double varied = 0.2;
    const double part = 1 - varied * random_.next_fraction();
    return is_shared() ? std::chrono::duration_cast<clock::duration>(poll * part) : poll;
}

void node_news::interest_changed() noexcept {
    if (!is_listening_) {
        return;
    }
    try {
        if (interest() != told_interest_) {
            tell_soon();
        }
    } catch (const std::exception&) {
    }
}

news_interest node_news::interest() const {
    news_interest wanted;
    wanted.workers = engine_.has_polls();
    for (news_observer* const each : observers_) {
        each->add_interest(wanted);
    }
    return wanted;
}

clock::duration node_news::state_interval() const noexcept {
    const bool is_watched = !others_.wanted().is_empty() || !told_interest_.is_empty();
    return is_watched ? std::min<clock::duration>(watched_interval, heartbeat_) : heartbeat_;
}

task<> node_news::send_state(bool leaves) {
    news_message message;
    message.from = self_;
    message.number = number_;
    if (!leaves) {
        message.node = engine_.node();  // it has no lease any more where it leaves
    }
    message.free = is_idle_ && !leaves ? engine_.free_workers() : 0;
    message.wants = leaves ? news_interest() : interest();
    message.counters = engine_.counters();
    message.asks = std::exchange(asks_, false);
    message.leaves = leaves;
    message.work_for = std::exchange(work_for_, {});
    collected_.take(message);
    is_urgent_ = false;
    told_free_ = message.free;
    told_interest_ = message.wants;
    told_at_ = weir::now();
    std::vector<std::string> texts = encode(message);
    number_ += texts.size();
    ++sent_;
    co_await source_.channel()->send(std::move(texts));
}

task<> node_news::tell() {
    for (;;) {
        wake_.clear();
        if (!is_listening_) {
            co_await wake_.wait();
            continue;
        }
        const clock::time_point now = weir::now();
        if (others_.forget_silent(now - 3 * state_interval()) > 0) {
            tell_missed();
        }
        const clock::time_point next = told_at_ + state_interval();
        if (!is_urgent_ && now < next) {
            co_await wait_until(wake_, next);
            continue;
        }
        const decision::verdict may = allowed_.try_take(now);
        if (may.granted) {
            co_await send_state(false);
        } else {
            co_await sleep(may.wait);
        }
    }
}

// ---- hearing

void node_news::tell_missed() noexcept {
    ++missed_;
    for (news_observer* const each : observers_) {
        each->missed_elsewhere();
    }
}

void node_news::listening_begins() noexcept {
    is_listening_ = true;
    asks_ = true;
    tell_missed();
    tell_soon();
}

void node_news::heard(std::string_view text) noexcept {
    try {
        const std::optional<news_message> message = decode(text);
        if (message.has_value() && message->from != self_) {
            handle(*message);
        }
    } catch (const std::exception&) {
        // Out of memory: as a message that was lost, whose number is missing.
    }
}

void node_news::handle(const news_message& message) {
    const clock::duration interval = state_interval();
    const other_nodes::verdict noted = others_.note(message, weir::now());
    if (state_interval() < interval) {
        wake_.set();
    }
    if (noted.is_gap) {
        tell_missed();
    }
    if (noted.is_new || message.asks) {
        tell_soon();
    }
    for (news_observer* const each : observers_) {
        if (!message.events.empty() || message.more > 0) {
            each->changed_elsewhere(message.events, message.more);
        }
        if (!message.ends.empty()) {
            each->ended_elsewhere(message.ends);
        }
        if (message.has_changed_queues) {
            each->queues_changed_elsewhere();
        }
    }
    for (const task_id each : message.cancelling) {
        engine_.cancelling(each);
    }
    for (const auto& [kind, queue] : message.ready) {
        engine_.ready_for_workers(kind, queue);
    }
    if (message.work_for == self_) {
        told_free_ = 0;  // so that the end of the work is told
        engine_.work_waits();
    } else if (!message.work_for.empty()) {
        others_.set_busy(message.work_for);
    }
}

void node_news::write_metrics(metric_writer& to) const {
    if (!is_shared()) {
        return;
    }
    to.gauge("weir_service_nodes_heard", "Other nodes that this one hears of", {},
             static_cast<double>(others_.size()));
    to.counter("weir_service_news_sent_total", "Batches of messages to other nodes", {},
               static_cast<double>(sent_));
    to.counter("weir_service_news_missed_total", "Times that messages of other nodes were lost", {},
               static_cast<double>(missed_));
}

// ---- running

task<> node_news::run() {
    if (!is_shared()) {
        co_return;
    }
    const std::uint64_t seed = loop::current().fresh_seed();
    random_ = weir::detail::random_source(seed);
    self_ = name_of_process(random_.next());
    is_listening_ = false;
    others_.clear();
    auto parts = [this](task_group& group) -> task<> {
        group.spawn(tell(), {.name = "service news"});
        co_await source_.channel()->listen(*this);
        co_await sleep_forever();  // a channel without sessions: nothing is heard
    };
    co_await with_group(parts);
}

task<> node_news::leave() {
    if (is_listening_) {
        is_listening_ = false;
        co_await send_state(true);
    }
}

}  // namespace weir::service::detail
