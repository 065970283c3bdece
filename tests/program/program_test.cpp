// SPDX-License-Identifier: MIT
// A program with a handler of its own has everything that `weir` has, under its own name.

#include "../service/program/support.hpp"

#include <weir/program/program.hpp>

namespace weir_test {
namespace {

TEST(OwnProgram, ServesItsHandlerBesideTheBuiltInOnes) {
    serving here({"--drain", "0.1"});
    const program_output done = here.ask("submit", {"greet", R"({"name": "Ada"})", "--wait"});
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(has(done.out, R"({"greeting":"Hello, Ada!"})")) << done.out;
    const program_output echoed = here.ask("submit", {"echo", "1", "--wait"});
    EXPECT_EQ(echoed.code, 0) << echoed.err;
    const program_output refused = here.ask("submit", {"greet", R"({"name": ""})"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_TRUE(has(refused.err, "greeter: ") && has(refused.err, "the member 'name' is empty"))
        << refused.err;
    const program_output unknown = here.ask("submit", {"nothing"});
    EXPECT_TRUE(has(unknown.err, "greet http sleep")) << unknown.err;
    EXPECT_EQ(here.end(), 0) << here.err();
}

TEST(OwnProgram, HasItsNameInMessagesAndHelp) {
    const program_output help = call({"--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(help.out.starts_with("Greets people, one task each\n")) << help.out;
    EXPECT_TRUE(has(help.out, "`greeter serve`")) << help.out;
    EXPECT_FALSE(has(help.out, "weir serve")) << help.out;
    EXPECT_EQ(call({"--version"}).out, "greeter 1.0\n");
    const program_output wrong = call({"serve", "--workers", "none"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(wrong.err.starts_with("greeter: --workers is 'none'")) << wrong.err;
    EXPECT_TRUE(has(wrong.err, "More: greeter serve --help")) << wrong.err;
    const program_output crawl = call({"crawl", "--help"});
    EXPECT_TRUE(has(crawl.out, "greeter crawl status STATE")) << crawl.out;
    const program_output nobody = call({"status", "--server", "http://127.0.0.1:1"});
    EXPECT_TRUE(has(nobody.err, "`greeter serve`")) << nobody.err;
}

TEST(OwnProgram, ChecksItsConfigurationWithItsHandlers) {
    const temporary_folder folder;
    const std::string config = folder.write("greeter.toml", "[serve]\nworkers = 7\n").string();
    const program_output checked =
        call({"serve", "--check", "--config", config, "--listen", "127.0.0.1:0", "--database",
              (folder / "tasks.db").string()});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    EXPECT_TRUE(has(checked.out, "greeter.toml:2")) << checked.out;
}

// A kind that is taken must be an error at the start, in `serve --check` too.
TEST(OwnProgram, SetUpIsCalledByServeAlone) {
    std::string words[] = {"greeter", "serve", "--check", "--listen", "127.0.0.1:0"};
    std::vector<char*> arguments;
    for (std::string& each : words) {
        arguments.push_back(each.data());
    }
    int calls = 0;
    const auto set_up = [&calls](weir::service::service& tasks) {
        ++calls;
        tasks.handle("http", [](weir::service::job&) -> weir::task<boost::json::value> {
            co_return nullptr;
        });
    };
    EXPECT_EQ(weir::program::run(static_cast<int>(arguments.size()), arguments.data(), set_up), 2);
    EXPECT_EQ(calls, 1);
    arguments.resize(1);
    std::string version = "--version";
    arguments.push_back(version.data());
    EXPECT_EQ(weir::program::run(2, arguments.data(), set_up), 0);
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace weir_test
