// SPDX-License-Identifier: MIT
// The two kinds of shared limits: the arguments of each one's script, and the local limiter that
// replaces it while Redis is away.

#include "base/option_checks.hpp"
#include "db/redis/limit_scripts.hpp"
#include "db/redis/shared_line.hpp"

#include <weir/db/redis/sliding_window.hpp>
#include <weir/db/redis/token_bucket.hpp>
#include <weir/error.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace weir::redis {

namespace {

using std::chrono::microseconds;

std::string as_text(double number) {
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}
std::string as_text(microseconds time) {
    return std::to_string(time.count());
}

script with_time(std::string_view body) {
    return script(std::string(detail::time_of_server()).append(body));
}

// The common part of both kinds. Local is the limiter that is used while Redis is away; terms() are
// the script's parameters.
template <class Local>
class script_decision : public detail::shared_decision {
public:
    task<detail::shared_answer> ask(const detail::shared_question& question) override {
        std::vector<std::string> keys = {key_};
        std::vector<std::string> words = terms();
        words.push_back(question.only_look ? "1" : "0");
        words.push_back(std::to_string(question.refunds.size()));
        for (const detail::refund& each : question.refunds) {
            words.push_back(as_text(cost(each.weight)));
            words.push_back(as_text(each.taken.time_since_epoch()));
        }
        for (const double each : question.weights) {
            words.push_back(as_text(cost(each)));
        }
        const value reply = co_await client_.run(script_, std::move(keys), std::move(words));
        detail::shared_answer answer;
        answer.at = server_time(microseconds(reply[0].number()));
        for (std::size_t i = 1; i < reply.size(); ++i) {
            const std::int64_t wait = reply[i].number();
            answer.waits.push_back(wait < 0 ? refusal::never : microseconds(wait));
        }
        co_return answer;
    }
    task<admission<let_through>> admit_alone(double weight) override {
        if (!local_.has_value() || weight > local_->capacity()) {
            co_return too_much_alone();
        }
        admission<let_through> in = co_await local_->admit(weight);
        co_return in;
    }
    admission<let_through> try_alone(double weight) override {
        if (!local_.has_value() || weight > local_->capacity()) {
            return too_much_alone();
        }
        return local_->try_acquire(weight);
    }

protected:
    script_decision(client& store, std::string_view key, script decision)
        : client_(store), key_(key), script_(std::move(decision)) {}
    virtual std::vector<std::string> terms() const = 0;
    // In the unit of the script.
    virtual double cost(double weight) const noexcept = 0;

    std::optional<Local> local_;

private:
    static refusal too_much_alone() noexcept { return {refusal_reason::circuit_open, {}}; }

    client& client_;
    std::string key_;
    script script_;
};

class bucket_decision final : public script_decision<weir::token_bucket> {
public:
    bucket_decision(client& store, const token_bucket_options& options)
        : script_decision(store, options.key, with_time(detail::token_bucket_script())),
          share_(options.share) {
        set(options.limiter_limits());
        if (options.when_away == when_away::limit_locally) {
            local_.emplace(
                weir::token_bucket_options{.rate = options.rate * share_,
                                           .per = options.per,
                                           .burst = std::max(1.0, options.burst * share_),
                                           .max_waiting = options.max_waiting,
                                           .max_wait = options.max_wait,
                                           .name = options.name});
        }
    }
    void set(const decision::gcra_limits& limits) {
        (void)decision::gcra_terms(limits);  // throws if they are invalid
        burst_ = limits.burst;
        rate_ = limits.rate / std::chrono::duration<double, std::micro>(limits.per).count();
        if (local_.has_value()) {
            local_->set_rate({limits.rate * share_, limits.per, std::max(1.0, burst_ * share_)});
        }
    }
    double capacity() const noexcept override { return burst_; }
    clock::duration time_of(double weight) const noexcept override {
        const double nanoseconds = weight / rate_ * 1000;
        constexpr double most = 9e18;
        return clock::duration(static_cast<std::int64_t>(std::min(nanoseconds, most)));
    }

private:
    std::vector<std::string> terms() const override { return {as_text(rate_), as_text(burst_)}; }
    double cost(double weight) const noexcept override { return weight; }

