// SPDX-License-Identifier: MIT
// buffered_reader against a plain model: the whole text in a string, and a position. Random texts
// in random chunks, random calls with random delimiters and limits, cut short by timeouts and
// cancellations at random moments. An interrupted call must have changed nothing; a completed one
// must return the model's result.

#include "testing/io/stream_support.hpp"

#include <weir/io/buffered.hpp>

namespace {

using namespace stream_tests;

struct answer {
    enum class kind : unsigned char { text, end, ended_early, too_long } how;
    std::string text{};
    friend bool operator==(const answer&, const answer&) = default;
};
std::ostream& operator<<(std::ostream& out, const answer& shown) {
    const char* const names[] = {"text", "end", "ended_early", "too_long"};
    return out << names[static_cast<int>(shown.how)] << " '" << shown.text << "'";
}
using enum answer::kind;

class model {
public:
    explicit model(std::string text) : text_(std::move(text)) {}

    std::string_view rest() const { return std::string_view(text_).substr(at_); }
    void advance(std::size_t count) { at_ = std::min(text_.size(), at_ + count); }

    answer until(std::string_view delimiter, std::size_t limit, bool included) {
        const std::size_t found = rest().find(delimiter);
        if (found != std::string_view::npos && found <= limit) {
            return take(found + delimiter.size(), found + (included ? delimiter.size() : 0));
        }
        if (found != std::string_view::npos || rest().size() >= limit + delimiter.size()) {
            return {too_long};
        }
        return {rest().empty() ? end : ended_early};
    }
    answer line(std::size_t limit, bool accepts_last) {
        const std::size_t found = rest().find('\n');
        const bool is_whole = found != std::string_view::npos;
        std::size_t length = is_whole ? found : rest().size();
        if (length > 0 && rest()[length - 1] == '\r') {
            --length;
        }
        if (length > limit) {
            return {too_long};
        }
        if (is_whole) {
            return take(found + 1, length);
        }
        if (rest().empty()) {
            return {end};
        }
        return accepts_last ? take(rest().size(), rest().size()) : answer{ended_early};
    }
    answer exact(std::size_t count) {
        return count > rest().size() ? answer{ended_early} : take(count, count);
    }

private:
    answer take(std::size_t count, std::size_t shown) {
        answer given{text, std::string(rest().substr(0, shown))};
        advance(count);
        return given;
    }

    std::string text_;
    std::size_t at_ = 0;
};

// How the call ended, as the model puts it. A timeout passes.
template <class Call>
task<answer> ask(Call call) {
    try {
        auto given = co_await call();
        if constexpr (std::is_same_v<decltype(given), std::string_view>) {
            co_return answer{text, std::string(given)};
        } else {
            co_return given.has_value() ? answer{text, std::string(*given)} : answer{end};
        }
    } catch (const weir::end_of_stream&) {
        co_return answer{ended_early};
    } catch (const weir::limit_exceeded&) {
        co_return answer{too_long};
    }
}

class trace {
public:
    explicit trace(std::uint64_t seed)
        : random_(seed), net_({.link = link_options::drawn_from(seed)}) {}

    task<> run() {
        const std::string sent = random_text();
        auto [near, far] = net_.pair();
        const auto sender = weir::spawn(trickle(near, sent));
        const std::size_t capacity = 1 + random_.below(random_.flip() ? 8 : 200);
        io::buffered_reader reader(
            far, {.capacity = capacity, .idle_capacity = random_.below(capacity + 1)});
        model expected(sent);
        for (int calls = 0; calls < 400 && !(expected.rest().empty() && calls > 20); ++calls) {
            co_await one_call(reader, expected);
            if (::testing::Test::HasFailure()) {
                break;
            }
        }
        far.close();
        sender.cancel();
        co_await sender.wait();
    }

private:
    std::string random_text() {
        static constexpr std::string_view letters = "ab-\r\n";
        std::string made(random_.below(random_.flip() ? 40 : 400), ' ');
        for (char& each : made) {
            each = letters[random_.below(letters.size())];
        }
        return made;
    }
    std::string random_delimiter() {
        static constexpr std::string_view all[] = {"\n", "\r\n", "--", "aab", "-a-a", "abab", "z"};
        return std::string(all[random_.below(std::size(all))]);
    }
    // In pieces, with pauses.
    task<> trickle(simulated_stream& to, std::string sent) {
        for (std::size_t at = 0; at < sent.size();) {
            const std::size_t count = std::min(sent.size() - at, 1 + random_.below(30));
            co_await to.write(io::const_bytes(sent).after(at).first(count));
            at += count;
            if (random_.below(3) == 0) {
                co_await weir::sleep(random_.time(3000));
            }
        }
        co_await to.close_write();
    }

