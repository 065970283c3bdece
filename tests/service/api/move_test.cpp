// SPDX-License-Identifier: MIT
// /move: the requests and the state of a move, with a mover of the test.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/service/store_mover.hpp>

#include <string>

namespace {

using namespace api_test;

class noted_mover final : public store_mover {
public:
    void begin(std::string to, std::string schema) override {
        if (is_busy) {
            throw weir::invalid_state("the store is being moved already");
        }
        noted.what = store_move_state::phase::copying;
        noted.to = to;
        used_schema = std::move(schema);
        is_busy = true;
    }
    weir::task<move_report> check(std::string to, std::string) override {
        if (to == "postgres://full/") {
            throw store_unavailable("the target has tasks already", weir::db::retry_advice::no);
        }
        move_report report;
        report.tasks = {1, 2, 3, 4, 5};
        report.rows = 99;
        co_return report;
    }
    void abort() override {
        if (!is_busy) {
            throw weir::invalid_state("the store is not being moved");
        }
        is_busy = false;
        noted.what = store_move_state::phase::aborted;
    }
    store_move_state state() const override { return noted; }
    weir::task<> run() override { co_return; }

    store_move_state noted;
    std::string used_schema;
    bool is_busy = false;
};

}  // namespace

WEIR_TEST(ServiceMoveApi, AsksTheMover) {
    noted_mover mover;
    mover.noted.database = "/var/lib/weir/tasks.db";
    api_options options;
    options.mover = &mover;
    site here({}, options);
    co_await here.learn();
    const answer none = co_await here.get("/move");
    EXPECT_EQ(none["phase"], "none");
    const answer checked = co_await here.post("/move/check", R"({"to": "postgres://db/"})");
    EXPECT_EQ(checked.code, 200U);
    EXPECT_EQ(checked.json.at("counts").at("failed"), 4);
    const answer full = co_await here.post("/move/check", R"({"to": "postgres://full/"})");
    EXPECT_EQ(full.code, 409U);
    const answer begun =
        co_await here.post("/move", R"({"to": "postgres://db/", "schema": "shop"})");
    EXPECT_EQ(begun.code, 202U);
    EXPECT_EQ(begun["phase"], "copying");
    EXPECT_EQ(mover.used_schema, "shop");
    const answer twice = co_await here.post("/move", R"({"to": "postgres://db/"})");
    EXPECT_EQ(twice.code, 409U);
    for (const char* const wrong :
         {"[]", "{}", R"({"to": 1})", R"({"to": ""})", R"({"to": "a", "scheme": "b"})"}) {
        const answer refused = co_await here.post("/move", wrong);
        EXPECT_EQ(refused.code, 422U) << wrong;
    }
    const answer aborted = co_await here.ask(http::method::delete_, "/move", "");
    EXPECT_EQ(aborted.code, 202U);
    EXPECT_EQ(aborted["phase"], "aborted");
    const answer late = co_await here.ask(http::method::delete_, "/move", "");
    EXPECT_EQ(late.code, 409U);
}

WEIR_TEST(ServiceMoveApi, IsRefusedWithoutAMover) {
    site here;
    co_await here.learn();
    const answer refused = co_await here.get("/move");
    EXPECT_EQ(refused.code, 409U);
}
