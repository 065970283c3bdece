// SPDX-License-Identifier: MIT
// weir work: programs as workers, how they end, and how the command ends. And the lines of shell on
// the page about workers.

#include "commands.hpp"

#include <weir/sync/event.hpp>

#include <boost/json/serialize.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>

namespace weir_test {
namespace {

// `weir work` for a script of sh, until it goes.
class working {
public:
    working(serving& here, const std::string& script, std::vector<std::string> more = {},
            const std::string& name = "job")
        : working(here.url, script, std::move(more), name) {}
    working(const std::string& url, const std::string& script, std::vector<std::string> more = {},
            const std::string& name = "job")
        : program_(folder_,
                   command(url, folder_.write(name + ".sh", script), std::move(more), name)) {}

    void signal(int number) const { program_.signal(number); }
    int wait() {
        int status = 0;
        ::waitpid(program_.pid(), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    int end() {
        program_.signal(SIGTERM);
        return wait();
    }
    std::string err() const { return program_.err(); }
    template <class Condition>
    void wait_until(Condition condition) {
        program_.wait_until(std::move(condition));
    }

private:
    static std::vector<std::string> command(const std::string& url, const std::string& file,
                                            std::vector<std::string> more,
                                            const std::string& kind) {
        std::vector<std::string> words = {WEIR_PROGRAM, "work", "--server", url};
        words.insert(words.end(), more.begin(), more.end());
        words.insert(words.end(), {kind, "--", "/bin/sh", file, "[a,b]", "c"});
        return words;
    }

    temporary_folder folder_;
    running_program program_;
};

std::string field(const program_output& output, const std::string& name) {
    const boost::json::value task = weir::http::parse_json(output.out);
    const boost::json::value& found = task.at(name);
    return found.is_string() ? std::string(found.as_string()) : boost::json::serialize(found);
}

// Submits, waits for the end, and returns the task.
program_output done(const serving& here, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "job");
    arguments.push_back("--wait");
    const program_output output = here.ask("submit", std::move(arguments));
    return here.ask("show", {output.out.substr(0, 13), "--json"});
}

constexpr const char* echo_or_fail = R"(
read -r payload
case $payload in
  *json*) printf '{"got": %s, "attempt": %s}\n' "$payload" "$WEIR_ATTEMPT" ;;
  *text*) echo "just  text" ;;
  *none*) ;;
  *words*) echo "$*" ;;
  *bad*) echo "first line" >&2; echo "no such file" >&2; exit 65 ;;
  *temp*) exit 75 ;;
  *fail*) echo broken >&2; exit 3 ;;
  *kill*) kill -9 $$ ;;
  *large*) head -c 3000 /dev/zero | tr '\0' x ;;
esac
)";

TEST(Work, ProgramsEndTasksByTheirExitCode) {
    serving here({"--remote-kinds", "job", "--drain", "0.1"});
    working worker(here, echo_or_fail, {"--max-output", "2000", "--name", "tester"});
    struct expectation {
        const char* payload;
        const char* state;
        const char* member;
        std::string value;
    };
    const expectation all[] = {
        {R"({"json": 1.50})", "completed", "result", R"({"got":{"json":1.5E0},"attempt":1})"},
        {R"("text")", "completed", "result", "just  text"},
        {R"("none")", "completed", "result", "null"},
        {R"("words")", "completed", "result", "[a,b] c"},
        {R"("bad")", "failed", "error", "first line\nno such file"},
        {R"("temp")", "failed", "error", "the program exited with code 75, a temporary failure"},
        {R"("fail")", "failed", "error", "broken"},
        {R"("kill")", "failed", "error", "the program was ended by signal 9 (Killed)"},
        {R"("large")", "failed", "error",
         "the program has written more than 2000 bytes, the limit of a result"},
    };
    for (const expectation& each : all) {
        const bool is_permanent = std::string_view(each.payload) == R"("bad")";
        const program_output ended =
            done(here, {each.payload, "--attempts", is_permanent ? "9" : "1"});
        EXPECT_EQ(field(ended, "state"), each.state) << each.payload << ended.out;
        EXPECT_EQ(field(ended, each.member), each.value) << each.payload;
    }
    EXPECT_TRUE(has(here.ask("show", {"0000000000001"}).err, "no task"));
    EXPECT_EQ(worker.end(), 0) << worker.err();
    EXPECT_EQ(here.end(), 0);
}

