// SPDX-License-Identifier: MIT
// pipeline: policies around a call, in the order in which they are written, from the outside in.
//
//     weir::pipeline payments("payments", weir::total_timeout{10s},
//                             weir::retry_options{.max_attempts = 3},
//                             weir::circuit_breaker_options{.consecutive_failures = 5},
//                             weir::attempt_timeout{2s});
//     receipt paid = co_await payments.run([&] { return charge(order); });
//
// An options struct makes a policy that belongs to the pipeline and takes its name; a policy that
// is named (an lvalue) is referred to, so that several pipelines can share one, and must outlive
// them. Orders that cannot be meant do not compile, and say why.
//
// run() gives the value or throws; settle() gives the outcome: errors and refusals as values, and
// no exception is thrown on the way. A stop of the caller passes through all layers and is counted
// by none. Belongs to one loop, and must outlive its calls. A call that completes at once allocates
// nothing.
#pragma once

#include <weir/flow/detail/layers.hpp>
#include <weir/flow/detail/pipeline_rules.hpp>
#include <weir/flow/detail/policy_call.hpp>
#include <weir/flow/duration_histogram.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

namespace weir {

struct pipeline_stats {
    std::uint64_t calls = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;     // with an error
    std::uint64_t refused = 0;    // by a policy
    std::uint64_t cancelled = 0;  // saw another task's cancellation
    std::uint64_t stopped = 0;    // the caller itself was stopped
    std::uint64_t in_flight = 0;
};

namespace detail {

// What a pipeline keeps of what it is given.
template <class Given>
struct kept_policy {
    using type = std::remove_cvref_t<Given>;  // a policy that can be moved in
};
template <class Given>
    requires requires { typename std::remove_cvref_t<Given>::policy_type; }
struct kept_policy<Given> {
    using type = typename std::remove_cvref_t<Given>::policy_type;
};
template <policy Given>
struct kept_policy<Given&> {
    using type = Given&;  // shared with others
};

// Options without a name take the pipeline's.
template <class Given>
decltype(auto) named_after(Given&& given, std::string_view name) {
    using plain = std::remove_cvref_t<Given>;
    if constexpr (requires(plain& options) {
                      typename plain::policy_type;
                      options.name = name;
                  }) {
        plain options = given;
        if (options.name.empty()) {
            options.name = name;
        }
        return options;
    } else {
        return std::forward<Given>(given);
    }
}

// Counts one call, however it ends.
class pipeline_count {
public:
    pipeline_count(pipeline_stats& stats, duration_histogram* durations, call_context& call)
        : stats_(stats), durations_(durations) {
        if (durations != nullptr) {
            began_ = call.now();
        }
        ++stats.calls;
        ++stats.in_flight;
    }
    pipeline_count(const pipeline_count&) = delete;
    pipeline_count& operator=(const pipeline_count&) = delete;
    ~pipeline_count() {
        --stats_.in_flight;
        ++*ending_;
    }
    template <class T>
    void note(const outcome<T>& ended, call_context& call) {
        if (durations_ != nullptr && !ended.is_refused()) {
            call.time_passed();
            durations_->record(call.now() - began_);
        }
        ending_ = ended.has_value()    ? &stats_.succeeded
                  : ended.has_error()  ? &stats_.failed
                  : ended.is_refused() ? &stats_.refused
                                       : &stats_.cancelled;
    }

private:
    pipeline_stats& stats_;
    duration_histogram* durations_;
    clock::time_point began_;
    std::uint64_t* ending_ = &stats_.stopped;
};

}  // namespace detail

template <class... Policies>
class pipeline {
    using rules = detail::pipeline_rules<std::remove_reference_t<Policies>...>;
    static constexpr std::size_t count = rules::count;
    static_assert(sizeof(rules) > 0);  // looked at where the pipeline is made, not where it is used

public:
    template <class... Given>
        requires(sizeof...(Given) == sizeof...(Policies))
    explicit pipeline(std::string_view name, Given&&... given)
        : name_(name), policies_(detail::named_after(std::forward<Given>(given), name)...) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    // The value of fn(), or what went wrong, thrown.
    template <class Callable>
    auto run(Callable&& callable, double weight = 1) {
        WEIR_CHECK_CALLABLE(Callable);
        return call_held<detail::call_view::value, detail::held_t<Callable>>(
            this, std::forward<Callable>(callable), weight);
    }
    // The outcome of fn().
    template <class Callable>
    auto settle(Callable&& callable, double weight = 1) {
        WEIR_CHECK_CALLABLE(Callable);
        return call_held<detail::call_view::outcome, detail::held_t<Callable>>(
            this, std::forward<Callable>(callable), weight);
    }

