// SPDX-License-Identifier: MIT
// A PostgreSQL server of the test, in a folder that is removed with it, on a free port of the
// loopback interface and a socket in the folder.
//
//     weir_test::postgres server;                            // takes a second: one for many tests
//     server.url();                                          // postgresql://weir@127.0.0.1:PORT/postgres
//     server.kill(), server.start();                         // a crash; back on the same port
//
// It refuses to run as root, so root's tests run it as another user. Every user of the machine may
// log in as the superuser `weir`, without a password.
#pragma once

#include "nginx.hpp"
#include "program.hpp"

#include <pwd.h>
#include <sys/file.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace weir_test {

struct postgres_options {
    bool durable = false;                    // fsync and all that hangs on it
    bool is_cluster_of_its_own = false;      // others are copies with the same system identifier
    std::vector<std::string> settings = {};  // "log_statement=all"
    std::vector<std::string> hba =
        {};  // lines of pg_hba.conf, before the one that trusts every user
    std::map<std::string, std::string> files =
        {};  // such as certificates, in the data folder, mode 0600
    // A standby of this server, which knows it by this name. Made from a backup of it.
    const class postgres* primary = nullptr;
    std::string standby_name = {};
    std::uint16_t port = 0;  // 0: a free one
};

class postgres {
public:
    explicit postgres(postgres_options options = {}) : options_(std::move(options)) {
        need(program("postgres"), "postgresql");
        if (geteuid() == 0) {
            const passwd* user = getpwnam("postgres");
            user = user != nullptr ? user : getpwnam("nobody");
            if (user == nullptr) {
                throw std::runtime_error("there is no user postgres or nobody to run PostgreSQL");
            }
            user_ = user->pw_uid;
            group_ = user->pw_gid;
            give_away(folder_.path());
        }
        make_data();
        for (int attempt = 0;; ++attempt) {
            port_ = options_.port != 0 ? options_.port : free_port();
            try {
                start();
                return;
            } catch (const std::runtime_error&) {
                if (attempt == 5 || log().find("Address already in use") == std::string::npos) {
                    throw;
                }
            }
        }
    }
    postgres(const postgres&) = delete;
    postgres& operator=(const postgres&) = delete;
    ~postgres() { kill(); }

