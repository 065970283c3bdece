// SPDX-License-Identifier: MIT
// batch: processes many items batch by batch, with bounded concurrency.
//
//     auto pages = co_await weir::batch(urls, {.size = 50, .concurrency = 8, .delay = 1s}, fetch);
//
// batch() reads a batch from the source (a range, a stream, a queue) when the previous batch is
// done, and processes at most `concurrency` items at any time. The delay comes between two batches,
// not after the last. The results are in the order of the items.
//
// batch() ends at the first failure in the order of the items: it stops the calls for later items,
// starts no further batch, and throws the error. batch_settled() continues and returns an outcome
// for each item. Stopping the task stops and awaits the calls of the current batch. The calls see
// the deadlines around batch() as theirs (current_deadline()).
#pragma once

#include <weir/flow/hook.hpp>
#include <weir/flow/map_concurrent.hpp>
#include <weir/time.hpp>

#include <vector>

namespace weir {

struct batch_progress {
    std::size_t batch = 0;   // number of this batch, from 1
    std::size_t done = 0;    // items processed in all batches so far
    std::size_t failed = 0;  // how many of them failed
};

struct batch_options {
    std::size_t size = 100;        // items in a batch
    std::size_t concurrency = 10;  // items processed at the same time
    clock::duration delay{};       // from the end of a batch to the start of the next
    // For each item: a call that takes longer fails with timed_out.
    clock::duration item_timeout = clock::duration::max();
    hook<void(const batch_progress&)> on_batch{};  // called after each batch
};

namespace detail {

void check_batch_options(const batch_options& options);

// GCC warns if these get local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Stream, class Function, bool Settled>
class batch_run {
    using result = called_t<Function, kept_value<Stream>>;
    using element = std::conditional_t<Settled, outcome<result>, value_or_unit<result>>;

public:
    using results = std::vector<element>;

    batch_run(Stream& source, const batch_options& options, Function& function) noexcept
        : source_(source), options_(options), function_(function) {}

    task<void> run() {
        clock::time_point earliest = clock::time_point::min();
        for (std::size_t number = 1;; ++number) {
            co_await read();
            if (items_.empty()) {
                co_return;
            }
            if (now() < earliest) {
                co_await sleep_until(earliest);
            }
            co_await process();
            earliest = after(now(), options_.delay);
            if (options_.on_batch) {
                options_.on_batch(batch_progress{number, results_.size(), failed_});
            }
        }
    }
    results take_results() { return std::move(results_); }

private:
    task<void> read() {
        items_.clear();
        while (!has_ended_ && items_.size() < options_.size) {
            auto item = co_await source_.next();
            if (!item) {
                has_ended_ = true;
                co_return;
            }
            items_.push_back(keep<Stream>(item));
        }
    }

    // A separate coroutine, so that its calls have ended before the objects they refer to are
    // destroyed.
    task<void> process() {
        auto call = [this](kept_item<Stream> item) { return call_one(std::move(item)); };
        auto& outcomes = co_await closing(start_mapping<map_form::ordered, Settled>(
            std::move(items_), options_.concurrency, call));
        while (auto each = co_await outcomes.next()) {
            if constexpr (Settled) {
                failed_ += each->has_value() ? 0 : 1;
            }
            results_.push_back(std::move(*each));
        }
    }
    task<result> call_one(kept_item<Stream> item) {
        return with_item_timeout(options_.item_timeout,
                                 call_with_item<Stream, Function>(function_, std::move(item)));
    }

    Stream& source_;
    const batch_options& options_;
    Function& function_;
    std::vector<kept_item<Stream>> items_;
    results results_;
    std::size_t failed_ = 0;
    bool has_ended_ = false;
};

template <bool Settled, class Stream, class Function>
task<typename batch_run<Stream, Function, Settled>::results> run_batches(Stream stream,
                                                                         batch_options options,
                                                                         Function function) {
    auto& source = co_await owned_stream(stream);
    batch_run<Stream, Function, Settled> state(source, options, function);
    co_await state.run();
    co_return state.take_results();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail

// Returns a task of a vector of results. Invalid options throw invalid_argument.
template <stream_source Source, class Function>
auto batch(Source&& items, const batch_options& options, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    detail::check_batch_options(options);
    if constexpr (detail::check_item_function<Function,
                                              detail::kept_value<detail::stream_of<Source>>>()) {
        return detail::run_batches<false, detail::stream_of<Source>, std::decay_t<Function>>(
            detail::to_stream(std::forward<Source>(items)), options,
            std::forward<Function>(function));
    } else {
        return detail::refused_call();
    }
}
// Returns a task of a vector of outcomes: all values and all errors.
template <stream_source Source, class Function>
auto batch_settled(Source&& items, const batch_options& options, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    detail::check_batch_options(options);
    if constexpr (detail::check_item_function<Function,
                                              detail::kept_value<detail::stream_of<Source>>>()) {
        return detail::run_batches<true, detail::stream_of<Source>, std::decay_t<Function>>(
            detail::to_stream(std::forward<Source>(items)), options,
            std::forward<Function>(function));
    } else {
        return detail::refused_call();
    }
}

}  // namespace weir
