// SPDX-License-Identifier: MIT
// Which polls are worth a claim, and that no wake-up gets lost.

#include "service/workers/poll_board.hpp"

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace {

using namespace weir::service::detail;
using poll = std::shared_ptr<waiting_poll>;
using names = std::vector<std::string>;

poll make_poll(const std::string& worker, std::size_t free = 1, bool is_connected = true) {
    worker_poll request;
    request.number = 1;
    request.free = free;
    request.is_client_connected = [is_connected] { return is_connected; };
    return std::make_shared<waiting_poll>(worker, std::move(request));
}

names claimed(poll_board& board) {
    names workers;
    for (const poll& each : board.begin_claim()) {
        workers.push_back(each->worker);
        board.claim_answered(*each, 0);
    }
    return workers;
}

}  // namespace

WEIR_TEST(PollBoard, ClaimsForAPollOnceAndThenForTasksThatItTakes) {
    poll_board board;
    const poll one = make_poll("one");
    const poll two = make_poll("two");
    const poll other = make_poll("other");
    EXPECT_FALSE(board.is_wanted());
    board.add(one, {"a", "b"}, {});
    board.add(two, {"b", "a"}, {});
    board.add(other, {"b"}, {"q"});
    EXPECT_EQ(claimed(board).size(), 3U) << "tasks may be there";
    EXPECT_FALSE(board.is_wanted());
    EXPECT_FALSE(board.tasks_ready("c", "q"));
    EXPECT_EQ(claimed(board), names{});
    EXPECT_TRUE(board.tasks_ready("a", "q"));
    EXPECT_EQ(claimed(board), names{"one"}) << "the oldest, and one is enough";
    EXPECT_TRUE(board.tasks_ready("a", "q", 2));
    EXPECT_EQ(claimed(board), (names{"one", "two"}));
    EXPECT_TRUE(board.tasks_ready("b", "q"));
    EXPECT_EQ(claimed(board).size(), 2U) << "one of each group";
    EXPECT_TRUE(board.tasks_ready("b", "elsewhere"));
    EXPECT_EQ(claimed(board), names{"one"}) << "not from that queue";
    board.anything_ready();
    EXPECT_EQ(claimed(board).size(), 2U);
    board.remove(*one);
    board.remove(*one);
    EXPECT_TRUE(board.task_ended("a"));
    EXPECT_EQ(claimed(board), names{"two"});
    board.remove(*two);
    board.remove(*other);
    EXPECT_TRUE(board.empty());
    EXPECT_FALSE(board.tasks_ready("a", "q"));
    co_return;
}

WEIR_TEST(PollBoard, APollWithRoomTakesSeveral) {
    poll_board board;
    board.add(make_poll("one", 8), {"a"}, {});
    board.add(make_poll("two", 8), {"a"}, {});
    claimed(board);
    board.tasks_ready("a", "q", 8);
    EXPECT_EQ(claimed(board), names{"one"});
    board.tasks_ready("a", "q", 9);
    EXPECT_EQ(claimed(board), (names{"one", "two"}));
    co_return;
}

// Failure 16.
WEIR_TEST(PollBoard, ClientsThatHaveGoneArePassedOver) {
    poll_board board;
    board.add(make_poll("gone", 1, false), {"a"}, {});
    board.add(make_poll("here"), {"a"}, {});
    EXPECT_EQ(claimed(board), names{"here"});
    board.tasks_ready("a", "q");
    EXPECT_EQ(claimed(board), names{"here"});
    co_return;
}

// Failure 14: what becomes ready while a claim is in flight is for the next.
WEIR_TEST(PollBoard, NothingIsLostWhileAClaimIsInFlight) {
    poll_board board;
    const poll one = make_poll("one");
    board.add(one, {"a"}, {});
    std::vector<poll> flying = board.begin_claim();
    board.tasks_ready("a", "q");
    EXPECT_EQ(board.begin_claim().size(), 0U) << "one claim for a poll at a time";
    board.tasks_ready("a", "q");
    board.claim_answered(*one, 0);
    EXPECT_EQ(claimed(board), names{"one"});
    // A poll that got as many as it asked for shows that there are more.
    const poll two = make_poll("two");
    board.add(two, {"a"}, {});
    claimed(board);
    board.tasks_ready("a", "q");
    flying = board.begin_claim();
    board.claim_answered(*flying.at(0), 1);
    board.remove(*flying.at(0));
    EXPECT_EQ(claimed(board), names{"two"});
    // A claim that failed is repeated.
    board.tasks_ready("a", "q");
    flying = board.begin_claim();
    board.claim_failed(flying);
    EXPECT_TRUE(flying.at(0)->is_uncertain());
    EXPECT_EQ(claimed(board), names{"two"});
    EXPECT_FALSE(two->is_uncertain());
    co_return;
}

