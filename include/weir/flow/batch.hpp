// SPDX-License-Identifier: MIT
// batch: many items, batch by batch, a bounded number of them at a time.
//
//     auto pages = co_await weir::batch(urls, {.size = 50, .concurrency = 8, .delay = 1s}, fetch);
//
// A batch is read from the source (a range, a stream, a queue) when the one before is done, and no
// more than that becomes tasks: at most `concurrency` items are processed at any time. The pause
// comes between two batches, and not after the last. The results are in the order of the items.
//
// batch ends with the first failure in the order of the items: calls behind it are stopped, no
// further batch begins, and the error is thrown. batch_settled goes on, and gives an outcome for
// each item. A stop of the task stops and awaits the calls of the batch.
#pragma once

#include <weir/flow/hook.hpp>
#include <weir/flow/map_concurrent.hpp>
#include <weir/time.hpp>

#include <vector>

namespace weir {

struct batch_progress {
    std::size_t batch = 0;   // from 1
    std::size_t done = 0;    // items, of all batches so far
    std::size_t failed = 0;  // of these
};

struct batch_options {
    std::size_t size = 100;        // items in a batch
    std::size_t concurrency = 10;  // items that are processed at the same time
    clock::duration delay{};       // between the end of a batch and the beginning of the next
    // For each item; what takes longer has failed with timed_out.
    clock::duration item_timeout = clock::duration::max();
    hook<void(const batch_progress&)> on_batch{};  // after each batch
};

namespace detail {

void check_batch_options(const batch_options& options);

// GCC warns where these are given local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Stream, class Function, bool Settled>
class batching {
    using result = called_t<Function, kept_value<Stream>>;
    using element = std::conditional_t<Settled, outcome<result>, value_or_unit<result>>;

public:
    using results = std::vector<element>;

    batching(Stream& source, const batch_options& options, Function& function) noexcept
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
                options_.on_batch(batch_progress{number, made_.size(), failed_});
            }
        }
    }
    results take() { return std::move(made_); }

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

    // In a coroutine of its own, so that its calls have ended before what they refer to is gone.
    task<void> process() {
        auto call = [this](kept_item<Stream> item) { return call_one(std::move(item)); };
        auto& ended = co_await closing(start_mapping<map_form::ordered, Settled>(
            std::move(items_), options_.concurrency, call));
        while (auto each = co_await ended.next()) {
            if constexpr (Settled) {
                failed_ += each->has_value() ? 0 : 1;
            }
            made_.push_back(std::move(*each));
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
    results made_;
    std::size_t failed_ = 0;
    bool has_ended_ = false;
};

template <bool Settled, class Stream, class Function>
task<typename batching<Stream, Function, Settled>::results> batched(Stream given,
                                                                    batch_options options,
                                                                    Function function) {
    auto& source = co_await owned_stream(given);
    batching<Stream, Function, Settled> state(source, options, function);
    co_await state.run();
    co_return state.take();
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail

// A vector of results. Bad options throw invalid_argument.
template <stream_source Source, class Function>
auto batch(Source&& items, const batch_options& options, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    detail::check_batch_options(options);
    return detail::batched<false, detail::stream_of<Source>, std::decay_t<Function>>(
        detail::to_stream(std::forward<Source>(items)), options, std::forward<Function>(function));
}
// A vector of outcomes: all values and all errors.
template <stream_source Source, class Function>
auto batch_settled(Source&& items, const batch_options& options, Function&& function) {
    WEIR_CHECK_CALLABLE(Function);
    detail::check_batch_options(options);
    return detail::batched<true, detail::stream_of<Source>, std::decay_t<Function>>(
        detail::to_stream(std::forward<Source>(items)), options, std::forward<Function>(function));
}

}  // namespace weir
