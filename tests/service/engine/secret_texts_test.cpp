// SPDX-License-Identifier: MIT
// Secret members of payloads: what is shown of them, and which texts they are removed from.

#include "service/engine/secret_texts.hpp"

#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace {

using namespace weir::service;
using detail::secret_texts;

new_task task_with(std::string payload, std::vector<std::string> secret) {
    new_task made("login", std::move(payload));
    made.secret = std::move(secret);
    return made;
}

}  // namespace

TEST(SecretTexts, AreStarsInTheShownPayload) {
    const std::pair<new_task, const char*> all[] = {
        {task_with(R"({"user": "ada", "password": "hunter22"})", {"password"}),
         R"({"user":"ada","password":"***"})"},
        {task_with(R"({"card": {"number": 4111, "name": "A"}, "x": [1]})", {"card.number", "x"}),
         R"({"card":{"number":"***","name":"A"},"x":"***"})"},
        {task_with(R"([{"key": "a"}, {"other": 1}, [{"key": {"deep": "b"}}]])", {"key"}),
         R"([{"key":"***"},{"other":1},[{"key":"***"}]])"},
        {task_with(R"({"ü": "one"})", {"ü"}), R"({"ü":"***"})"},
        {task_with(R"({"a": null})", {"a"}), R"({"a":"***"})"}};
    for (const auto& [task, expected] : all) {
        EXPECT_NO_THROW(check(task));
        EXPECT_EQ(detail::shown_payload(task), expected);
    }
}

TEST(SecretTexts, APathThatHidesNothingIsRefused) {
    for (const char* path :
         {"passwrd", "", ".", "card", "password.x", "user.", "Password", ".user"}) {
        try {
            check(task_with(R"({"user": "ada", "password": "hunter22"})", {path}));
            ADD_FAILURE() << path;
        } catch (const invalid_value& error) {
            EXPECT_EQ(error.member(), "secret");
            EXPECT_EQ(std::string(error.what()).find("hunter22"), std::string::npos);
        }
    }
    EXPECT_THROW(check(task_with("5", {"a"})), invalid_value);
    // A payload that cannot be looked into is hidden as a whole.
    const new_task twice = task_with(R"({"a": "one", "a": "two"})", {"a"});
    EXPECT_THROW(check(twice), invalid_value);
    EXPECT_EQ(detail::shown_payload(twice), R"("***")");
    EXPECT_EQ(detail::hidden_in(twice, "it is one"), "***");
    EXPECT_EQ(detail::hidden_in_json(twice, R"({"b": "one"})"), R"("***")");
    EXPECT_THROW(check(task_with(R"({"a": 1})", std::vector<std::string>(21, "a"))), invalid_value);
}

TEST(SecretTexts, AreRemovedFromTexts) {
    const secret_texts secrets(task_with(
        R"({"a": "hunter22", "b": ["say \"hi\"", "a b/c"], "c": 123456, "d": "no", "e": true})",
        {"a", "b", "c", "d", "e"}));
    const std::pair<const char*, const char*> all[] = {
        {"login with hunter22 failed: hunter22!", "login with *** failed: ***!"},
        {R"(sent {"b": "say \"hi\""})", R"(sent {"b": "***"})"},
        {"GET /x?q=a%20b%2Fc 404", "GET /x?q=*** 404"},
        {"code 123456", "code ***"},
        {"no is too short to hide, true as well", "no is too short to hide, true as well"},
        {"a text that was cut: hunte", "a text that was cut: ***"},
        {"hun", "hun"},
        {"", ""}};
    for (const auto& [text, expected] : all) {
        EXPECT_EQ(secrets.without(text), expected);
    }
}

TEST(SecretTexts, AreRemovedFromResultsThatStayJson) {
    const secret_texts secrets(
        task_with(R"({"a": "hunter22", "n": 42, "q": "\"quoted\""})", {"a", "n", "q"}));
    const std::pair<const char*, const char*> all[] = {
        {R"({"echo": {"a": "hunter22", "n": 42, "m": 421}})",
         R"({"echo":{"a":"***","n":"***","m":421}})"},
        {R"(["x\u0068unter22y", "\"quoted\""])", R"(["x***y","***"])"},
        {R"({"hunter22": 1})", R"({"***":1})"},
        {R"({ "nothing" : 1.50 })", R"({ "nothing" : 1.50 })"}};
    for (const auto& [json, expected] : all) {
        EXPECT_EQ(secrets.without_in_json(json), expected);
    }
    std::string deep = "\"hunter22\"";
    for (int i = 0; i < 100; ++i) {
        deep = "[" + deep + "]";
    }
    EXPECT_EQ(secrets.without_in_json(deep).find("hunter22"), std::string::npos);
}

// Whatever stands around it, and wherever the text is cut.
TEST(SecretTexts, NeverLeaveMoreThanThreeCharactersOfAValue) {
    std::mt19937 random(20261118);
    const auto letters = [&](std::size_t size) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i) {
            text += "ab\"\\%/ "[random() % 7];
        }
        return text;
    };
    for (int round = 0; round < 500; ++round) {
        const std::string value = letters(4 + random() % 8) + "XY" + letters(random() % 4);
        const std::string payload = [&] {
            std::string quoted;
            for (const char each : value) {
                quoted +=
                    each == '"' || each == '\\' ? std::string("\\") + each : std::string(1, each);
            }
            return R"({"v": ")" + quoted + "\"}";
        }();
        const secret_texts secrets(task_with(payload, {"v"}));
        std::string text = letters(random() % 6) + value + letters(random() % 6) + value;
        text.resize(text.size() - random() % value.size());
        const std::string shown = secrets.without(text);
        EXPECT_EQ(shown.find(value), std::string::npos) << shown << " has " << value;
        for (std::size_t size = 4; size < value.size(); ++size) {
            EXPECT_FALSE(shown.ends_with(value.substr(0, size))) << shown << " has " << value;
        }
    }
}
