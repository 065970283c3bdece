// SPDX-License-Identifier: MIT
// The store of --state: a file, or a schema of a PostgreSQL database.
#pragma once

#include "program/crawl/crawl_settings.hpp"

#include <weir/crawl/store.hpp>
#include <weir/task.hpp>

#include <memory>
#include <string>

namespace weir::program {

enum class state_use { crawl, report, change };

// `state`: as --state; the settings have the schema. Throws invalid_argument if there is none to
// report or change.
task<std::unique_ptr<crawl::store>> open_state(const crawl_settings& settings, std::string state,
                                               state_use use);

}  // namespace weir::program
