// SPDX-License-Identifier: MIT
// consume: several consumers over a queue, a stream or a range, which survive failing items.
//
//     weir::queue<order> orders(100);
//     auto report = co_await weir::consume(orders, {.consumers = 3}, process, note_failure);
//
// produce_and_consume also runs producers, and closes the queue when the last of them has ended:
//
//     co_await weir::produce_and_consume(orders, std::move(producers), {.consumers = 3}, process);
//
// The end: consume() returns when the source has ended (a queue: closed and empty) and all items
// taken from it have been processed. Only then does it throw an error of the source.
//
// A failing item: the consumer counts it, passes it to the sink, and continues. The sink is called
// as sink(item, outcome_view) and may be a coroutine, for example one that puts the item into a
// dead-letter queue. An exception of the sink ends everything: the other consumers are stopped, and
// consume() throws it. So let the sink throw if a single failure must end the run. Without a sink,
// the report has the first error.
//
// Stopping the task stops all consumers. Items that wait in the queue stay there. An item that a
// consumer is processing is dropped and counted as interrupted; with finish_items the consumer
// finishes it first. A stopped consume() returns no report: set `report` in the options to have
// one.
//
// The function gets the item as an lvalue if it accepts one, so that the sink sees the item
// afterwards.
#pragma once

#include <weir/cancel.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/stream_source.hpp>
#include <weir/gather.hpp>
#include <weir/sync/mutex.hpp>

#include <cstdint>
#include <exception>
#include <vector>

namespace weir {

struct consume_report {
    struct consumer {
        std::uint64_t processed = 0;
        std::uint64_t failed = 0;
    };
    std::uint64_t processed = 0;
    std::uint64_t failed = 0;
    std::uint64_t interrupted = 0;  // taken, then dropped by a stop
    std::vector<consumer> consumers;
    std::exception_ptr first_error;  // of an item
};

struct consume_options {
    std::size_t consumers = 1;
    // For each item: a call that takes longer fails with timed_out.
    clock::duration item_timeout = clock::duration::max();
    // A stop waits until the items being processed are done.
    bool finish_items = false;
    // If set: kept up to date during the run, and valid after a stop or an error.
    consume_report* report = nullptr;
};

namespace detail {

void check_consume_options(const consume_options& options);

struct no_sink {
    template <class Item>
    void operator()(const Item&, const outcome_view&) const noexcept {}
};

// Several consumers may read from a queue at once, from any other stream one at a time.
template <class Stream>
inline constexpr bool allows_concurrent_reads = false;
template <class Queue>
inline constexpr bool allows_concurrent_reads<queue_reader<Queue>> = true;

// GCC warns if these get local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Function, class... Args>
task<void> call_ignoring_result(Function& function, Args&&... args) {
    if constexpr (awaitable<std::invoke_result_t<Function&, Args...>>) {
        co_await std::invoke(function, std::forward<Args>(args)...);
    } else {
        std::invoke(function, std::forward<Args>(args)...);
        co_return;
    }
}

template <class Stream, class Function, class Sink>
class consumption {
    using value = std::remove_reference_t<kept_value<Stream>>;
    using argument = std::conditional_t<std::is_invocable_v<Function&, value&>, value&, value&&>;

public:
    consumption(Stream& source, const consume_options& options, Function& function, Sink& sink,
                consume_report& report)
        : source_(source), options_(options), function_(function), sink_(sink), report_(report) {
        report_ = {};
        report_.consumers.resize(options.consumers);
    }

    task<void> run() {
        std::vector<task<void>> consumers;
        for (std::size_t number = 0; number < options_.consumers; ++number) {
            consumers.push_back(consume(number));
        }
        co_await gather(std::move(consumers));
        if (source_error_ != nullptr) {
            std::rethrow_exception(source_error_);
        }
    }

private:
    // Counts the item as interrupted unless it is marked as done.
    class interruption_guard {
    public:
        explicit interruption_guard(consume_report& report) noexcept : report_(&report) {}
        interruption_guard(const interruption_guard&) = delete;
        interruption_guard& operator=(const interruption_guard&) = delete;
        ~interruption_guard() {
            if (report_ != nullptr) {
                ++report_->interrupted;
            }
        }
        void mark_done() noexcept { report_ = nullptr; }

    private:
        consume_report* report_;
    };

    task<void> consume(std::size_t number) {
        for (;;) {
            kept_item<Stream> item = co_await next();
            if (!item) {
                co_return;
            }
            if (options_.finish_items) {
                co_await shield(handle(*item, number));
            } else {
                co_await handle(*item, number);
            }
        }
    }

    task<kept_item<Stream>> next() {
        mutex::guard turn;
        if constexpr (!allows_concurrent_reads<Stream>) {
            turn = co_await read_turn_.lock();
        }
        if (has_ended_) {
            co_return kept_item<Stream>();
        }
        try {
            auto item = co_await source_.next();
            if (item) {
                co_return keep<Stream>(item);
            }
        } catch (...) {
            source_error_ = std::current_exception();
        }
        has_ended_ = true;
        co_return kept_item<Stream>();
    }