TEST(Work, RunsManyAtATimeAndReportsProgress) {
    serving here({"--remote-kinds", "job", "--drain", "0.1"});
    working worker(here, "echo 'progress 0.25 a quarter' >&2; echo noise >&2; sleep 1.5; echo 1",
                   {"-j", "4", "--progress"});
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(submit(here, {"job"}));
    }
    here.wait_until(
        [&] { return lines_in(here.ask("list", {"--state", "running"}).out).size() == 4; });
    here.wait_until([&] { return has(here.ask("show", {ids[0]}).out, "a quarter"); });
    here.wait_until(
        [&] { return lines_in(here.ask("list", {"--state", "completed"}).out).size() == 4; });
    EXPECT_EQ(worker.end(), 0) << worker.err();
}

// Everything that the program has started ends with a cancelled task, and with its timeout.
TEST(Work, CancelAndTimeoutEndTheWholeTree) {
    serving here({"--remote-kinds", "job", "--drain", "0.1"});
    const temporary_folder marks;
    const std::string mark = (marks / "pids").string();
    working worker(
        here,
        "echo $$ >> " + mark + "; (setsid sleep 600 & echo $! >> " + mark +
            "; wait) & echo $! >> " + mark + "; trap '' TERM; wait; sleep 600",
        {"--grace", "0.2", "-j", "2"});  // with room, its poll is open, and tells at once
    const auto all_gone = [&] {
        std::ifstream file(mark);
        std::size_t count = 0;
        for (std::string pid; std::getline(file, pid); ++count) {
            if (std::filesystem::exists("/proc/" + pid)) {
                return false;
            }
        }
        return count >= 3;
    };
    const std::string cancelled = submit(here, {"job"});
    here.wait_until([&] {
        std::ifstream file(mark);
        return std::count(std::istreambuf_iterator<char>(file), {}, '\n') >= 3;
    });
    EXPECT_FALSE(all_gone());
    here.ask("cancel", {cancelled});
    here.wait_until([&] { return has(here.ask("status", {cancelled}).out, "cancelled"); });
    EXPECT_TRUE(all_gone()) << "cancelled means ended";
    std::filesystem::remove(mark);
    const program_output late = done(here, {"--timeout", "0.3", "--attempts", "1"});
    EXPECT_EQ(field(late, "error"), "the run took longer than its timeout");
    EXPECT_TRUE(all_gone());
    EXPECT_EQ(worker.end(), 0) << worker.err();
}

TEST(Work, ASignalDrainsAndReturnsWhatTakesTooLong) {
    serving here({"--remote-kinds", "job", "--drain", "0.1"});
    {
        working worker(here, "sleep 1; echo '\"done\"'");
        const std::string id = submit(here, {"job"});
        here.wait_until([&] { return has(here.ask("status", {id}).out, "running"); });
        EXPECT_EQ(worker.end(), 0) << worker.err();
        EXPECT_TRUE(has(here.ask("status", {id}).out, "completed")) << "it was let to its end";
    }
    {
        working worker(here, "sleep 600", {"--grace", "0.2", "--drain", "0.3"});
        const std::string id = submit(here, {"job"});
        here.wait_until([&] { return has(here.ask("status", {id}).out, "running"); });
        EXPECT_EQ(worker.end(), 0) << worker.err();
        const program_output task = here.ask("show", {id, "--json"});
        EXPECT_EQ(field(task, "state"), "pending") << "given back";
        EXPECT_EQ(field(task, "failures") + field(task, "crashes"), "00") << "and unspent";
    }
    EXPECT_EQ(here.end(), 0);
}

