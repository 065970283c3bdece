// SPDX-License-Identifier: MIT
// After any sequence of acquiring, cancelling, releasing and resizing, the right tasks hold places,
// in the right order. And under any schedule, no place is lost or given twice.

#include "naive_line.hpp"
#include "support.hpp"

#include <map>

namespace flow_bulkhead {
namespace {

// The real bulkhead with the interface of the naive one: each request is a task.
class real_line {
public:
    real_line(std::size_t limit, std::size_t max_waiting)
        : tried_({.max_concurrent = limit, .max_waiting = max_waiting}) {}

    task<> ask(int id, std::size_t weight, priority level) {
        asking_[id] = weir::spawn(one(id, weight, level));
        co_await settle_all();
    }
    task<> cancel(int id) {
        asking_.at(id).cancel();
        co_await settle_all();
    }
    task<> give_back(int id) {
        held_.erase(id);
        std::erase(order_, id);
        co_await settle_all();
    }
    task<> resize(std::size_t limit) {
        tried_.resize(limit);
        co_await settle_all();
    }
    const std::vector<int>& holders() const { return order_; }

private:
    task<> one(int id, std::size_t weight, priority level) {
        auto waiting = tried_.admit(weight, level);
        auto in = co_await std::move(waiting);
        if (in) {
            held_.emplace(id, std::move(in).pass());
            order_.push_back(id);
        }
    }

    bulkhead tried_;
    std::map<int, handle<>> asking_;
    std::map<int, permit> held_;
    std::vector<int> order_;
};

// One step of a random trace.
struct step {
    enum class what { ask, cancel, give_back, resize } does;
    int id = 0;
    std::size_t number = 0;  // the weight, or the limit
    priority level = priority::normal;
};

// The steps of a seed. Releases depend on the holders, so a model generates them.
class trace {
public:
    explicit trace(unsigned seed)
        : random_(seed),
          limit(1 + random_.below(6)),
          max_waiting(1 + random_.below(8)),
          model(limit, max_waiting) {}

    step next() {
        const unsigned choice = random_.below(10);
        const std::vector<int> holders = model.holders();
        step made{};
        if (choice < 3 && !holders.empty()) {
            made = {step::what::give_back,
                    holders[random_.below(static_cast<unsigned>(holders.size()))]};
            model.give_back(made.id);
        } else if (choice < 5 && last_id_ > 0) {
            made = {step::what::cancel,
                    1 + static_cast<int>(random_.below(static_cast<unsigned>(last_id_)))};
            model.cancel(made.id);
        } else if (choice == 5 && random_.one_in(3)) {
            made = {step::what::resize, 0, 1 + random_.below(6)};
            model.resize(made.number);
        } else {
            made = {step::what::ask, ++last_id_, 1 + random_.below(4),
                    static_cast<priority>(random_.below(4))};
            model.ask(made.id, made.number, made.level);
        }
        return made;
    }

private:
    dice random_;
    int last_id_ = 0;

public:
    std::size_t limit;
    std::size_t max_waiting;
    naive_line model;
};

std::string in_words(const std::vector<int>& ids) {
    std::string text;
    for (const int id : ids) {
        text += std::to_string(id) + " ";
    }
    return text;
}

WEIR_TEST(BulkheadProperty, ThoseHoldPlacesWhoShould) {
    weir::testing::in_ordinary_order();
    weir::testing::once_is_enough();
    for (unsigned seed = 0; seed < 2000; ++seed) {
        trace random(seed);
        real_line tried(random.limit, random.max_waiting);
        for (int i = 0; i < 40; ++i) {
            const step now = random.next();
            switch (now.does) {
                case step::what::ask:
                    co_await tried.ask(now.id, now.number, now.level);
                    break;
                case step::what::cancel:
                    co_await tried.cancel(now.id);
                    break;
                case step::what::give_back:
                    co_await tried.give_back(now.id);
                    break;
                case step::what::resize:
                    co_await tried.resize(now.number);
                    break;
            }
            WEIR_ASSERT_EQ(in_words(tried.holders()), in_words(random.model.holders()))
                << "seed " << seed << ", step " << i;
        }
        for (int i = 0; !tried.holders().empty() && i < 100; ++i) {  // let all through
            co_await tried.give_back(tried.holders().front());
        }
    }
}

// ---- naive lines

std::optional<std::string> violation_with(const line_mistakes& made) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        trace random(seed);
        naive_line tried(random.limit, random.max_waiting, made);
        for (int i = 0; i < 40; ++i) {
            const step now = random.next();
            switch (now.does) {
                case step::what::ask:
                    tried.ask(now.id, now.number, now.level);
                    break;
                case step::what::cancel:
                    tried.cancel(now.id);
                    break;
                case step::what::give_back:
                    tried.give_back(now.id);
                    break;
                case step::what::resize:
                    tried.resize(now.number);
                    break;
            }
            if (tried.holders() != random.model.holders()) {
                return "seed " + std::to_string(seed) + ": " + in_words(tried.holders()) +
                       "hold places, not " + in_words(random.model.holders());
            }
        }
    }
    return std::nullopt;
}

