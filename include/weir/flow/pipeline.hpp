// SPDX-License-Identifier: MIT
// pipeline: policies around a call, written in order from the outermost to the innermost.
//
//     weir::pipeline payments("payments", weir::total_timeout{10s},
//                             weir::retry_options{.max_attempts = 3},
//                             weir::circuit_breaker_options{.consecutive_failures = 5},
//                             weir::attempt_timeout{2s});
//     receipt paid = co_await payments.run([&] { return charge(order); });
//
// An options struct creates a policy that the pipeline owns and that takes the pipeline's name. A
// policy passed as an lvalue is referred to, so that several pipelines can share it; it must
// outlive them. Orders of policies that make no sense do not compile, and the error message says
// why.
//
// run() returns the value or throws. settle() returns the outcome: errors and refusals are values,
// and no exception is thrown on the way. A stop of the caller passes through all layers and is
// counted by none. A pipeline belongs to one loop and must outlive its calls. A call that completes
// without suspending allocates nothing but its frame.
#pragma once

#include <weir/flow/duration_histogram.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/policy.hpp>
#include <weir/flow/telemetry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir {

struct pipeline_stats {
    std::uint64_t calls = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;     // with an error
    std::uint64_t refused = 0;    // by one of the policies
    std::uint64_t cancelled = 0;  // with another task's cancellation
    std::uint64_t stopped = 0;    // because the caller was stopped
    std::uint64_t in_flight = 0;
};

namespace detail {

// Compile-time checks of the order of policies.
template <class... Policies>
struct pipeline_rules {
    static constexpr std::size_t count = sizeof...(Policies);
    static constexpr std::array<policy_kind, count> kinds = {Policies::kind...};

    static constexpr bool has_twins() {
        for (std::size_t i = 1; i < count; ++i) {
            if (kinds[i] == kinds[i - 1] && kinds[i] != policy_kind::custom) {
                return true;
            }
        }
        return false;
    }
    // Whether a policy of the first kind encloses one of the second.
    static constexpr bool is_around(policy_kind outer, policy_kind inner) {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = i + 1; j < count; ++j) {
                if (kinds[i] == outer && kinds[j] == inner) {
                    return true;
                }
            }
        }
        return false;
    }
    static constexpr bool has_inner_fallback() {
        for (std::size_t i = 1; i < count; ++i) {
            if (kinds[i] == policy_kind::fallback) {
                return true;
            }
        }
        return false;
    }

    static_assert(count > 0, "an empty pipeline does nothing: give it at least one policy");
    static_assert(
        !has_twins(),
        "two policies of one kind side by side: attempts would be multiplied, permits "
        "taken twice. Use one with the stricter settings, or combined_limiter for several rates");
    static_assert(!has_inner_fallback(),
                  "a fallback further in hides failures from the policies around it (a retry would "
                  "never retry, a breaker never open): put it first, outermost");
    static_assert(
        !is_around(policy_kind::retry, policy_kind::total_timeout),
        "a total timeout inside a retry limits one attempt only: put it outside the retry, "
        "or use attempt_timeout inside");
    static_assert(!is_around(policy_kind::hedge, policy_kind::retry),
                  "a hedge around a retry starts whole series of attempts at once: put the hedge "
                  "inside the retry");
};

// The path of a call through a pipeline. Each stage is a `next`: called with the context, it
// returns an awaitable that ends as an outcome. Adjacent gates form one stage. Stages are base
// classes of one another, from the innermost outwards, and share the pointer to the policies and
// the innermost call: a path of any length is two words, and is copied as such.

template <class Policies, std::size_t Index>
using policy_at = std::remove_reference_t<std::tuple_element_t<Index, Policies>>;

// The index of the first policy from Index on that is not a gate.
template <class Policies, std::size_t Index>
constexpr std::size_t end_of_gates() {
    if constexpr (Index == std::tuple_size_v<Policies>) {
        return Index;
    } else if constexpr (gate<policy_at<Policies, Index>>) {
        return end_of_gates<Policies, Index + 1>();
    } else {
        return Index;
    }
}

