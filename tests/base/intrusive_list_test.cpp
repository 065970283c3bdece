// SPDX-License-Identifier: MIT
#include <weir/base/intrusive_list.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

using weir::detail::intrusive_list;
using weir::detail::list_link;

struct by_age;

struct element : list_link<>, list_link<by_age> {
    explicit element(int given) : number(given) {}
    int number;
};

std::vector<int> numbers(const intrusive_list<element>& list) {
    std::vector<int> found;
    for (const element& each : list) {
        found.push_back(each.number);
    }
    return found;
}

bool is_linked(const element& checked) {
    return static_cast<const list_link<>&>(checked).is_linked();
}

TEST(IntrusiveList, KeepsTheOrderOfItsElements) {
    element one(1);
    element two(2);
    element three(3);
    intrusive_list<element> list;
    EXPECT_TRUE(list.empty());
    list.push_back(two);
    list.push_back(three);
    list.push_front(one);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(list.front().number, 1);
    EXPECT_EQ(list.back().number, 3);
}

TEST(IntrusiveList, InsertsBeforeAnElement) {
    element one(1);
    element two(2);
    element three(3);
    intrusive_list<element> list;
    list.push_back(one);
    list.push_back(three);
    list.insert_before(++list.begin(), two);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 2, 3}));
}

TEST(IntrusiveList, AnElementLeavesFromAnyPlace) {
    for (int leaving = 1; leaving <= 3; ++leaving) {
        std::vector<element> all{element(1), element(2), element(3)};
        intrusive_list<element> list;
        std::vector<int> left;
        for (element& each : all) {
            list.push_back(each);
            if (each.number != leaving) {
                left.push_back(each.number);
            }
        }
        element& gone = all[static_cast<std::size_t>(leaving - 1)];
        static_cast<list_link<>&>(gone).unlink();
        EXPECT_FALSE(is_linked(gone));
        EXPECT_EQ(numbers(list), left);
        list.push_back(gone);
        EXPECT_EQ(list.back().number, leaving);
    }
}

TEST(IntrusiveList, TheLastElementLeavesAnEmptyList) {
    element only(1);
    intrusive_list<element> list;
    list.push_back(only);
    EXPECT_FALSE(list.empty());
    EXPECT_EQ(&list.pop_front(), &only);
    EXPECT_TRUE(list.empty());
    EXPECT_FALSE(is_linked(only));
}

TEST(IntrusiveList, ALoopMayRemoveTheElementItHasPassed) {
    std::vector<element> all{element(1), element(2), element(3), element(4)};
    intrusive_list<element> list;
    for (element& each : all) {
        list.push_back(each);
    }
    for (auto at = list.begin(); at != list.end();) {
        element& each = *at++;
        if (each.number % 2 == 0) {
            list.remove(each);
        }
    }
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 3}));
}

TEST(IntrusiveList, MovesItsElementsToAnotherList) {
    element one(1);
    element two(2);
    element three(3);
    intrusive_list<element> from;
    from.push_back(two);
    from.push_back(three);
    intrusive_list<element> to;
    to.push_back(one);
    to.splice_back(from);
    EXPECT_TRUE(from.empty());
    EXPECT_EQ(numbers(to), (std::vector<int>{1, 2, 3}));
    const intrusive_list<element> moved(std::move(to));
    EXPECT_EQ(numbers(moved), (std::vector<int>{1, 2, 3}));
}

TEST(IntrusiveList, AnElementIsInOneListPerTag) {
    element one(1);
    element two(2);
    intrusive_list<element> by_arrival;
    intrusive_list<element, by_age> ages;
    by_arrival.push_back(one);
    by_arrival.push_back(two);
    ages.push_back(two);
    ages.push_back(one);
    by_arrival.remove(one);
    EXPECT_EQ(numbers(by_arrival), (std::vector<int>{2}));
    EXPECT_EQ(ages.front().number, 2);
    EXPECT_EQ(ages.back().number, 1);
}

TEST(IntrusiveList, ACopyOfAnElementIsInNoList) {
    element one(1);
    intrusive_list<element> list;
    list.push_back(one);
    const element copy = one;
    EXPECT_FALSE(is_linked(copy));
    EXPECT_EQ(numbers(list), (std::vector<int>{1}));
}

}  // namespace