// The service goes away and comes back: the result is kept and delivered.
TEST(Work, OutlivesARestartOfTheService) {
    const temporary_folder folder;
    const std::string database = (folder / "tasks.db").string();
    auto here = std::make_unique<serving>(std::vector<std::string>{
        "--remote-kinds", "job", "--drain", "0.1", "--database", database});
    const std::string at = here->url.substr(7);
    working worker(*here, "sleep 1.2; echo '\"kept\"'");
    const std::string id = submit(*here, {"job"});
    here->wait_until([&] { return has(here->ask("status", {id}).out, "running"); });
    here->signal(SIGKILL);
    here->wait();
    ::usleep(1'500'000);
    here = std::make_unique<serving>(
        std::vector<std::string>{"--drain", "0.1", "--database", database},
        std::vector<std::string>{}, at);
    here->wait_until([&] { return has(here->ask("status", {id}).out, "completed"); });
    const program_output task = here->ask("show", {id, "--json"});
    EXPECT_EQ(field(task, "result"), "kept");
    EXPECT_EQ(field(task, "run"), "1") << "it ran once";
    EXPECT_TRUE(has(worker.err(), "trying again")) << worker.err();
    EXPECT_EQ(worker.end(), 0) << worker.err();
}

TEST(Work, SaysWhatIsWrong) {
    serving here({"--drain", "0.1"});
    const std::pair<std::vector<std::string>, const char*> all[] = {
        {{"echo", "--", "true"}, "has a handler in the service"},
        {{"job"}, "program is required"},
        {{"job", "--concurrency", "0", "--", "true"}, "--concurrency"},
    };
    for (const auto& [words, expected] : all) {
        const program_output refused = here.ask("work", words);
        EXPECT_NE(refused.code, 0);
        EXPECT_TRUE(has(refused.err, expected)) << refused.err;
    }
    working worker(here, "true", {}, "job");
    here.wait_until([&] { return has(here.ask("submit", {"job"}).out, "3"); });
    EXPECT_EQ(worker.end(), 0) << worker.err();
}

weir::http::response worker_terms(const std::string& session) {
    return weir::http::json({{"worker", session}, {"lease", 30}, {"heartbeat", 0.02}, {"wait", 1}},
                            weir::http::status::created);
}
weir::http::response task_for_worker(const std::string& id) {
    return weir::http::response::json_text(
        R"({"tasks": [{"id": ")" + id +
        R"(", "run": 1, "kind": "job", "queue": "q", "payload": 1, "attempt": 1,)"
        R"( "seconds_left": 60}]})");
}
weir::http::response news_for_worker() {
    return weir::http::response::json_text(R"({"cancel": [], "lost": [], "state": "ok"})");
}

// Otherwise the service would give the task to another worker.
TEST(Work, HeartbeatsListRunsWhoseResultsAreNotDelivered) {
    int polls = 0;
    int refusals = 0;
    int beats = 0;
    int beats_without = 0;
    std::atomic<bool> is_delivered = false;
    beside_server(
        [&](weir::http::request& request) -> weir::task<weir::http::response> {
            const std::string path(request.path());
            const std::string body = co_await request.text();
            if (path == "/workers") {
                co_return worker_terms("a");
            }
            if (path == "/workers/a/poll" && ++polls == 1) {
                co_return task_for_worker("0000000000001");
            }
            if (path == "/workers/a/heartbeat") {
                if (refusals > 0 && !is_delivered) {
                    ++beats;
                    const bool is_listed = has(body, R"([{"id":"0000000000001","run":1}])");
                    beats_without += is_listed && has(body, R"("free":1)") ? 0 : 1;
                }
                co_return news_for_worker();
            }
            if (path == "/workers/a/results") {
                if (beats < 5) {
                    ++refusals;
                    co_return weir::http::response(weir::http::status::service_unavailable);
                }
                is_delivered = true;
                co_return weir::http::response::json_text(R"([{"accepted": true}])");
            }
            co_return weir::http::response(weir::http::status::no_content);
        },
        [&](const std::string& url) {
            working worker(url, "echo 1", {"-j", "2"});
            worker.wait_until([&] { return is_delivered.load(); });
            EXPECT_EQ(worker.end(), 0) << worker.err();
        });
    EXPECT_GE(beats, 5);
    EXPECT_EQ(beats_without, 0);
}