// The end of the path: the user's call.
template <class Policies, class Innermost>
class path_end {
public:
    using value_type = typename Innermost::value_type;
    path_end(Policies& policies, Innermost innermost) noexcept
        : policies_(&policies), innermost_(std::move(innermost)) {}
    auto operator()(call_context& call) { return innermost_(call); }

protected:
    Policies* policies_;

private:
    Innermost innermost_;
};

template <class Policies, class Innermost, std::size_t Index>
class path;

template <class Policies, class Innermost, std::size_t Index,
          bool IsEnd = Index == std::tuple_size_v<Policies>>
struct path_from {
    using type = path<Policies, Innermost, Index>;
};
template <class Policies, class Innermost, std::size_t Index>
struct path_from<Policies, Innermost, Index, true> {
    using type = path_end<Policies, Innermost>;
};

// The stage behind the one that begins at Index.
template <class Policies, class Innermost, std::size_t Index>
using path_behind =
    typename path_from<Policies, Innermost,
                       gate<policy_at<Policies, Index>> ? end_of_gates<Policies, Index>()
                                                        : Index + 1>::type;

template <class Policies, class Innermost, std::size_t Index>
class path : public path_behind<Policies, Innermost, Index> {
    using next = path_behind<Policies, Innermost, Index>;

public:
    using next::next;

    auto operator()(call_context& call) {
        auto& inner = static_cast<next&>(*this);
        if constexpr (gate<policy_at<Policies, Index>>) {
            constexpr std::size_t count = end_of_gates<Policies, Index>() - Index;
            return through(call, inner, std::make_index_sequence<count>());
        } else {
            return std::get<Index>(*this->policies_).around(call, inner);
        }
    }

private:
    template <std::size_t... Offsets>
    auto through(call_context& call, next& inner, std::index_sequence<Offsets...>) {
        return gates_call<next, policy_at<Policies, Index + Offsets>...>(
            call, inner, std::get<Index + Offsets>(*this->policies_)...);
    }
};

// The policy that a pipeline stores for a constructor argument.
template <class Arg>
struct kept_policy {
    using type = std::remove_cvref_t<Arg>;  // a policy that is moved in
};
template <class Arg>
    requires requires { typename std::remove_cvref_t<Arg>::policy_type; }
struct kept_policy<Arg> {
    using type = typename std::remove_cvref_t<Arg>::policy_type;
};
template <policy Arg>
struct kept_policy<Arg&> {
    using type = Arg&;  // shared with other pipelines
};

// Options without a name take the pipeline's.
template <class Arg>
decltype(auto) with_name(Arg&& arg, std::string_view name) {
    using plain = std::remove_cvref_t<Arg>;
    if constexpr (requires(plain& options) {
                      typename plain::policy_type;
                      options.name = name;
                  }) {
        plain options = arg;
        if (options.name.empty()) {
            options.name = name;
        }
        return options;
    } else {
        return std::forward<Arg>(arg);
    }
}

