// SPDX-License-Identifier: MIT
// weir keys, limit, pause --key, destinations, enable: what they print, and how they end.

#include "commands.hpp"

namespace weir_test {
namespace {

TEST(KeyCommands, AKeyIsPausedLimitedAndShown) {
    serving here({"--drain", "0.1"});
    const std::string first = submit(here, {"echo", "1", "-q", "mail", "--flow-key", "a b"});
    here.wait_until([&] { return has(here.ask("list", {"--state", "completed"}).out, first); });
    const program_output paused = here.ask("pause", {"mail", "--key", "a b"});
    EXPECT_EQ(paused.code, 0) << paused.err;
    EXPECT_EQ(paused.out, "a b\tpaused\n");
    const std::string held = submit(here, {"echo", "1", "-q", "mail", "--flow-key", "a b"});
    submit(here, {"echo", "1", "-q", "mail", "--flow-key", "c", "--delay", "1000"});
    EXPECT_TRUE(has(here.ask("show", {held}).out, "the flow key 'a b' is paused"));
    const program_output limited =
        here.ask("limit", {"mail", "--key", "a b", "--max-running", "2", "--rate", "0.5"});
    EXPECT_EQ(limited.out, "a b\trunning 2, rate 0.5/s\n") << limited.err;
    EXPECT_EQ(here.ask("keys", {"mail"}).out,
              "a b\tpaused\t1\t1\t0\trunning 2, rate 0.5/s\nc\tactive\t1\t0\t0\t\n");
    EXPECT_EQ(lines_in(here.ask("keys", {"mail", "--set"}).out).size(), 1U);
    EXPECT_EQ(lines_in(here.ask("keys", {"mail", "--limit", "1"}).out).size(), 1U);
    EXPECT_TRUE(has(on_terminal(here, {"keys", "mail"}, 80), "pending"));
    const boost::json::value json = parsed(here.ask(
        "limit", {"mail", "--key", "a b", "--max-running", "queue", "--rate", "none", "--json"}));
    EXPECT_TRUE(json.at("max_running").is_null());
    EXPECT_EQ(json.at("rate"), 0);
    EXPECT_EQ(here.ask("resume", {"mail", "--key", "a b"}).out, "a b\tactive\n");
    here.wait_until([&] { return has(here.ask("list", {"--state", "completed"}).out, held); });
}

TEST(KeyCommands, LimitsOfAQueueAreSet) {
    const serving here({"--drain", "0.1"});
    submit_failing(here, {"--queue", "mail"});
    const program_output set = here.ask("limit", {"mail", "--max-running", "4", "--rate", "2.5",
                                                  "--key-burst", "3", "--key-rate", "1"});
    EXPECT_EQ(set.code, 0) << set.err;
    EXPECT_EQ(set.out, "mail\trunning 4, rate 2.5/s, key rate 1/s burst 3\n");
    EXPECT_EQ(
        here.ask("limit", {"mail", "--max-running", "none", "--rate", "none", "--key-rate", "none"})
            .out,
        "mail\tno limits\n");
    const std::pair<std::vector<std::string>, int> wrong[] = {
        {{"mail"}, 2},
        {{"mail", "--rate", "fast"}, 2},
        {{"mail", "--rate", "queue"}, 2},
        {{"mail", "--max-running", "1.5"}, 2},
        {{"mail", "--key", "k", "--key-rate", "1"}, 2},
        {{"mial", "--rate", "1"}, 1},
    };
    for (const auto& [words, code] : wrong) {
        EXPECT_EQ(here.ask("limit", words).code, code) << words.back();
    }
    EXPECT_EQ(here.ask("keys", {"mial"}).code, 1);
    EXPECT_EQ(here.ask("pause", {"mial", "--key", "k"}).code, 1);
}

void disable_and_enable(const std::string& address) {
    const std::string url = address + "/hook";
    const serving here({"--drain", "0.1", "--allow-address", "127.0.0.0/8"});
    EXPECT_TRUE(has(on_terminal(here, {"destinations"}, 80), "no destinations"));
    const program_output nodes = here.ask("nodes");
    ASSERT_EQ(lines_in(nodes.out).size(), 1U) << nodes.out << nodes.err;
    EXPECT_TRUE(has(nodes.out, "\tanswers\t0\t")) << nodes.out;
    EXPECT_TRUE(has(here.ask("nodes", {"--json"}).out, "heard_at"));
    const std::string payload = R"({"url": ")" + url + R"(?id=1"})";
    EXPECT_EQ(here.ask("submit", {"http", payload, "--wait"}).code, 3);
    const program_output listed = here.ask("destinations");
    ASSERT_EQ(lines_in(listed.out).size(), 2U) << listed.out << listed.err;
    EXPECT_TRUE(lines_in(listed.out)[0].starts_with(url + "\thttp\tdisabled\t")) << listed.out;
    const program_output refused = here.ask("submit", {"http", payload, "--wait"});
    EXPECT_TRUE(has(refused.out, "is disabled")) << refused.out;
    EXPECT_EQ(here.ask("enable", {url}).out, url + "\tenabled\n");
    const program_output again = here.ask("enable", {url});
    EXPECT_EQ(again.code, 1);
    EXPECT_TRUE(has(again.err, "is disabled: see")) << again.err;
    EXPECT_EQ(lines_in(here.ask("destinations").out).size(), 1U);
}

TEST(KeyCommands, AGoneEndpointIsShownAndEnabled) {
    beside_server(
        [](weir::http::request&) -> weir::task<weir::http::response> {
            co_return weir::http::response::text("gone", weir::http::status::gone);
        },
        &disable_and_enable);
}

}  // namespace
}  // namespace weir_test
