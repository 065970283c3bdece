// SPDX-License-Identifier: MIT
#include "service/engine/handler_registry.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

const std::string for_workers =
    "; a kind for workers is known once a worker has asked for it, or if remote-kinds has it";

std::string error_of(const detail::handler_registry& handlers, const new_task& task) {
    try {
        handlers.check(task);
    } catch (const unknown_kind& error) {
        return std::string("unknown: ") + error.what();
    } catch (const invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(HandlerRegistry, NamesTheKnownKindsForAnUnknownOne) {
    detail::handler_registry handlers;
    EXPECT_EQ(error_of(handlers, new_task("c")),
              "unknown: no handler for 'c'; no kind has a handler" + for_workers);
    handlers.add("b", do_nothing, {});
    handlers.add("a", do_nothing, {});
    EXPECT_EQ(error_of(handlers, new_task("c")),
              "unknown: no handler for 'c'; known kinds: a b" + for_workers);
    EXPECT_EQ(handlers.kinds(), (std::vector<std::string>{"a", "b"}));
    EXPECT_NE(handlers.find("a"), nullptr);
    EXPECT_EQ(handlers.find("c"), nullptr);
}

TEST(HandlerRegistry, KnowsTheKindsOfWorkers) {
    detail::handler_registry handlers({"img/*", "thumb"});
    handlers.add("img/own", do_nothing, {});
    handlers.remote().add({"resize", "img/own"});
    struct expectation {
        const char* kind;
        bool is_accepted;
        bool is_remote;
    };
    const expectation all[] = {{"resize", true, true},  {"img/small", true, true},
                               {"img/", true, true},    {"img", false, false},
                               {"thumb", true, true},   {"thumbs", false, false},
                               {"img/own", true, false}};
    for (const expectation& each : all) {
        new_task task(each.kind);
        EXPECT_EQ(error_of(handlers, task).empty(), each.is_accepted) << each.kind;
        handlers.assign(task);
        EXPECT_EQ(task.is_remote, each.is_remote) << each.kind;
    }
    EXPECT_EQ(handlers.all_kinds(), (std::vector<std::string>{"img/own", "resize"}));
    handlers.remote().remove("resize");
    EXPECT_NE(error_of(handlers, new_task("resize")), "");
    for (const char* wrong : {"", "*a", "a**", "a*b"}) {
        EXPECT_THROW(detail::handler_registry({wrong}), invalid_argument) << wrong;
    }
    EXPECT_TRUE(detail::handler_registry({"*"}).is_remote("anything"));
}

TEST(HandlerRegistry, ChecksPayloads) {
    detail::handler_registry handlers;
    handlers.add("list", do_nothing, [](const json& payload) {
        if (!payload.is_array()) {
            throw permanent_failure("must be a list");
        }
    });
    EXPECT_EQ(error_of(handlers, new_task("list", "[1]")), "");
    EXPECT_EQ(error_of(handlers, new_task("list", "1")), "task: payload: must be a list");
}

TEST(HandlerRegistry, RefusesASecondHandlerOfAKind) {
    detail::handler_registry handlers;
    handlers.add("a", do_nothing, {});
    EXPECT_THROW(handlers.add("a", do_nothing, {}), invalid_argument);
    EXPECT_THROW(handlers.add("", do_nothing, {}), invalid_argument);
    EXPECT_THROW(handlers.add(std::string(101, 'a'), do_nothing, {}), invalid_argument);
    EXPECT_THROW(handlers.add("b", {}, {}), invalid_argument);
}

TEST(HandlerRegistry, TakesNamesOfUpToAHundredBytes) {
    detail::handler_registry handlers;
    EXPECT_NO_THROW(handlers.add(std::string(100, 'a'), do_nothing, {}));
    EXPECT_NO_THROW(handlers.add("b", do_nothing, {}));
    EXPECT_EQ(error_of(handlers, new_task("b", "no matter")), "") << "without a check";
    EXPECT_NE(handlers.find("b"), handlers.find(std::string(100, 'a')));
}

}  // namespace
}  // namespace weir::service::testing