    task<void> handle(value& item, std::size_t number) {
        interruption_guard guard(report_);
        task<void> work = with_item_timeout(
            options_.item_timeout,
            call_ignoring_result<Function, argument>(function_, static_cast<argument>(item)));
        const outcome<void> ended = co_await weir::settle(std::move(work));
        guard.mark_done();
        consume_report::consumer& mine = report_.consumers[number];
        if (ended) {
            ++report_.processed;
            ++mine.processed;
            co_return;
        }
        ++report_.failed;
        ++mine.failed;
        if (report_.first_error == nullptr) {
            report_.first_error = ended.error();
        }
        const outcome_view view(ended);
        co_await call_ignoring_result<Sink, value&, const outcome_view&>(sink_, item, view);
    }

    Stream& source_;
    const consume_options& options_;
    Function& function_;
    Sink& sink_;
    consume_report& report_;
    mutex read_turn_;
    std::exception_ptr source_error_;
    bool has_ended_ = false;
};

template <class Stream, class Function, class Sink>
task<consume_report> run_consumers(Stream stream, consume_options options, Function function,
                                   Sink sink) {
    auto& source = co_await owned_stream(stream);
    consume_report own;
    consume_report& report = options.report != nullptr ? *options.report : own;
    consumption<Stream, Function, Sink> state(source, options, function, sink, report);
    co_await state.run();
    co_return report;
}

// Closes the queue at the end of the scope, however that is left.
template <class Queue>
class close_at_end {
public:
    explicit close_at_end(Queue& queue) noexcept : queue_(queue) {}
    close_at_end(const close_at_end&) = delete;
    close_at_end& operator=(const close_at_end&) = delete;
    ~close_at_end() { queue_.close(); }

private:
    Queue& queue_;
};

template <class Queue>
task<void> run_producers(Queue& queue, std::vector<task<void>> producers) {
    const close_at_end<Queue> closer(queue);
    co_await gather(std::move(producers));
}

template <class Queue, class Function, class Sink>
task<consume_report> run_producers_and_consumers(Queue& queue, std::vector<task<void>> producers,
                                                 consume_options options, Function function,
                                                 Sink sink) {
    const close_at_end<Queue> closer(queue);  // also for a stop before the producers have started
    consume_report own;
    if (options.report == nullptr) {
        options.report = &own;
    }
    std::exception_ptr failure;
    auto produce = [&]() -> task<void> {
        const outcome<void> ended =
            co_await weir::settle(run_producers(queue, std::move(producers)));
        failure = ended.error();
    };
    auto consume = [&]() -> task<void> {
        co_await run_consumers<queue_reader<Queue>, Function&, Sink&>(queue_reader<Queue>(queue),
                                                                      options, function, sink);
    };
    co_await gather(produce(), consume());
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
    co_return *options.report;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail

// Runs the consumers until the source ends. Invalid options throw invalid_argument.
template <stream_source Source, class Function, class Sink = detail::no_sink>
task<consume_report> consume(Source&& items, const consume_options& options, Function&& function,
                             Sink&& sink = {}) {
    WEIR_CHECK_CALLABLE(Function);
    WEIR_CHECK_CALLABLE(Sink);
    detail::check_consume_options(options);
    return detail::run_consumers<detail::stream_of<Source>, std::decay_t<Function>,
                                 std::decay_t<Sink>>(detail::to_stream(std::forward<Source>(items)),
                                                     options, std::forward<Function>(function),
                                                     std::forward<Sink>(sink));
}

// Runs the producers and closes the queue when all have ended. If one fails, the others are
// stopped, the queue is closed, and the error is thrown. A stop closes the queue too.
template <class T, class Storage>
task<void> produce(basic_queue<T, Storage>& queue, std::vector<task<void>> producers) {
    return detail::run_producers(queue, std::move(producers));
}

// Runs producers and consumers. After a producer's failure the consumers still process the items in
// the queue; then the error is thrown. An error or stop that ends the consumers stops the
// producers.
template <class T, class Storage, class Function, class Sink = detail::no_sink>
task<consume_report> produce_and_consume(basic_queue<T, Storage>& queue,
                                         std::vector<task<void>> producers,
                                         const consume_options& options, Function&& function,
                                         Sink&& sink = {}) {
    WEIR_CHECK_CALLABLE(Function);
    WEIR_CHECK_CALLABLE(Sink);
    detail::check_consume_options(options);
    return detail::run_producers_and_consumers<basic_queue<T, Storage>, std::decay_t<Function>,
                                               std::decay_t<Sink>>(
        queue, std::move(producers), options, std::forward<Function>(function),
        std::forward<Sink>(sink));
}

}  // namespace weir