    // Lets the call run to its end, or cuts it short. Empty: it was cut short.
    template <class Work>
    task<std::optional<answer>> maybe_cut(Work work) {
        std::optional<answer> given;
        auto running = [&]() -> task<> { given = co_await ask(work); };
        switch (random_.below(4)) {
            case 0:
                co_await running();
                break;
            case 1:
                co_await weir::timeout_or(random_.time(4000), forever_true(running), false);
                break;
            default: {
                const auto started = weir::spawn(running);
                for (std::size_t turns = random_.below(6); turns > 0; --turns) {
                    co_await weir::yield();
                }
                if (random_.flip()) {
                    co_await weir::sleep(random_.time(4000));
                }
                started.cancel();
                co_await started.wait();
            }
        }
        co_return given;
    }
    template <class Running>
    static task<bool> forever_true(Running& running) {
        co_await running();
        co_return true;
    }

    template <class Reader>
    task<> one_call(Reader& reader, model& expected) {
        const std::size_t limit = random_.below(random_.flip() ? 12 : 300);
        const std::size_t count = random_.below(random_.flip() ? 10 : 60);
        const std::string delimiter = random_delimiter();
        const bool flag = random_.flip();
        std::optional<answer> given;
        switch (random_.below(8)) {
            case 0:
            case 1: {
                auto call = [&] {
                    return flag ? reader.read_through(delimiter, limit)
                                : reader.read_until(delimiter, limit);
                };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    const answer right = expected.until(delimiter, limit, flag);
                    EXPECT_EQ(*given, right) << "until " << limit;
                }
                break;
            }
            case 2:
            case 3: {
                auto call = [&] {
                    return reader.read_line(limit, flag ? io::unterminated_line::accept
                                                        : io::unterminated_line::refuse);
                };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    const answer right = expected.line(limit, flag);
                    EXPECT_EQ(*given, right) << "line " << limit;
                }
                break;
            }
            case 4: {
                auto call = [&] { return reader.read_exact(count); };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    const answer right = expected.exact(count);
                    EXPECT_EQ(*given, right) << "exact " << count;
                }
                break;
            }
            case 5: {
                auto call = [&] { return reader.peek(count); };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    EXPECT_EQ(given->text, expected.rest().substr(0, count)) << "peek";
                }
                break;
            }
            case 6: {
                // Cut short or not, these bytes are gone, unless the call was stopped before it
                // began.
                bool began = false;
                auto call = [&]() -> task<std::optional<std::string_view>> {
                    began = true;
                    co_await reader.skip(count);
                    co_return "";
                };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    EXPECT_EQ(given->how == ended_early,
                              skips_past_end_ || count > expected.rest().size())
                        << "skip";
                    skips_past_end_ = false;
                } else if (began) {
                    skips_past_end_ |= count > expected.rest().size();
                }
                if (began) {
                    expected.advance(count);
                }
                break;
            }
            default: {
                std::string into(1 + count, '\0');
                auto call = [&]() -> task<std::string_view> {
                    const std::size_t came = co_await reader.read(into);
                    co_return std::string_view(into).substr(0, came);
                };
                given = co_await maybe_cut(call);
                if (given.has_value()) {
                    EXPECT_EQ(given->text, expected.rest().substr(0, given->text.size())) << "read";
                    EXPECT_EQ(given->text.empty(), expected.rest().empty()) << "read";
                    expected.advance(given->text.size());
                }
            }
        }
        EXPECT_EQ(reader.buffered(), expected.rest().substr(0, reader.buffered().size()));
    }

    dice random_;
    simulated_network net_;
    bool skips_past_end_ = false;  // a skip that was cut short wants more than there is
};

task<> random_trace() {
    trace one(weir::testing::current_seed());
    co_await one.run();
}

TEST(BufferedReaderProperty, AnswersAsTheModelDoesUnderThousandsOfCuts) {
    const weir::testing::exploration found =
        weir::testing::explore(random_trace, {.schedules = runs(3000)});
    EXPECT_FALSE(found.failed) << found.text();
}

}  // namespace