    // Starts again on the same port, with its data. The kernel may still be removing killed
    // processes.
    void start() {
        for (int attempt = 1;; ++attempt) {
            try {
                start_once();
                return;
            } catch (const std::runtime_error& error) {
                if (attempt == 200 ||
                    std::string(error.what()).find("shared memory block") == std::string::npos) {
                    throw;
                }
            }
            usleep(10'000);
        }
    }
    void start_once() {
        std::vector<std::string> command = as_user();
        const std::string folder = folder_.path().string();
        for (const std::string& each :
             {program("postgres"), std::string("-D"), folder + "/data", std::string("-p"),
              std::to_string(port_), std::string("-k"), folder}) {
            command.push_back(each);
        }
        std::vector<std::string> settings = {"listen_addresses=127.0.0.1", "max_connections=100",
                                             "shared_buffers=16MB",
                                             "dynamic_shared_memory_type=mmap"};
        if (!options_.durable) {
            settings.insert(settings.end(), {"fsync=off", "full_page_writes=off"});
        }
        settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
        for (std::string& each : settings) {
            command.insert(command.end(), {"-c", std::move(each)});
        }
        program_ = std::make_unique<running_program>(folder_, std::move(command));
        program_->wait_until([&] { return log().find("ready to accept") != std::string::npos; });
    }
    // Kills all of its processes at once, without a shutdown.
    void kill() noexcept {
        if (program_ && program_->is_running()) {
            program_->signal(SIGSTOP);  // so that it starts no new ones meanwhile
            signal_all(SIGKILL);
            program_->stop();
        }
    }
    // As an administrator does: connected clients are notified.
    void shut_down() {
        program_->signal(SIGINT);
        while (program_->is_running()) {
            usleep(2'000);
        }
    }
    // No client gets an answer, and the kernel still accepts connections and data.
    void freeze() {
        program_->signal(SIGSTOP);
        signal_all(SIGSTOP);
    }
    void thaw() { signal_all(SIGCONT); }

    // A standby becomes a primary. Returns when it takes writes.
    void promote() {
        std::vector<std::string> command = as_user();
        command.insert(command.end(),
                       {program("pg_ctl"), "promote", "-w", "-D", (folder_ / "data").string()});
        const temporary_folder output;
        running_program pg_ctl(output, std::move(command));
        while (pg_ctl.is_running()) {
            usleep(2'000);
        }
    }

    std::uint16_t port() const noexcept { return port_; }
    // Of a database; through a proxy on another port.
    std::string url(std::string_view database = "postgres", std::uint16_t port = 0) const {
        return "postgresql://weir@127.0.0.1:" + std::to_string(port != 0 ? port : port_) + "/" +
               std::string(database);
    }
    const temporary_folder& folder() const noexcept { return folder_; }
    std::string log() const { return program_->err(); }

    // How its programs are started, which refuse to run as root, and whom their files belong to.
    std::vector<std::string> as_user() const {
        if (!user_.has_value()) {
            return {"setpriv", "--pdeathsig", "KILL", "--"};
        }
        // A change of user resets earlier settings.
        return {"setpriv",
                "--reuid",
                std::to_string(*user_),
                "--regid",
                std::to_string(group_),
                "--clear-groups",
                "--pdeathsig",
                "KILL",
                "--"};
    }
    void give_away(const std::filesystem::path& path) const {
        if (user_.has_value() && lchown(path.c_str(), *user_, group_) != 0) {
            throw std::system_error(errno, std::system_category(), "chown");
        }
    }

    // Of the newest version that is installed; Debian keeps them off the PATH.
    static std::string program(std::string_view name) {
        std::filesystem::path newest;
        int highest = -1;
        std::error_code error;
        for (const auto& each : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
            const int version = std::atoi(each.path().filename().c_str());
            if (version > highest && std::filesystem::exists(each.path() / "bin" / "postgres")) {
                highest = version;
                newest = each.path();
            }
        }
        return ((newest.empty() ? "/usr/lib/postgresql/VERSION" : newest) / "bin" / name).string();
    }

private:
    // A busy disk would make the tests slow, and they need no durability.
    static std::filesystem::path memory_or_disk() {
        std::error_code error;
        const auto space = std::filesystem::space("/dev/shm", error);
        return !error && space.available > 400'000'000 && access("/dev/shm", W_OK | X_OK) == 0
                   ? std::filesystem::path("/dev/shm")
                   : std::filesystem::temp_directory_path();
    }
    void initdb() {
        std::vector<std::string> command = as_user();
        const std::string data = (folder_ / "data").string();
        for (const char* each : {"", "-D", data.c_str(), "-U", "weir", "-A", "trust", "-E", "UTF8",
                                 "-N", "--no-locale", "--wal-segsize=1", "--no-instructions"}) {
            command.emplace_back(*each == '\0' ? program("initdb") : each);
        }
        running_program initdb(folder_, std::move(command));
        while (initdb.is_running()) {
            usleep(2'000);
        }
        if (!std::filesystem::exists(folder_ / "data/global/pg_control")) {
            throw std::runtime_error("initdb said: " + initdb.out() + initdb.err());
        }
    }
    // initdb takes a second, and every test may be a program of its own: the first one keeps the
    // new cluster beside the program.
    void copy_or_initdb() {
        namespace fs = std::filesystem;
        const fs::path program_file = fs::read_symlink("/proc/self/exe");
        const std::string version =
            fs::path(program("postgres")).parent_path().parent_path().filename().string();
        const fs::path kept = program_file.parent_path() / ("postgres-" + version + "-template");
        const int lock =
            open((kept.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (lock < 0 || flock(lock, LOCK_EX) != 0) {
            initdb();
            return;
        }
        if (!fs::exists(kept)) {
            initdb();
            const fs::path unfinished = kept.string() + ".unfinished";
            fs::remove_all(unfinished);
            fs::copy(folder_ / "data", unfinished, fs::copy_options::recursive);
            fs::rename(unfinished, kept);
        } else {
            fs::copy(kept, folder_ / "data", fs::copy_options::recursive);
            give_away(folder_ / "data");
            for (const auto& each : fs::recursive_directory_iterator(folder_ / "data")) {
                give_away(each.path());
            }
        }
        close(lock);
    }
    // Copies the running primary, and follows it from then on.
    void copy_primary() {
        std::vector<std::string> command = as_user();
        command.insert(command.end(),
                       {program("pg_basebackup"), "-D", (folder_ / "data").string(), "-R", "-N",
                        "--checkpoint=fast", "-d",
                        options_.primary->url() + "?application_name=" + options_.standby_name});
        running_program backup(folder_, std::move(command));
        while (backup.is_running()) {
            usleep(2'000);
        }
        if (!std::filesystem::exists(folder_ / "data/standby.signal")) {
            throw std::runtime_error("pg_basebackup said: " + backup.out() + backup.err());
        }
    }
    void make_data() {
        if (options_.primary != nullptr) {
            copy_primary();
            return;
        }
        options_.is_cluster_of_its_own ? initdb() : copy_or_initdb();
        for (const auto& [name, text] : options_.files) {
            const auto file = folder_.write("data/" + name, text);
            std::filesystem::permissions(file, std::filesystem::perms(0600));
            give_away(file);
        }
        if (!options_.hba.empty()) {
            std::string rules;
            for (const std::string& each : options_.hba) {
                rules += each + "\n";
            }
            folder_.write("data/pg_hba.conf", rules + folder_.read("data/pg_hba.conf"));
        }
    }
    // Each child leads its own process group, so the children are searched for one by one.
    void signal_all(int number) const noexcept {
        const pid_t server = program_->pid();
        std::error_code error;
        for (const auto& each : std::filesystem::directory_iterator("/proc", error)) {
            const pid_t process = std::atoi(each.path().filename().c_str());
            std::ifstream status(each.path() / "stat");
            std::string text;
            // PID (NAME) STATE PARENT: the name may hold anything.
            if (process > 0 && std::getline(status, text) && text.rfind(')') != text.npos &&
                std::atoi(text.c_str() + text.rfind(')') + 4) == server) {
                ::kill(process, number);
            }
        }
        ::kill(server, number);
    }

    postgres_options options_;
    temporary_folder folder_{memory_or_disk()};
    std::optional<uid_t> user_;
    gid_t group_ = 0;
    std::uint16_t port_ = 0;
    std::unique_ptr<running_program> program_;
};

// One for all tests of a program that do not hurt it.
inline postgres& shared_postgres() {
    static postgres server;
    return server;
}

}  // namespace weir_test