// Counts one call in the statistics, whether it returns or is stopped.
class call_counter {
public:
    call_counter(pipeline_stats& stats, duration_histogram* durations, call_context& call)
        : stats_(stats), durations_(durations) {
        if (durations != nullptr) {
            began_ = call.now();
        }
        ++stats.calls;
        ++stats.in_flight;
    }
    call_counter(const call_counter&) = delete;
    call_counter& operator=(const call_counter&) = delete;
    ~call_counter() {
        --stats_.in_flight;
        ++*ending_;
    }
    template <class T>
    void record(const outcome<T>& ended, call_context& call) {
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
    static_assert(sizeof(rules) > 0);  // check the rules where the pipeline is created

public:
    template <class... Args>
        requires(sizeof...(Args) == sizeof...(Policies))
    explicit pipeline(std::string_view name, Args&&... policies)
        : name_(name), policies_(detail::with_name(std::forward<Args>(policies), name)...) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    // co_await run(fn): the value of fn(). Throws its error, or refused.
    template <class Callable>
    auto run(Callable&& callable, double weight = 1) {
        WEIR_CHECK_CALLABLE(Callable);
        return call_held<detail::call_view::value, detail::held_t<Callable>>(
            this, std::forward<Callable>(callable), weight);
    }
    // co_await settle(fn): the outcome of fn().
    template <class Callable>
    auto settle(Callable&& callable, double weight = 1) {
        WEIR_CHECK_CALLABLE(Callable);
        return call_held<detail::call_view::outcome, detail::held_t<Callable>>(
            this, std::forward<Callable>(callable), weight);
    }

    const std::string& name() const noexcept { return name_; }
    const pipeline_stats& stats() const noexcept { return stats_; }
    // One of the policies, by index (0: the outermost) or by type.
    template <std::size_t Index>
    auto& get() noexcept {
        return std::get<Index>(policies_);
    }
    template <class Policy>
    Policy& get() noexcept {
        return find<Policy, 0>();
    }

    // Measures the duration of calls from now on, which costs one clock reading per call. Refused
    // and stopped calls are not recorded.
    void measure_durations() {
        if (durations_ == nullptr) {
            durations_ = std::make_unique<duration_histogram>();
        }
    }
    // Null unless measure_durations() was called.
    const duration_histogram* durations() const noexcept { return durations_.get(); }

    // The metrics of the pipeline and of all its policies.
    void write_metrics(metric_writer& to) const {
        const auto write = [&](const char* ending, std::uint64_t value) {
            const metric_label labels[] = {{"name", name_}, {"ending", ending}};
            to.counter("weir_pipeline_calls_total", "Calls that have ended, by ending.", labels,
                       static_cast<double>(value));
        };
        write("succeeded", stats_.succeeded);
        write("failed", stats_.failed);
        write("refused", stats_.refused);
        write("cancelled", stats_.cancelled);
        write("stopped", stats_.stopped);
        const metric_label labels[] = {{"name", name_}};
        to.gauge("weir_pipeline_calls_in_flight", "Calls in flight.", labels,
                 static_cast<double>(stats_.in_flight));
        if (durations_ != nullptr) {
            durations_->write(to, "weir_pipeline_call_duration_seconds",
                              "Duration of calls, including retries and waits.", labels);
        }
        std::apply([&](const auto&... each) { (write_one(each, to), ...); }, policies_);
    }

private:
    static constexpr bool shares_callable =
        (detail::outlives_call<std::remove_reference_t<Policies>> || ...);

    // One frame for the call and all its layers: the layers are large, and would otherwise be part
    // of the calling coroutine's frame.
    template <detail::call_view View, class Held,
              class T = detail::call_value_t<std::remove_reference_t<Held>>>
    static task<detail::viewed_t<View, T>> call_held(pipeline* self, Held callable, double weight) {
        call_context call(self->name_, weight);
        detail::call_counter counter(self->stats_, self->durations_.get(), call);
        auto path = self->path_to(detail::innermost_of<shares_callable, Held>(callable));
        outcome<T> ended = co_await detail::settle_next(path, call);
        counter.record(ended, call);
        co_return detail::view_of<View>(std::move(ended), self->name_);
    }

    template <class Innermost>
    auto path_to(Innermost innermost) {
        return detail::path<std::tuple<Policies...>, Innermost, 0>(policies_, std::move(innermost));
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

template <class... Args>
pipeline(std::string_view, Args&&...) -> pipeline<typename detail::kept_policy<Args>::type...>;
template <class... Args>
pipeline(const char*, Args&&...) -> pipeline<typename detail::kept_policy<Args>::type...>;

}  // namespace weir
