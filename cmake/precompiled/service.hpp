// SPDX-License-Identifier: MIT
// Precompiled for the service; see weir_unity.cmake.
#pragma once

#include "layers.hpp"

#include <weir/db/sqlite/rows.hpp>
#include <weir/http/json.hpp>
#include <weir/http/problem.hpp>
#include <weir/service/api.hpp>
#include <weir/service/service.hpp>
#include <weir/service/store.hpp>
