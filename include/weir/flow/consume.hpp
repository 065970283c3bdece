// SPDX-License-Identifier: MIT
// consume: several consumers over a queue, a stream or a range, that survive what a bad item does.
//
//     weir::queue<order> orders(100);
//     auto report = co_await weir::consume(orders, {.consumers = 3}, process, note_failure);
//
// produce_and_consume runs producers too, and closes the queue when the last of them has ended:
//
//     co_await weir::produce_and_consume(orders, std::move(producers), {.consumers = 3}, process);
//
// The end. consume() returns when the source has ended (a queue: closed and empty) and all that was
// taken has been processed. An error of the source is thrown then, not earlier.
//
// A failing item: the consumer counts it, gives it to the sink, and goes on. The sink is called as
// sink(item, outcome_view) and may be a coroutine, such as one that puts the item into a queue of
// dead letters. What the sink throws ends everything: the other consumers are stopped, and
// consume() throws it. So `throw` in the sink where one failure is one too many. Without a sink,
// the first error is in the report.
//
// A stop of the task stops all consumers. Items that wait in the queue stay there. One that a
// consumer has in its hands is dropped and counted as interrupted; with finish_items the consumer
// finishes it first. A stop leaves nothing to return the report to: name one in the options.
//
// The function gets the item as an lvalue if it can take that, so that the sink sees it afterwards.
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
    std::uint64_t interrupted = 0;  // taken, and dropped by a stop
    std::vector<consumer> consumers;
    std::exception_ptr first_error;  // of an item
};

struct consume_options {
    std::size_t consumers = 1;
    // For each item; what takes longer has failed with timed_out.
    clock::duration item_timeout = clock::duration::max();
    // A stop waits until the items that are being processed are done.
    bool finish_items = false;
    // Kept up to date while it runs, and there after a stop or an error.
    consume_report* report = nullptr;
};

namespace detail {

void check_consume_options(const consume_options& options);

struct no_sink {
    template <class Item>
    void operator()(const Item&, const outcome_view&) const noexcept {}
};

// A queue serves many at once, any other stream one at a time.
template <class Stream>
inline constexpr bool serves_many = false;
template <class Queue>
inline constexpr bool serves_many<queue_reader<Queue>> = true;

// GCC warns where these are given local lambdas: see spawn.hpp.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

template <class Function, class... Args>
task<void> call_and_drop(Function& function, Args&&... args) {
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
    // Counts the item as interrupted unless it is told otherwise.
    class in_hand {
    public:
        explicit in_hand(consume_report& report) noexcept : report_(&report) {}
        in_hand(const in_hand&) = delete;
        in_hand& operator=(const in_hand&) = delete;
        ~in_hand() {
            if (report_ != nullptr) {
                ++report_->interrupted;
            }
        }
        void put_down() noexcept { report_ = nullptr; }

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
        if constexpr (!serves_many<Stream>) {
            turn = co_await turn_.lock();
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
        in_hand holding(report_);
        task<void> work = with_item_timeout(
            options_.item_timeout,
            call_and_drop<Function, argument>(function_, static_cast<argument>(item)));
        const outcome<void> ended = co_await weir::settle(std::move(work));
        holding.put_down();
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
        co_await call_and_drop<Sink, value&, const outcome_view&>(sink_, item, view);
    }

    Stream& source_;
    const consume_options& options_;
    Function& function_;
    Sink& sink_;
    consume_report& report_;
    mutex turn_;
    std::exception_ptr source_error_;
    bool has_ended_ = false;
};

template <class Stream, class Function, class Sink>
task<consume_report> consumed(Stream given, consume_options options, Function function, Sink sink) {
    auto& source = co_await owned_stream(given);
    consume_report own;
    consume_report& report = options.report != nullptr ? *options.report : own;
    consumption<Stream, Function, Sink> state(source, options, function, sink, report);
    co_await state.run();
    co_return report;
}

// Closes the queue however its scope is left.
template <class Queue>
class close_at_end {
public:
    explicit close_at_end(Queue& closed) noexcept : queue_(closed) {}
    close_at_end(const close_at_end&) = delete;
    close_at_end& operator=(const close_at_end&) = delete;
    ~close_at_end() { queue_.close(); }

private:
    Queue& queue_;
};

template <class Queue>
task<void> produced(Queue& to, std::vector<task<void>> producers) {
    const close_at_end<Queue> closing_it(to);
    co_await gather(std::move(producers));
}

template <class Queue, class Function, class Sink>
task<consume_report> produced_and_consumed(Queue& through, std::vector<task<void>> producers,
                                           consume_options options, Function function, Sink sink) {
    const close_at_end<Queue> closing_it(through);  // also if a stop comes before they have begun
    consume_report own;
    if (options.report == nullptr) {
        options.report = &own;
    }
    std::exception_ptr failure;
    auto produce = [&]() -> task<void> {
        const outcome<void> ended = co_await weir::settle(produced(through, std::move(producers)));
        failure = ended.error();
    };
    auto consume = [&]() -> task<void> {
        co_await consumed<queue_reader<Queue>, Function&, Sink&>(queue_reader<Queue>(through),
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

template <stream_source Source, class Function, class Sink = detail::no_sink>
task<consume_report> consume(Source&& items, const consume_options& options, Function&& function,
                             Sink&& sink = {}) {
    WEIR_CHECK_CALLABLE(Function);
    WEIR_CHECK_CALLABLE(Sink);
    detail::check_consume_options(options);
    return detail::consumed<detail::stream_of<Source>, std::decay_t<Function>, std::decay_t<Sink>>(
        detail::to_stream(std::forward<Source>(items)), options, std::forward<Function>(function),
        std::forward<Sink>(sink));
}

// Runs the producers, and closes the queue when all have ended, or as soon as one has failed and
// the others have been stopped; its error is thrown. A stop closes it too.
template <class T, class Storage>
task<void> produce(basic_queue<T, Storage>& to, std::vector<task<void>> producers) {
    return detail::produced(to, std::move(producers));
}

// Both. After a producer's failure the consumers still process what is in the queue; then its error
// is thrown. What ends the consumers stops the producers.
template <class T, class Storage, class Function, class Sink = detail::no_sink>
task<consume_report> produce_and_consume(basic_queue<T, Storage>& through,
                                         std::vector<task<void>> producers,
                                         const consume_options& options, Function&& function,
                                         Sink&& sink = {}) {
    WEIR_CHECK_CALLABLE(Function);
    WEIR_CHECK_CALLABLE(Sink);
    detail::check_consume_options(options);
    return detail::produced_and_consumed<basic_queue<T, Storage>, std::decay_t<Function>,
                                         std::decay_t<Sink>>(through, std::move(producers), options,
                                                             std::forward<Function>(function),
                                                             std::forward<Sink>(sink));
}

}  // namespace weir