TEST(NaiveLine, WithoutMistakesTheNaiveLineIsRight) {
    EXPECT_FALSE(violation_with({}));
}
TEST(NaiveLine, SmallOnesOvertake) {
    EXPECT_TRUE(violation_with({.lets_small_ones_overtake = true}));
}
TEST(NaiveLine, FollowersAreForgottenWhenTheFirstIsCancelled) {
    EXPECT_TRUE(violation_with({.forgets_followers_on_cancel = true}));
}
TEST(NaiveLine, CancelledOnesKeepTheirPlace) {
    EXPECT_TRUE(violation_with({.cancelled_ones_keep_their_place = true}));
}
TEST(NaiveLine, Barging) {
    EXPECT_TRUE(violation_with({.barges = true}));
}
TEST(NaiveLine, OnePlaceIsGivenBackForMany) {
    EXPECT_TRUE(violation_with({.forgets_the_weight = true}));
}

// ---- schedules

TEST(BulkheadProperty, PlacesAreConservedUnderAnySchedule) {
    expect_always([]() -> task<> {
        dice random;
        const std::size_t limit = 1 + random.below(4);
        bulkhead tried({.max_concurrent = limit,
                        .max_waiting = 1 + random.below(6),
                        .max_wait = random.one_in(2) ? weir::clock::duration(4ms)
                                                     : weir::clock::duration::max()});
        std::size_t held = 0;
        struct holding {
            std::size_t& held;
            std::size_t weight;
            ~holding() { held -= weight; }
        };
        auto use = [&]() -> task<> {
            const std::size_t weight = 1 + random.below(static_cast<unsigned>(limit));
            const auto level = static_cast<priority>(random.below(4));
            auto inside = [&]() -> task<> {
                held += weight;
                const holding mine{held, weight};
                EXPECT_LE(held, limit);
                co_await weir::sleep(random.milliseconds_below(3));
                if (random.one_in(4)) {
                    throw std::runtime_error("failed");
                }
            };
            switch (random.below(3)) {
                case 0: {
                    auto ended = co_await tried.settle(inside, weight);
                    (void)ended;
                    break;
                }
                case 1: {
                    auto in = tried.try_acquire(weight, level);
                    if (in) {
                        (void)co_await weir::settle(inside);
                    }
                    break;
                }
                default: {
                    try {
                        auto waiting = tried.acquire(weight, level);
                        auto mine = co_await weir::timeout(random.milliseconds_below(4),
                                                           std::move(waiting));
                        (void)co_await weir::settle(inside);
                    } catch (const weir::timed_out&) {
                    } catch (const weir::refused&) {
                    }
                }
            }
        };
        auto user = [&]() -> task<> {
            for (int i = 0; i < 6; ++i) {
                co_await use();
            }
        };
        std::vector<handle<>> users;
        for (int i = 0; i < 6; ++i) {
            users.push_back(weir::spawn(user));
        }
        for (int i = 0; i < 4; ++i) {
            co_await weir::sleep(random.milliseconds_below(4));
            users[random.below(6)].cancel();
        }
        for (auto& each : users) {
            co_await each.wait();
        }
        const weir::bulkhead_stats stats = tried.stats();
        EXPECT_EQ(held, 0u);
        EXPECT_EQ(stats.in_use, 0u);
        EXPECT_EQ(stats.waiting, 0u);
        EXPECT_LE(stats.most_in_use, limit);
        EXPECT_TRUE(tried.try_acquire(limit));
    });
}

}  // namespace
}  // namespace flow_bulkhead