    const std::string& name() const noexcept { return name_; }
    const pipeline_stats& stats() const noexcept { return stats_; }
    // One of the policies, by its place from the outside, or by its type.
    template <std::size_t Index>
    auto& get() noexcept {
        return std::get<Index>(policies_);
    }
    template <class Policy>
    Policy& get() noexcept {
        return find<Policy, 0>();
    }

    // From now on the time that calls take is measured, which costs a reading of the clock at the
    // end of each. Those that are refused or stopped are left out.
    void measure_durations() {
        if (durations_ == nullptr) {
            durations_ = std::make_unique<duration_histogram>();
        }
    }
    // Null unless measured.
    const duration_histogram* durations() const noexcept { return durations_.get(); }

    // Its own counts, and those of all its policies.
    void write_metrics(metric_writer& to) const {
        const auto write = [&](const char* ending, std::uint64_t value) {
            const metric_label labels[] = {{"name", name_}, {"ending", ending}};
            to.counter("weir_pipeline_calls_total", "Calls that have ended, and how.", labels,
                       static_cast<double>(value));
        };
        write("succeeded", stats_.succeeded);
        write("failed", stats_.failed);
        write("refused", stats_.refused);
        write("cancelled", stats_.cancelled);
        write("stopped", stats_.stopped);
        const metric_label labels[] = {{"name", name_}};
        to.gauge("weir_pipeline_calls_in_flight", "Calls that run now.", labels,
                 static_cast<double>(stats_.in_flight));
        if (durations_ != nullptr) {
            durations_->write(to, "weir_pipeline_call_duration_seconds",
                              "Time that calls took, retries and waits included.", labels);
        }
        std::apply([&](const auto&... each) { (write_one(each, to), ...); }, policies_);
    }

private:
    static constexpr bool shares_callable =
        (detail::outlives_call<std::remove_reference_t<Policies>> || ...);

    // One frame for the call and all its layers: they are large, and would otherwise stay in the
    // frame of whoever calls.
    template <detail::call_view View, class Held,
              class T = detail::call_value_t<std::remove_reference_t<Held>>>
    static task<detail::viewed_t<View, T>> call_held(pipeline* self, Held callable, double weight) {
        call_context call(self->name_, weight);
        detail::pipeline_count counted(self->stats_, self->durations_.get(), call);
        auto way = self->way_to(detail::innermost_of<shares_callable, Held>(callable));
        outcome<T> ended = co_await detail::settle_next(way, call);
        counted.note(ended, call);
        co_return detail::view_of<View>(std::move(ended), self->name_);
    }

    template <class Innermost>
    auto way_to(Innermost innermost) {
        return detail::way<std::tuple<Policies...>, Innermost, 0>(policies_, std::move(innermost));
    }

    template <class Policy, std::size_t Index>
    Policy& find() noexcept {
        static_assert(Index < count, "the pipeline has no such policy");
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(std::get<Index>(policies_))>,
                                     Policy>) {
            return std::get<Index>(policies_);
        } else {
            return find<Policy, Index + 1>();
        }
    }
    template <class Policy>
    static void write_one(const Policy& from, metric_writer& to) {
        if constexpr (requires { from.write_metrics(to); }) {
            from.write_metrics(to);
        }
    }

    std::string name_;
    std::tuple<Policies...> policies_;
    pipeline_stats stats_;
    std::unique_ptr<duration_histogram> durations_;
};

template <class... Given>
pipeline(std::string_view, Given&&...) -> pipeline<typename detail::kept_policy<Given>::type...>;
template <class... Given>
pipeline(const char*, Given&&...) -> pipeline<typename detail::kept_policy<Given>::type...>;

}  // namespace weir
