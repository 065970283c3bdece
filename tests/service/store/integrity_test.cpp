// SPDX-License-Identifier: MIT
// A damaged file is refused when it is opened, with what to do; damage that comes later shows in
// the probe, although the file can still be written.

#include "stores.hpp"

#include <fstream>

namespace {

using namespace store_test;

task<std::string> refusal_to_open(std::string path, integrity_check extent) {
    sqlite_store_options options;
    options.is_durable = false;
    options.integrity = extent;
    std::string refusal;
    try {
        const std::unique_ptr<store> opened = co_await open_sqlite_store(path, options);
        co_await opened->close();
    } catch (const store_unavailable& error) {
        refusal = error.what();
    }
    co_return refusal;
}

task<> refuses_damage() {
    const weir_test::temporary_folder folder;
    const std::string path = (folder / "tasks.db").string();
    {
        const std::unique_ptr<store> opened = co_await open_sqlite(folder.path().string());
        std::vector<new_task> batch(500, new_task("work", '"' + std::string(1000, 'x') + '"'));
        co_await opened->submit(batch, timestamp(1s));
        co_await opened->close();
    }
    std::string refusal = co_await refusal_to_open(path, integrity_check::full);
    EXPECT_EQ(refusal, "");
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(100 * 4096);
        file << std::string(20 * 4096, '\x5a');
    }
    for (const integrity_check extent : {integrity_check::quick, integrity_check::full}) {
        refusal = co_await refusal_to_open(path, extent);
        EXPECT_NE(refusal.find("is damaged"), std::string::npos) << refusal;
        EXPECT_NE(refusal.find(".recover"), std::string::npos) << refusal;
    }
    refusal = co_await refusal_to_open(path, integrity_check::none);
    EXPECT_EQ(refusal, "") << "if the user insists";
}

TEST(StoreIntegrity, ADamagedFileIsRefusedWithWhatToDo) {
    weir::run(refuses_damage());
}

// Submits would succeed, and no task could ever run.
task<> probes_claims() {
    const weir_test::temporary_folder folder;
    const std::unique_ptr<store> opened = co_await open_sqlite(folder.path().string());
    const timestamp now(1000s);
    co_await opened->submit(std::vector<new_task>(1, new_task("work")), now);
    co_await opened->probe(now);
    weir::sqlite::database other =
        co_await weir::sqlite::open((folder / "tasks.db").string(), {.readers = 0});
    co_await other.script("ALTER TABLE flows RENAME TO lost");
    std::string failure;
    try {
        co_await opened->probe(now);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    EXPECT_NE(failure, "");
    co_await other.script("ALTER TABLE lost RENAME TO flows");
    co_await other.close();
    co_await opened->probe(now);
    co_await opened->close();
}

TEST(StoreIntegrity, AProbeFailsWhereNoTaskCanBeClaimed) {
    weir::run(probes_claims());
}

}  // namespace
