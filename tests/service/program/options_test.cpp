// SPDX-License-Identifier: MIT
// Options: from flags, the environment and a file, and the messages for invalid ones.

#include "support.hpp"

#include <weir/io/tls_certificate.hpp>

#include <map>
#include <sstream>

namespace weir_test {
namespace {

std::string variable_of(std::string option) {
    for (char& letter : option) {
        letter = letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
    }
    return "WEIR_" + option;
}

// The long names in the help: finds options that are missing in the list below.
std::vector<std::string> options_of(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find("--");
        if (line.starts_with("  -") && begin != std::string::npos) {
            names.push_back(line.substr(begin + 2, line.find_first_of(" =,", begin) - begin - 2));
        }
    }
    return names;
}

// The line of --check for an option: 'value  <- source'.
std::string line_of(const std::string& message, const std::string& option) {
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  " + option + " ")) {
            return line;
        }
    }
    return {};
}

TEST(Options, ComeFromFlagsThenTheEnvironmentThenTheFile) {
    const temporary_folder folder;
    const auto token = [&](const char* name) {
        return folder.write(name, "a-token-that-nobody-guesses").string();
    };
    const auto key = [&](const char* name) {
        return folder.write(name, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").string();
    };
    const weir::tls::certificate made = weir::tls::make_self_signed({.names = "localhost"});
    const auto pem = [&](const char* name) {
        return folder.write(name, made.certificate_pem + made.key_pem).string();
    };
    // Three values of each, for the flag, the variable and the file.
    std::map<std::string, std::array<std::string, 3>> values = {
        {"listen", {"127.0.0.2:0", "127.0.0.3:0", "[::1]:0"}},
        {"port", {"0", "0", "0"}},
        {"database", {folder / "a.db", folder / "b.db", folder / "c.db"}},
        {"workers", {"1", "2", "3"}},
        {"timeout", {"1", "2.5", "3"}},
        {"lease", {"1", "2", "3"}},
        {"worker-lease", {"10", "20", "40"}},
        {"drain", {"1", "2", "3"}},
        {"keep-completed", {"1", "2", "0.5"}},
        {"keep-failed", {"1", "2", "3"}},
        {"keep-cancelled", {"1", "2", "3"}},
        {"max-queues", {"10", "20", "30"}},
        {"remote-kinds", {"a", "img/*", "b"}},
        {"max-body", {"1000", "2000", "3000"}},
        {"token-file", {token("t1"), token("t2"), token("t3")}},
        {"open-health", {"false", "true", "false"}},
        {"tls-certificate", {pem("p1"), pem("p2"), pem("p3")}},
        {"tls-key", {pem("p4"), pem("p5"), pem("p6")}},
        {"origin", {"https://a.example", "https://b.example:444", "http://c.example"}},
        {"name", {"a.example", "b.example", "c.example"}},
        {"allow-address", {"10.0.0.0/8", "inside.example", "192.168.0.1"}},
        {"webhook-key-file", {key("k1"), key("k2"), key("k3")}},
        {"allow-command", {"a=/bin/true", "a=/bin/cat -u", "a=/bin/echo 'a b'"}},
        {"allow-arguments", {"a", "a", "a"}},
        {"binary-output", {"a", "a", "a"}},
        {"max-output", {"1000", "2000", "3000"}},
        {"grace", {"1", "2.5", "0"}},
        {"host-rate", {"1", "2", "3"}},
        {"host-concurrency", {"1", "2", "3"}},
        {"otlp-endpoint", {"http://127.0.0.1:4318", "https://a.example/otlp", "http://b.example"}},
        {"otlp-sample", {"0.5", "1", "0.25"}},
        {"schema", {"one", "two", "three"}},
        {"read-replica", {"postgres://a/tasks", "postgres://b/tasks", "postgres://c/tasks"}},
        {"migrate", {"false", "true", "false"}},
        {"integrity", {"full", "none", "quick"}},
        {"log-format", {"json", "text", "json"}},
        {"log-level", {"debug", "warning", "error"}},
        {"access-log", {"false", "true", "false"}},
    };
    const program_output help = call({"serve", "--help"});
    std::string file = "[serve]\n";
    std::vector<std::string> variables;
    std::vector<std::string> flags;
    for (const std::string& option : options_of(help.out)) {
        if (option == "help" || option == "check" || option == "config") {
            continue;
        }
        ASSERT_TRUE(values.contains(option)) << "not tested: " << option;
        EXPECT_TRUE(has(help.out, "[" + variable_of(option) + "]")) << option;
        const auto& [flag, variable, in_file] = values[option];
        flags.push_back("--" + option + "=" + flag);
        variables.push_back(variable_of(option) + "=" + variable);
        file += option + " = \"" + in_file + "\"\n";
        values[option][0] = flag;
    }
    EXPECT_EQ(flags.size(), values.size());
    const std::string config = folder.write("weir.toml", file);

    std::vector<std::string> words = {"serve", "--check", "-c", config};
    const program_output from_file = call(words);
    const program_output from_variables = call(words, variables);
    words.insert(words.end(), flags.begin(), flags.end());
    const program_output from_flags = call(words, variables);
    for (const program_output* each : {&from_file, &from_variables, &from_flags}) {
        EXPECT_EQ(each->code, 0) << each->out << each->err;
    }
    for (const auto& [option, value] : values) {
        const std::string by_flag = line_of(from_flags.out, option);
        EXPECT_TRUE(has(by_flag, value[0]) && has(by_flag, "<- --" + option)) << by_flag;
        const std::string by_variable = line_of(from_variables.out, option);
        EXPECT_TRUE(has(by_variable, value[1]) && has(by_variable, variable_of(option)))
            << by_variable;
        const std::string by_file = line_of(from_file.out, option);
        EXPECT_TRUE(has(by_file, value[2]) && has(by_file, "weir.toml:")) << by_file;
    }
}

TEST(Options, ListsAreWrittenInEachPlace) {
    const temporary_folder folder;
    const std::string config =
        folder.write("weir.toml", "# names\n[serve]\nname = [\n  \"a\", # the first\n  'b',\n]\n");
    const std::string database = folder / "tasks.db";
    const auto name = [&](const program_output& answer) {
        EXPECT_EQ(answer.code, 0) << answer.err;
        return line_of(answer.out, "name");
    };
    const std::vector<std::string> words = {"serve", "--check", "--listen", "0",
                                            "-d",    database,  "-c",       config};
    EXPECT_TRUE(has(name(call(words)), "a; b"));
    EXPECT_TRUE(has(name(call(words, {"WEIR_NAME=c ; d"})), "c; d"));
    std::vector<std::string> more = words;
    more.insert(more.end(), {"--name", "e", "--name", "f"});
    EXPECT_TRUE(has(name(call(more, {"WEIR_NAME=c ; d"})), "e; f"));
}

// --port is the port of --listen. A stronger source wins; one source may give both if they agree.
TEST(Options, PortAndListenAreOneAddress) {
    const temporary_folder folder;
    const std::string with_port = folder.write("port.toml", "[serve]\nport = 9\n");
    const std::string with_address =
        folder.write("listen.toml", "[serve]\nlisten = \"127.0.0.2:9\"\n");
    const auto address = [&](std::vector<std::string> words,
                             const std::vector<std::string>& variables = {}) {
        words.insert(words.begin(), {"serve", "--check", "-d", folder / "tasks.db"});
        const program_output answer = call(words, variables);
        const std::size_t checks = answer.out.find("Checks:");
        EXPECT_NE(checks, std::string::npos) << answer.err;
        return checks == std::string::npos ? "" : answer.out.substr(checks);
    };
    EXPECT_TRUE(has(address({"--port", "0"}), "127.0.0.1:0, any free port"));
    EXPECT_TRUE(has(address({"-p", "0", "-l", "127.0.0.2"}), "127.0.0.2:0,"));
    EXPECT_TRUE(has(address({"-p", "0", "-l", "[::1]"}), "[::1]:0,"));
    EXPECT_TRUE(has(address({"-p", "0", "-l", "127.0.0.2:0"}), "127.0.0.2:0,"));
    EXPECT_TRUE(has(address({"-p", "0", "-l", "localhost"}), "127.0.0.1:0,"));
    EXPECT_TRUE(has(address({"-l", "127.0.0.2"}), "127.0.0.2:8080"));
    EXPECT_TRUE(has(address({"-p", "0", "-c", with_address}), "127.0.0.2:0,"));
    EXPECT_TRUE(has(address({"-c", with_address}, {"WEIR_PORT=0"}), "127.0.0.2:0,"));
    EXPECT_TRUE(has(address({"-l", "127.0.0.2:0", "-c", with_port}), "127.0.0.2:0,"));
    EXPECT_TRUE(has(address({"-l", "0"}, {"WEIR_PORT=9"}), "127.0.0.1:0,"));
}

// A file of secrets, by flag or variable; the secret itself; a file that the configuration names;
// systemd's.
TEST(Options, SecretsComeFromFilesToo) {
    const temporary_folder folder;
    const std::string by_flag = folder.write("flag", "token-number-one-of-four\n");
    const std::string in_file = folder.write("file", "token-number-three-of-four\n");
    folder.write("credentials/token", "token-number-four-of-four\n");
    folder.write("credentials/webhook-key", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    const std::string config =
        folder.write("weir.toml", "[serve]\ntoken-file = \"" + in_file + "\"\n");
    const std::string variable = "WEIR_TOKEN=token-number-two-of-four";
    const std::string systemd = "CREDENTIALS_DIRECTORY=" + (folder / "credentials").string();
    const auto tokens = [&](std::vector<std::string> more, std::vector<std::string> variables) {
        more.insert(more.begin(),
                    {"serve", "--check", "-l", "0.0.0.0:0", "-d", folder / "tasks.db"});
        const program_output answer = call(more, variables);
        EXPECT_EQ(answer.code, 0) << answer.err;
        EXPECT_FALSE(has(answer.out + answer.err, "token-number")) << answer.out;
        return line_of(answer.out, "(tokens)");
    };
    EXPECT_TRUE(has(tokens({"--token-file", by_flag, "-c", config}, {variable}), by_flag));
    EXPECT_TRUE(has(tokens({"-c", config}, {"WEIR_TOKEN_FILE=" + by_flag, variable}), by_flag));
    EXPECT_TRUE(has(tokens({"-c", config}, {variable, systemd}), "WEIR_TOKEN"));
    EXPECT_TRUE(has(tokens({"-c", config}, {"WEIR_TOKEN=", systemd}), in_file));
    EXPECT_TRUE(has(tokens({}, {"WEIR_TOKEN=", systemd}), "credentials/token"));
    const program_output keys =
        call({"serve", "--check", "-l", "0", "-d", folder / "tasks.db"}, {systemd});
    EXPECT_TRUE(has(line_of(keys.out, "(webhook"), "credentials/webhook-key")) << keys.out;
    const program_output wrong =
        call({"serve", "--check", "-d", folder / "tasks.db"}, {"WEIR_WEBHOOK_KEY=whsec_nothing"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(has(wrong.err, "WEIR_WEBHOOK_KEY")) << wrong.err;
    EXPECT_FALSE(has(wrong.err, "whsec_nothing")) << wrong.err;
}

// --check refuses all options that serving would refuse; the message has the option, its source,
// and the valid values.
TEST(Options, WhatIsWrongIsSaidWithWhatWouldBeRight) {
    const temporary_folder folder;
    const std::string database = folder / "tasks.db";
    struct {
        std::vector<std::string> options;
        std::string variable;
        std::vector<std::string> messages;
    } const all[] = {
        {{}, "WEIR_TOKEN=short", {"shorter"}},
        {{"--origin", "nothing"}, "", {"--origin is 'nothing'", "https://"}},
        {{"--host-rate", "-3"}, "", {"--host-rate is '-3'", "number from"}},
        {{"--max-body", "0"}, "", {"--max-body is '0'"}},
        {{"--lease", "-1"}, "", {"--lease"}},
        {{"--lease", "nan"}, "", {"--lease"}},
        {{"--listen", "0.0.0.0:0"}, "WEIR_TOKEN=", {"token"}},
        {{"--listen", "here"}, "", {"--listen is 'here'", "127.0.0.1:8080"}},
        {{"--port", "65536"}, "", {"--port is '65536'", "0 to 65535"}},
        {{"--listen", "127.0.0.1:1", "--port", "2"},
         "",
         {"--listen is '127.0.0.1:1' but --port is '2'"}},
        {{"--listen", "unix:/tmp/weir.sock", "--port", "2"}, "", {"Unix socket", "no port"}},
        {{"--prot", "8081"}, "", {"did you mean '--port'?"}},
        {{"-port", "8081"}, "", {"there is no option '-port'", "did you mean '--port'?"}},
        {{"--data", "a.db"}, "", {"did you mean '--database'?"}},
        {{"--workers", "0"}, "", {"1 to 100000"}},
        {{"--workers", "1.5"}, "", {"whole number"}},
        {{}, "WEIR_WORKERS=many", {"WEIR_WORKERS is 'many'"}},
        {{"--token-file", "/nowhere/at/all"}, "", {"/nowhere/at/all", "No such file"}},
        {{"--allow-command", "nothing"}, "", {"NAME=PROGRAM"}},
        {{"--allow-command", "a=echo 'b"}, "", {"opening '"}},
        {{"--allow-arguments", "a"}, "", {"--allow-arguments", "'a'", "--allow-command"}},
        {{"--binary-output", "a"}, "", {"--binary-output", "'a'", "--allow-command"}},
        {{"--allow-address", "10.0.0.0/99"}, "", {"--allow-address is '10.0.0.0/99'"}},
        {{"--otlp-endpoint", "nowhere"}, "", {"--otlp-endpoint is 'nowhere'", "4318"}},
        {{}, "OTEL_EXPORTER_OTLP_ENDPOINT=nowhere", {"OTEL_EXPORTER_OTLP_ENDPOINT"}},
        {{"--otlp-sample", "1.5"}, "", {"--otlp-sample is '1.5'", "0 to 1"}},
        {{"--read-replica", "db2"}, "", {"--read-replica is 'db2'", "postgres://HOST/DATABASE"}},
        {{"--log-level", "loud"}, "", {"debug, info, warning, error"}},
        {{"--wokers", "3"}, "", {"did you mean '--workers'?"}},
        {{"--utterly-unknown"}, "", {"'--utterly-unknown'"}},
        {{"extra"}, "", {"'extra' is not expected"}},
    };
    for (const auto& each : all) {
        std::vector<std::string> words = {"serve", "--check", "--database", database};
        words.insert(words.end(), each.options.begin(), each.options.end());
        const program_output answer = call(
            words, each.variable.empty() ? std::vector<std::string>() : std::vector{each.variable});
        EXPECT_EQ(answer.code, 2) << each.messages[0] << ": " << answer.out;
        for (const std::string& part : each.messages) {
            EXPECT_TRUE(has(answer.err, part)) << part << ": " << answer.err;
        }
    }
    EXPECT_EQ(call({}).code, 2);
    EXPECT_TRUE(has(call({"sreve"}).err, "did you mean 'serve'?"));
    EXPECT_TRUE(has(call({"submit", "echo", "--piority", "1"}).err, "did you mean '--priority'?"));
    EXPECT_TRUE(has(call({"serve", "--host", "::1"}).err, "did you mean '--listen'?"));
    EXPECT_TRUE(has(call({"--port", "1", "serve"}).err, "belongs after the command: weir serve"));
    EXPECT_TRUE(has(call({"watch", "--sever", "x"}).err, "did you mean '--server'?"));
    EXPECT_TRUE(has(call({"ps", "me"}).err, "pid is 'me'; it must be a whole number"));
    EXPECT_TRUE(has(call({"submit", "echo", "[1,"}).err, "JSON"));
    EXPECT_EQ(call({"--version"}).code, 0);
    for (const char* command : {"serve", "crawl", "submit", "status", "watch", "list", "show",
                                "cancel", "retry", "delete", "queues", "pause", "resume", "redrive",
                                "schedules", "backup", "migrate", "ps"}) {
        const program_output help = call({command, "--help"});
        EXPECT_EQ(help.code, 0);
        EXPECT_TRUE(has(help.out, "Exit codes")) << help.out;
    }
}

TEST(Options, PasswordsOfUrlsAreNotShown) {
    const program_output answer =
        call({"serve", "--check", "--database", "postgres://weir:secret@127.0.0.1:1/tasks",
              "--read-replica", "postgres://weir:secret@127.0.0.1:2/tasks"});
    EXPECT_EQ(answer.code, 1);
    EXPECT_TRUE(has(answer.out, "127.0.0.1:1")) << answer.out;
    EXPECT_TRUE(has(answer.out, "127.0.0.1:2")) << answer.out;
    EXPECT_FALSE(has(answer.out + answer.err, "secret")) << answer.out << answer.err;
}

TEST(Options, MistakesInTheFileAreFoundWithTheirLine) {
    const temporary_folder folder;
    const struct {
        std::string text;
        std::vector<std::string> messages;
    } all[] = {
        {"[serve]\n\nworkers = many\n", {"weir.toml:3: workers is 'many'", "1 to 100000"}},
        {"[serve]\nwokers = 7\n", {"weir.toml:2", "'wokers'", "did you mean 'workers'?"}},
        {"[serve]\nnothing-like-it = 7\n", {"weir.toml:2", "there are: listen"}},
        {"[sreve]\nworkers = 7\n", {"weir.toml:2", "section 'sreve'; did you mean 'serve'?"}},
        {"workers = 7\n", {"weir.toml:1", "[serve]"}},
        {"[serve]\nworkers = 1\nworkers = 2\n", {"weir.toml:3", "weir.toml:2"}},
        {"[serve]\nworkers\n", {"weir.toml:2", "option = value"}},
        {"[serve]\nworkers =\n", {"weir.toml:2", "missing"}},
        {"[serve]\nlisten = \"127.0.0.1:0\n", {"weir.toml:2", "no end"}},
        {"[serve]\nworkers = [1, 2]\n", {"weir.toml:2", "one value"}},
        {"[serve]\nname = [\"a\"\n", {"weir.toml:3", "missing"}},
        {"[serve]\nworkers = \"7\" 8\n", {"weir.toml:2", "unexpected"}},
        {"[serve\nworkers = 7\n", {"weir.toml:1", "[serve]"}},
        {"[serve]\ndatabase = \"a\\q\"\n", {"weir.toml:2", "after \\"}},
        {"[submit]\nqueu = 'a'\n", {"weir.toml:2", "did you mean 'queue'?", "[submit]"}},
    };
    for (const auto& each : all) {
        const std::string path = folder.write("weir.toml", each.text);
        const program_output answer = call({"serve", "--check", "--config", path});
        EXPECT_EQ(answer.code, 2) << each.text << answer.out;
        for (const std::string& part : each.messages) {
            EXPECT_TRUE(has(answer.err, part)) << part << ": " << answer.err;
        }
    }
    const program_output none =
        call({"serve", "--check"}, {"WEIR_CONFIG=" + (folder / "none").string()});
    EXPECT_EQ(none.code, 2);
    EXPECT_TRUE(has(none.err, "No such file")) << none.err;
    // Line ends and a mark at the beginning, as Windows writes them; the file before the command,
    // and after it.
    const std::string path = folder.write(
        "weir.toml", "\xef\xbb\xbf[serve]\r\nworkers = 7 # few\r\nlisten=127.0.0.1:0\r\n");
    const std::string database = folder / "tasks.db";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"serve", "--check", "-c", path, "-d", database},
          {"serve", "--config=" + path, "-d", database, "--check"},
          {"-c", path, "serve", "--check", "-d", database}}) {
        const program_output answer = call(words);
        EXPECT_EQ(answer.code, 0) << answer.err;
        EXPECT_TRUE(has(line_of(answer.out, "workers"), "7")) << answer.out;
    }
}

}  // namespace
}  // namespace weir_test