    double share_;
    double rate_ = 1;  // tokens each microsecond
    double burst_ = 1;
};

class window_decision final : public script_decision<weir::sliding_window> {
public:
    window_decision(client& store, const sliding_window_options& options)
        : script_decision(store, options.key, with_time(detail::sliding_window_script())),
          share_(options.share) {
        set(options.limiter_limits());
        if (options.when_away == when_away::limit_locally) {
            local_.emplace(weir::sliding_window_options{.limit = std::max(1.0, limit_ * share_),
                                                        .window = options.window,
                                                        .max_waiting = options.max_waiting,
                                                        .max_wait = options.max_wait,
                                                        .name = options.name});
        }
    }
    void set(const decision::window_limits& limits) {
        decision::check_window("redis::sliding_window", limits);
        limit_ = limits.limit;
        window_ = std::chrono::ceil<microseconds>(limits.window);
        if (local_.has_value()) {
            local_->set_rate({std::max(1.0, limit_ * share_), limits.window});
        }
    }
    double capacity() const noexcept override { return limit_; }
    clock::duration time_of(double) const noexcept override { return {}; }

private:
    std::vector<std::string> terms() const override {
        return {as_text(window_), as_text(cost(limit_))};
    }
    // In millionths, so that sums are exact.
    double cost(double weight) const noexcept override {
        const double size = static_cast<double>(decision::in_millionths(std::abs(weight)));
        return weight < 0 ? -size : size;
    }

    double share_;
    double limit_ = 1;
    microseconds window_{1};
};

template <class Options>
detail::shared_line_options checked(std::string_view kind, const Options& options) {
    if (options.key.empty()) {
        throw invalid_argument(std::string(kind) + ": key is empty; it must name the limit");
    }
    if (options.when_away == when_away::limit_locally &&
        !(options.share > 0 && options.share <= 1)) {
        weir::detail::throw_bad_option(kind, "share", options.share, "more than 0, and at most 1");
    }
    return {.kind = kind,
            .name = options.name.empty() ? options.key : options.name,
            .max_waiting = options.max_waiting,
            .max_wait = options.max_wait,
            .when_away = options.when_away,
            .timeout = options.timeout,
            .probe_every = options.probe_every,
            .observer = options.observer};
}

}  // namespace

limiter::limiter(std::unique_ptr<detail::shared_decision> decision,
                 const detail::shared_line_options& options)
    : line_(std::make_shared<detail::shared_line>(std::move(decision), options)) {}

limiter::~limiter() {
    line_->stop();
}

void limiter::check(double weight) const {
    line_->check(weight);
}

task<admission<shared_pass>> limiter::try_acquire(double weight) {
    line_->check(weight);
    return detail::shared_line::admit(line_, weight, false);
}

task<admission<shared_pass>> limiter::admit(double weight) {
    line_->check(weight);
    return admit_to(line_, weight);
}

task<admission<shared_pass>> limiter::admit_to(line_pointer line, double weight) {
    return detail::shared_line::admit(std::move(line), weight, true);
}

task<clock::duration> limiter::acquire(double weight) {
    line_->check(weight);
    return acquire_from(line_, weight);
}

task<clock::duration> limiter::acquire_from(line_pointer line, double weight) {
    admission<pass> in = co_await admit_to(line, weight);
    co_return std::move(in).value(line->name()).waited;
}

task<clock::duration> limiter::retry_after(double weight) {
    return detail::shared_line::look(line_, weight);
}

double limiter::capacity() const noexcept {
    return line_->decision().capacity();
}

std::string_view limiter::name() const noexcept {
    return line_->name();
}

std::string_view limiter::line_owner::name() const noexcept {
    return line->name();
}

shared_limiter_stats limiter::stats() const noexcept {
    return line_->stats();
}

void limiter::write_metrics(metric_writer& to) const {
    line_->write_metrics(to);
}

const std::string& limiter::trouble() const noexcept {
    return line_->trouble();
}

task<admission<shared_pass>> limiter::enter(call_context& call) {
    if (!(call.weight() > 0 && call.weight() <= capacity())) {
        co_return refusal{refusal_reason::rate_limited, refusal::never};
    }
    admission<pass> in = co_await admit_to(line_, call.weight());
    call.time_passed();
    co_return in;
}

token_bucket::token_bucket(client& store, const token_bucket_options& options)
    : limiter(std::make_unique<bucket_decision>(store, options),
              checked("redis::token_bucket", options)) {}

void token_bucket::set_rate(const limits& changed) {
    static_cast<bucket_decision&>(line_->decision()).set(changed);
    line_->revise();
}

sliding_window::sliding_window(client& store, const sliding_window_options& options)
    : limiter(std::make_unique<window_decision>(store, options),
              checked("redis::sliding_window", options)) {}

void sliding_window::set_rate(const limits& changed) {
    static_cast<window_decision&>(line_->decision()).set(changed);
    line_->revise();
}

}  // namespace weir::redis