WEIR_TEST(PollBoard, APollEndsWithTheAnswerOfItsClaim) {
    poll_board board;
    const poll one = make_poll("one");
    board.add(one, {"a"}, {});
    one->end_after_look(poll_answer::verdict::none);
    EXPECT_FALSE(one->is_over()) << "it was not claimed for yet";
    const std::vector<poll> flying = board.begin_claim();
    EXPECT_EQ(flying.size(), 1U);
    one->end(poll_answer::verdict::none);
    EXPECT_FALSE(one->is_over()) << "the claim may bring tasks";
    board.claim_answered(*one, 0);
    EXPECT_TRUE(one->is_over());
    EXPECT_EQ(one->answer.what, poll_answer::verdict::none);
    co_return;
}

// Tasks and polls come and go in any order; a claim gives what is there. Whenever nothing is
// wanted, no task is there that a waiting poll would take.
WEIR_TEST(PollBoard, NeverSleepsWhileATaskAndAPollFitEachOther) {
    std::mt19937_64 random(5);
    const names kinds = {"a", "b", "c"};
    const names queues = {"p", "q"};
    for (int round = 0; round < 200; ++round) {
        poll_board board;
        std::map<std::pair<std::string, std::string>, std::size_t> ready;
        struct known {
            poll waiting;
            names kinds;
            names queues;
        };
        std::vector<known> polls;
        std::vector<poll> flying;
        const auto takes = [](const known& each, const std::string& kind,
                              const std::string& queue) {
            return std::ranges::find(each.kinds, kind) != each.kinds.end() &&
                   (each.queues.empty() ||
                    std::ranges::find(each.queues, queue) != each.queues.end());
        };
        const auto forget = [&](const poll& gone) {
            board.remove(*gone);
            std::erase_if(polls, [&](const known& each) { return each.waiting == gone; });
        };
        const auto begin = [&] {
            // What the store has is decided when the claim begins; its answer comes later.
            flying = board.begin_claim();
            for (const poll& each : flying) {
                const auto found = std::ranges::find(polls, each, &known::waiting);
                std::size_t got = 0;
                for (auto& [place, count] : ready) {
                    while (count > 0 && got < each->asked.free &&
                           takes(*found, place.first, place.second)) {
                        --count;
                        ++got;
                    }
                }
                each->answer.tasks.resize(got);
            }
        };
        const auto answer = [&] {
            for (const poll& each : flying) {
                const std::size_t got = each->answer.tasks.size();
                board.claim_answered(*each, got);
                if (got > 0) {
                    forget(each);
                }
            }
            flying.clear();
        };
        for (int step = 0; step < 60; ++step) {
            switch (random() % 5) {
                case 0:
                case 1: {
                    const std::string kind = kinds[random() % 3];
                    const std::string queue = queues[random() % 2];
                    const std::size_t count = 1 + random() % 3;
                    ready[{kind, queue}] += count;
                    board.tasks_ready(kind, queue, count);
                    break;
                }
                case 2: {
                    known fresh;
                    fresh.waiting = make_poll(std::to_string(step), 1 + random() % 2);
                    fresh.kinds = {kinds[random() % 3]};
                    if (random() % 2 == 0) {
                        fresh.kinds.push_back(kinds[random() % 3]);
                        std::ranges::sort(fresh.kinds);
                        fresh.kinds.erase(std::unique(fresh.kinds.begin(), fresh.kinds.end()),
                                          fresh.kinds.end());
                    }
                    if (random() % 2 == 0) {
                        fresh.queues = {queues[random() % 2]};
                    }
                    board.add(fresh.waiting, fresh.kinds, fresh.queues);
                    polls.push_back(std::move(fresh));
                    break;
                }
                case 3:
                    if (flying.empty()) {
                        begin();
                    } else {
                        answer();
                    }
                    break;
                default:
                    if (!polls.empty() && flying.empty()) {
                        forget(poll(polls[random() % polls.size()].waiting));
                    }
            }
        }
        answer();
        while (board.is_wanted()) {
            begin();
            answer();
        }
        for (const known& each : polls) {
            for (const auto& [place, count] : ready) {
                EXPECT_FALSE(count > 0 && takes(each, place.first, place.second))
                    << "round " << round << ": " << count << " of " << place.first << " lie";
            }
        }
    }
    co_return;
}
