// SPDX-License-Identifier: MIT
// Cron slots: valid and invalid patterns, and that no slot is missed or doubled when clocks are
// set.

#include <weir/error.hpp>
#include <weir/service/cron.hpp>

#include <gtest/gtest.h>

#include <date/tz.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace service = weir::service;
using service::cron;
using service::timestamp;
using namespace std::chrono_literals;

namespace {

timestamp at(const std::string& text) {
    std::istringstream in(text);
    timestamp parsed;
    in >> date::parse("%FT%TZ", parsed);
    EXPECT_FALSE(in.fail()) << text;
    return parsed;
}

std::string text_of(timestamp when) {
    return date::format("%FT%TZ", std::chrono::floor<std::chrono::seconds>(when));
}

std::vector<std::string> slots(const char* pattern, const char* zone, const char* after,
                               int count) {
    const cron times = cron::parse(pattern);
    std::vector<std::string> found;
    timestamp last = at(after);
    for (int i = 0; i < count; ++i) {
        last = times.next_after(last, zone);
        found.push_back(text_of(last));
    }
    return found;
}

std::string refusal(const char* pattern) {
    try {
        static_cast<void>(cron::parse(pattern));
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
    return "taken";
}

using texts = std::vector<std::string>;

}  // namespace

TEST(Cron, FindsTheNextSlot) {
    EXPECT_EQ(slots("*/15 * * * *", "UTC", "2026-01-01T00:07:00Z", 3),
              (texts{"2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z", "2026-01-01T00:45:00Z"}));
    EXPECT_EQ(slots("30 2 * * mon-fri", "UTC", "2026-11-13T02:30:00Z", 2),
              (texts{"2026-11-16T02:30:00Z", "2026-11-17T02:30:00Z"}));
    EXPECT_EQ(slots("0 12 29 feb *", "UTC", "2026-01-01T00:00:00Z", 2),
              (texts{"2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"}));
    EXPECT_EQ(slots("@monthly", "Asia/Kolkata", "2026-01-01T00:00:00Z", 1),
              (texts{"2026-01-31T18:30:00Z"}));
    // Day or weekday, where both are given; Sunday is 7, too.
    EXPECT_EQ(slots("0 0 13 * 7", "UTC", "2026-11-08T00:00:00Z", 2),
              (texts{"2026-11-13T00:00:00Z", "2026-11-15T00:00:00Z"}));
    EXPECT_EQ(slots("0 0 * * sat-sun", "UTC", "2026-11-11T00:00:00Z", 3),
              (texts{"2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z", "2026-11-21T00:00:00Z"}));
    EXPECT_EQ(slots("0 0 * * 6-0", "UTC", "2026-11-15T00:00:00Z", 1),
              (texts{"2026-11-21T00:00:00Z"}));
    EXPECT_EQ(slots("0 0 * * 0-0", "UTC", "2026-11-15T00:00:00Z", 1),
              (texts{"2026-11-22T00:00:00Z"}));
    EXPECT_EQ(slots("0 0 * * mon-sun", "UTC", "2026-11-15T00:00:00Z", 1),
              (texts{"2026-11-16T00:00:00Z"}));
    EXPECT_EQ(slots("5/20 0 * * *", "UTC", "2026-11-08T00:05:00Z", 2),
              (texts{"2026-11-08T00:25:00Z", "2026-11-08T00:45:00Z"}));
    // Later than a time inside a minute, not at it.
    EXPECT_EQ(slots("* * * * *", "UTC", "2026-11-08T00:05:59Z", 1),
              (texts{"2026-11-08T00:06:00Z"}));
    // The century without a leap day.
    EXPECT_EQ(slots("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1),
              (texts{"2104-02-29T00:00:00Z"}));
}

TEST(Cron, ATimeOfDayComesOnceADayWhenClocksAreSet) {
    // Berlin, 2026-03-29: 02:00 becomes 03:00. The slot that does not exist is moved to the change.
    EXPECT_EQ(slots("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
              (texts{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}));
    // Two that do not exist are one.
    EXPECT_EQ(slots("15,45 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
              (texts{"2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z"}));
    // 2026-10-25: 03:00 becomes 02:00. The first 02:30 counts.
    EXPECT_EQ(slots("30 2 * * *", "Europe/Berlin", "2026-10-24T01:00:00Z", 2),
              (texts{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}));
}

TEST(Cron, TimesWithinHoursFollowTheTimeThatPasses) {
    EXPECT_EQ(slots("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 3),
              (texts{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:00:00Z"}));
    EXPECT_EQ(slots("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 4),
              (texts{"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z",
                     "2026-10-25T02:00:00Z"}));
}

// Against a plain walk over every minute of some days around changes of clocks.
TEST(Cron, AgreesWithAWalkOverEveryMinute) {
    const std::vector<std::string> minutes = {"*", "*/7", "0", "30", "15,45", "10-20/5"};
    const std::vector<std::string> hours = {"*", "*/3", "0", "2", "1-3", "23", "0,12"};
    const std::vector<std::string> weekdays = {"*", "sun", "0-3"};
    const std::vector<std::pair<const char*, const char*>> places = {
        {"Europe/Berlin", "2026-03-28T20:00:00Z"},
        {"Europe/Berlin", "2026-10-24T20:00:00Z"},
        {"America/New_York", "2026-03-07T20:00:00Z"},
        {"America/New_York", "2026-10-31T20:00:00Z"},
        {"America/Havana", "2026-03-07T20:00:00Z"},
        {"America/Havana", "2026-10-31T20:00:00Z"},
        {"Australia/Lord_Howe", "2026-04-04T04:00:00Z"},
        {"Australia/Lord_Howe", "2026-10-03T04:00:00Z"},
        {"America/Santiago", "2026-04-04T20:00:00Z"},
        {"America/Santiago", "2026-09-05T20:00:00Z"},
        {"UTC", "2026-12-30T00:00:00Z"}};
    std::mt19937 random(7);
    const auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
    for (int round = 0; round < 60; ++round) {
        const std::string minute = one_of(minutes);
        const std::string hour = one_of(hours);
        const std::string pattern = minute + " " + hour + " * * " + one_of(weekdays);
        const auto [zone_name, begin_text] = one_of(places);
        const cron times = cron::parse(pattern);
        const date::time_zone& zone = *date::locate_zone(zone_name);
        const timestamp begin = at(begin_text);
        const timestamp end = begin + 48h;
        const bool is_time_of_day = minute[0] != '*' && hour[0] != '*';

        // UTC has no clock changes, so the same pattern in UTC decides whether a local minute
        // matches.
        std::set<timestamp> in_utc;
        for (timestamp each = begin - 36h; each < end + 24h; in_utc.insert(each)) {
            each = times.next_after(each, "UTC");
        }
        const auto matches = [&](auto local) {
            return in_utc.contains(timestamp(local.time_since_epoch()));
        };
        std::set<timestamp> expected;
        std::set<std::int64_t> seen_local;
        // Begins some hours earlier, so that repeated local times are recognised.
        for (timestamp each = begin - 12h; each <= end; each += 1min) {
            const auto local = zone.to_local(std::chrono::floor<std::chrono::seconds>(each));
            const auto before =
                zone.to_local(std::chrono::floor<std::chrono::seconds>(each - 1min));
            bool is_slot = false;
            if (!is_time_of_day) {
                is_slot = matches(local);
            } else {
                // All local minutes that passed since the one before, each the first time only.
                for (auto passed = before + 1min; passed <= local; passed += 1min) {
                    const bool is_first =
                        seen_local.insert(passed.time_since_epoch().count()).second;
                    is_slot = (is_first && matches(passed)) || is_slot;
                }
            }
            if (is_slot && each > begin && each <= end) {
                expected.insert(each);
            }
        }
        std::set<timestamp> found;
        for (timestamp last = times.next_after(begin, zone_name); last <= end;
             last = times.next_after(last, zone_name)) {
            ASSERT_TRUE(found.insert(last).second);
        }
        ASSERT_EQ(found, expected) << pattern << " in " << zone_name << " after " << begin_text;
        const auto latest = times.latest_between(begin, end, zone_name);
        ASSERT_EQ(latest, expected.empty() ? std::nullopt : std::optional(*expected.rbegin()))
            << pattern << " in " << zone_name << " after " << begin_text;
    }
}

// A star with a step counts as a star, as in the crons of Unix systems: both fields must hold.
TEST(Cron, AStepOfAStarInADayFieldIsAStar) {
    const auto days_in_june = [](const char* pattern) {
        const timestamp july = at("2026-07-01T00:00:00Z");
        std::string days;
        timestamp slot = at("2026-05-31T23:59:59Z");
        while ((slot = cron::parse(pattern).next_after(slot, "UTC")) < july) {
            days += (days.empty() ? "" : " ") + date::format("%e", slot);
        }
        return days;
    };
    // The 1st is a Monday.
    EXPECT_EQ(days_in_june("0 0 */10 * mon"), " 1");
    EXPECT_EQ(days_in_june("0 0 1-31/10 * mon"), " 1  8 11 15 21 22 29");
    EXPECT_EQ(days_in_june("0 0 6-8 * */3"), " 6  7");

    for (const char* const odd : {"0 0 */2 * mon", "0 0 1 * */2", "0 0 */2 * */3"}) {
        EXPECT_NE(cron::parse(odd).warning().find(odd), std::string::npos) << odd;
    }
    for (const char* const clear :
         {"0 0 * * *", "0 0 */2 * *", "0 0 * * */2", "0 0 1 * mon", "0 0 1-31/2 * mon",
          "*/5 */2 * * mon", "0 0 * * mon", "0 0 13 * *", "0 0 */1 * mon", "@daily"}) {
        EXPECT_EQ(cron::parse(clear).warning(), "") << clear;
    }
}

TEST(Cron, RefusesWhatMakesNoSense) {
    EXPECT_NE(refusal("61 * * * *").find("minute is '61'; it must be *, or numbers from 0 to 59"),
              std::string::npos);
    EXPECT_NE(refusal("0 0 * foo *").find("month is 'foo'"), std::string::npos);
    for (const char* bad : {"",
                            "* * * *",
                            "* * * * * * *",
                            "60 * * * * *",
                            "*/0 * * * *",
                            "5-1 * * * *",
                            "1,,2 * * * *",
                            "1, * * * *",
                            "-1 * * * *",
                            "a * * * *",
                            "* 24 * * *",
                            "* * 0 * *",
                            "* * 32 * *",
                            "* * * 13 *",
                            "* * * * 8",
                            "@never",
                            "1-2-3 * * * *",
                            "*/5/5 * * * *",
                            "** * * * *",
                            "99999999999 * * * *",
                            "0 0 30 2 *",
                            "0 0 31 2,4,6,9,11 *"}) {
        EXPECT_EQ(refusal(bad).substr(0, 5), "cron:") << bad;
    }
    EXPECT_THROW(static_cast<void>(cron::parse("@daily").next_after({}, "Mars/Olympus")),
                 weir::invalid_argument);
}

TEST(Cron, TheLatestSlotIsAfterTheFirstTimeAndNotAfterTheLast) {
    const cron hourly = cron::parse("0 * * * *");
    const auto latest = [&](const char* since, const char* until) -> std::string {
        const auto found = hourly.latest_between(at(since), at(until), "UTC");
        return found.has_value() ? text_of(*found) : "none";
    };
    EXPECT_EQ(latest("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"), "2026-05-01T11:00:00Z");
    EXPECT_EQ(latest("2026-05-01T10:00:00Z", "2026-05-01T10:59:59Z"), "none");
    EXPECT_EQ(latest("2026-05-01T09:59:59Z", "2026-05-01T10:59:59Z"), "2026-05-01T10:00:00Z");
    EXPECT_EQ(latest("2026-04-01T00:00:00Z", "2026-05-01T10:30:00Z"), "2026-05-01T10:00:00Z");
    const cron yearly = cron::parse("@yearly");
    EXPECT_EQ(yearly.latest_between(at("2025-12-31T23:59:59Z"), at("2026-11-30T00:00:00Z"), "UTC"),
              at("2026-01-01T00:00:00Z"));
    EXPECT_FALSE(
        yearly.latest_between(at("2026-01-01T00:00:00Z"), at("2026-11-30T00:00:00Z"), "UTC"));
}

TEST(Cron, TakesTheFirstAndLastOfEachField) {
    for (const char* const good :
         {"0,59 * * * *", "* 0,23 * * *", "* * 1,31 * *", "* * * 1,12 *", "* * * * 0,7",
          "*/59 * * * *", "0-59/59 * * * *", "* * * jan-DEC *", "0 0 31 12 *", "0 0 29 2 *",
          "0 0 1 1 6", "@Annually", "@midnight", "@weekly"}) {
        EXPECT_EQ(refusal(good), "taken") << good;
    }
    for (const char* const bad : {"60 * * * *", "*/60 * * * *", "* * * 0 *", "* * * dez *"}) {
        EXPECT_EQ(refusal(bad).substr(0, 5), "cron:") << bad;
    }
    EXPECT_NE(refusal("* * * 13 *")
                  .find("month is '13'; it must be *, or numbers from 1 to 12 or "
                        "names such as jan"),
              std::string::npos);
    EXPECT_NE(refusal("60 * * * *").find("numbers from 0 to 59, as 1,"), std::string::npos);
    const std::string padded = "* * * * *" + std::string(191, ' ');
    EXPECT_EQ(refusal(padded.c_str()), "taken");
    EXPECT_NE(refusal((padded + " ").c_str()), "taken") << "more than 200 characters";
    EXPECT_EQ(slots("@yearly", "UTC", "2026-05-01T00:00:00Z", 1), (texts{"2027-01-01T00:00:00Z"}));
    EXPECT_EQ(slots("@weekly", "UTC", "2026-11-11T00:00:00Z", 1), (texts{"2026-11-15T00:00:00Z"}));
    EXPECT_EQ(slots("0 0 */2 * 1", "UTC", "2026-11-01T00:00:00Z", 2),
              (texts{"2026-11-09T00:00:00Z", "2026-11-23T00:00:00Z"}))
        << "both must hold where one is a star";
}

TEST(Cron, SixFieldsBeginWithTheSecond) {
    EXPECT_EQ(slots("*/20 * * * * *", "UTC", "2026-01-01T00:07:20Z", 3),
              (texts{"2026-01-01T00:07:40Z", "2026-01-01T00:08:00Z", "2026-01-01T00:08:20Z"}));
    EXPECT_EQ(slots("5 30 2 * * mon-fri", "Europe/Berlin", "2026-11-13T02:30:00Z", 2),
              (texts{"2026-11-16T01:30:05Z", "2026-11-17T01:30:05Z"}));
    // A time of day that does not exist comes at the change, with its seconds.
    EXPECT_EQ(slots("0,30 30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3),
              (texts{"2026-03-29T01:00:00Z", "2026-03-29T01:00:30Z", "2026-03-30T00:30:00Z"}));
    EXPECT_NE(refusal("61 * * * * *").find("second is '61'"), std::string::npos);
    EXPECT_NE(refusal("0 61 * * * *").find("minute is '61'"), std::string::npos);
    EXPECT_EQ(cron::parse("0 0 0 */2 * mon").warning().empty(), false);
}

// Also where no clock is set for months, and around the day before and after a change.
TEST(Cron, AgreesWithAWalkOverEverySecond) {
    const std::vector<std::string> fields = {"*", "*/7", "0", "59", "15,45", "10-20/5", "0-1"};
    const std::vector<std::string> hours = {"*", "*/5", "0", "23", "0,12", "3-4"};
    const std::vector<std::string> days = {"* * *", "1 * *", "* * mon", "*/2 2 sun", "28 2-4 *"};
    std::mt19937 random(11);
    const auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
    for (int round = 0; round < 400; ++round) {
        const std::string second = one_of(fields);
        const std::string minute = one_of(fields);
        const std::string hour = one_of(hours);
        const bool is_time_of_day = minute[0] != '*' && hour[0] != '*';
        const std::string pattern =
            second + " " + minute + " " + hour + " " + std::string(one_of(days));
        // In Berlin times of day are tested near changes elsewhere.
        const std::string zone = is_time_of_day || round % 2 == 0 ? "UTC" : "Europe/Berlin";
        const cron times = cron::parse(pattern);
        const auto offset = std::chrono::seconds(random() % (80 * 86'400));
        const timestamp begin = at("2026-02-20T00:00:00Z") + offset;
        const timestamp end = begin + std::chrono::seconds(random() % 100'000);
        const timestamp first = times.next_after(begin, zone);
        const auto latest = times.latest_between(begin, end, zone);
        const date::time_zone& place = *date::locate_zone(zone);
        const auto matches = [&](timestamp when) {
            // The same local time in UTC, where the minute before it leads to it.
            const auto local = place.to_local(std::chrono::floor<std::chrono::seconds>(when));
            const timestamp same(local.time_since_epoch());
            return times.latest_between(same - 1us, same, "UTC") == same;
        };
        ASSERT_GT(first, begin);
        ASSERT_TRUE(matches(first)) << pattern << " " << text_of(first);
        if (latest.has_value()) {
            ASSERT_TRUE(matches(*latest) && *latest > begin && *latest <= end) << pattern;
        }
        ASSERT_EQ(latest.has_value(), first <= end) << pattern << " after " << text_of(begin);
        // No slot before the first, or after the latest: at some thousand seconds.
        for (int i = 0; i < 300; ++i) {
            const timestamp some = begin + std::chrono::seconds(1 + random() % 5000);
            if (some < first || (latest && some > *latest && some <= end)) {
                ASSERT_FALSE(matches(some)) << pattern << " " << zone << " " << text_of(some);
            }
        }
    }
}

TEST(Cron, IntervalsAreAlignedWithTheEpoch) {
    EXPECT_EQ(slots("@every 10s", "UTC", "2026-01-01T00:07:20Z", 2),
              (texts{"2026-01-01T00:07:30Z", "2026-01-01T00:07:40Z"}));
    EXPECT_EQ(slots("@every 10s", "UTC", "2026-01-01T00:07:29Z", 1),
              (texts{"2026-01-01T00:07:30Z"}));
    EXPECT_EQ(slots("@every 1h30m", "Asia/Kolkata", "2026-01-01T00:00:00Z", 3),
              (texts{"2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z", "2026-01-01T04:30:00Z"}));
    EXPECT_EQ(slots("@EVERY 1d", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
              (texts{"2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"}));
    const cron times = cron::parse("@every 15m");
    EXPECT_EQ(times.text(), "@every 15m");
    EXPECT_EQ(times.warning(), "");
    EXPECT_EQ(times.latest_between(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:44:59Z"), "UTC"),
              at("2026-01-01T00:30:00Z"));
    EXPECT_EQ(times.latest_between(at("2026-01-01T00:30:00Z"), at("2026-01-01T00:44:59Z"), "UTC"),
              std::nullopt);
    for (const char* const good : {"@every 1s", "@every 366d", "@every 1d2h3m4s", "@every 90m"}) {
        EXPECT_EQ(refusal(good), "taken") << good;
    }
    for (const char* const bad :
         {"@every", "@every 0s", "@every 10", "@every s", "@every 1m1h", "@every 1s1s",
          "@every -1s", "@every 367d", "@every 1.5s", "@every 1h 30m", "@every 10ms",
          "@every 99999999999s", "@every 4294967295d", "@every10s"}) {
        EXPECT_EQ(refusal(bad).substr(0, 5), "cron:") << bad;
    }
}