// A request of a session that is over is answered when the next session has a task.
TEST(Work, ALateAnswerToAFormerSessionEndsNoOther) {
    for (const std::string late : {"results", "heartbeat"}) {
        const std::string other = late == "results" ? "heartbeat" : "results";
        int sessions = 0;
        weir::event is_held;
        weir::event has_task;
        std::atomic<bool> is_delivered = false;
        beside_server(
            [&](weir::http::request& request) -> weir::task<weir::http::response> {
                const std::string path(request.path());
                const std::string body = co_await request.text();
                constexpr auto gone = weir::http::status::gone;
                if (path == "/workers") {
                    co_return worker_terms(std::to_string(++sessions));
                }
                if (path == "/workers/1/poll") {
                    co_return task_for_worker("0000000000001");
                }
                if (path == "/workers/1/" + late) {
                    is_held.set();
                    co_await has_task.wait();
                    co_return weir::http::response(gone);
                }
                if (path == "/workers/1/" + other && (is_held.is_set() || other == "results")) {
                    co_await is_held.wait();
                    co_return weir::http::response(gone);
                }
                if (path == "/workers/2/poll" && !has_task.is_set()) {
                    has_task.set();
                    co_return task_for_worker("0000000000002");
                }
                if (path == "/workers/2/results") {
                    is_delivered = true;
                    co_return weir::http::response::json_text(R"([{"accepted": true}])");
                }
                if (path.ends_with("/heartbeat")) {
                    co_return news_for_worker();
                }
                co_return weir::http::response(weir::http::status::no_content);
            },
            [&](const std::string& url) {
                working worker(url, "echo 1");
                worker.wait_until([&] { return is_delivered.load(); });
                EXPECT_EQ(worker.end(), 0) << worker.err();
            });
        EXPECT_EQ(sessions, 2) << late;
    }
}

// The lines of shell in docs/workers.md.
TEST(Work, TheLinesForShellsWork) {
    need("/usr/bin/curl", "curl");
    need("/usr/bin/jq", "jq");
    serving here({"--remote-kinds", "thumb", "--drain", "0.1"}, {"WEIR_TOKEN=0123456789abcdef"});
    const std::vector<std::string> token = {"WEIR_TOKEN=0123456789abcdef"};
    const std::string id = here.ask("submit", {"thumb", R"({"w": 7})"}, token).out.substr(0, 13);
    const temporary_folder folder;
    const std::string program = folder.write("thumb", "#!/bin/sh\njq -c '{width: (.w * 2)}'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const std::string script = "cd " + folder.path().string() + " && " +
                               R"(t=$(curl -sf -H "$A" $W/claim -d '{"kind":"thumb"}') && )"
                               R"(r=$(jq -c .payload <<<"$t" | ./thumb) && )"
                               R"(curl -sf -H "$A" $W/handles/$(jq -r .handle <<<"$t") )"
                               R"(-d "{\"outcome\":\"completed\",\"result\":$r}")";
    const weir::command_result ran = weir::run(run_program(
        {"bash", "-c", script}, {"W=" + here.url, "A=Authorization: Bearer 0123456789abcdef"}));
    EXPECT_EQ(ran.out, R"({"accepted":true})") << ran.err;
    const program_output task = here.ask("show", {id, "--json"}, token);
    EXPECT_EQ(field(task, "result"), R"({"width":14})");
    EXPECT_EQ(here.end(), 0);
}

}  // namespace
}  // namespace weir_test
